# SPDX-License-Identifier: Apache-2.0
# emulated/ and what-if/SPEC/ are computed on first access, and are the trees of gpureplay's traces.
. "$(dirname "$0")/lib.sh"
need_fuse
mnt=$work/mnt
mkdir "$mnt" "$work/tmp"
export TMPDIR="$work/tmp"
"$BUILD/bench/make_trace" "$work/run" 2 3 200

made() {
	find "$work/tmp" -mindepth 1 -maxdepth 1 -name 'gputracefs-*' | wc -l
}

dead() {
	! stat "$mnt" >/dev/null 2>&1
}

nothing_made() {
	[ "$(made)" = 0 ]
}

gputracefs "$work/run" "$mnt"
ls -l "$mnt" | has_line emulated
stat "$mnt/emulated" >/dev/null
find "$mnt" -maxdepth 1 >/dev/null
equal "$(made)" 0
gpureplay --emulate -o "$work/emulated" "$work/run" >/dev/null

# Concurrent readers cause one computation.
pids=
for i in 1 2 3 4; do
	cat "$mnt/emulated/id" >"$work/id$i" &
	pids="$pids $!"
done
wait_for $pids
equal "$(made)" 1
equal "$(cat "$work"/id? | sort -u | wc -l)" 1
gputrace info "$work/emulated" | cmp - "$mnt/emulated/summary"
equal "$(gputrace info --json "$mnt/emulated")" "$(gputrace info --json "$work/emulated")"
[ ! -e "$mnt/emulated/emulated" ] || die "emulated in emulated"
equal "$(stat -c %h "$mnt/emulated")" "$(($(find "$mnt/emulated" -mindepth 1 -maxdepth 1 -type d | wc -l) + 2))"
find "$mnt/emulated" -type f >"$work/files"
[ "$(wc -l <"$work/files")" -gt 50 ] || die "few files in emulated/: $(cat "$work/files")"
while read -r f; do
	equal "$(stat -c %s "$f")" "$(wc -c <"$f")"
done <"$work/files"

# what-if/ lists the specs that were looked at. A spec is computed when its directory is read.
equal "$(ls "$mnt/what-if")" errors
stat "$mnt/what-if/network=2x" >/dev/null
equal "$(find "$work/tmp" -name trace.chunks | wc -l)" 1
gpureplay --emulate --what-if network=2x -o "$work/changed" "$work/run" >/dev/null
gputrace info "$work/changed" | cmp - "$mnt/what-if/network=2x/summary"
equal "$(find "$work/tmp" -name trace.chunks | wc -l)" 2
fails cmp -s "$mnt/what-if/network=2x/id" "$mnt/emulated/id"
equal "$(gputrace info --json "$mnt/what-if/network=2x")" "$(gputrace info --json "$work/changed")"
pids=
for spec in host=2x gpu=0.5x rank1:gpu=2x,network=2x; do
	cat "$mnt/what-if/$spec/id" >"$work/id $spec" &
	pids="$pids $!"
done
wait_for $pids
equal "$(cat "$work"/id\ * | sort -u | wc -l)" 3
equal "$(ls "$mnt/what-if" | wc -l)" 5
equal "$(stat -c %h "$mnt/what-if")" 6

# An invalid spec is no directory; what-if/errors says why, once. Hidden names are not specs.
for name in fast gpu=2y fast .git; do
	fails ls "$mnt/what-if/$name"
	says 'No such file or directory'
done
equal "$(wc -l <"$mnt/what-if/errors")" 2
grep -q "^what-if/gpu=2y	-	-	invalid value '2y' for gpu" "$mnt/what-if/errors" || die "$(cat "$mnt/what-if/errors")"
equal "$(ls "$mnt/what-if" | wc -l)" 5

# A valid spec that this run does not allow has only a file that says why.
equal "$(ls "$mnt/what-if/rank9:gpu=2x")" errors
grep -q "the trace has no rank '9'" "$mnt/what-if/rank9:gpu=2x/errors" || die "$(cat "$mnt/what-if/rank9:gpu=2x/errors")"
umount "$mnt" 2>/dev/null || fusermount3 -u "$mnt"
eventually nothing_made || die "$(made) emulated runs are left behind"

# Temporary files of a killed server are removed by the next one.
gputracefs "$work/run" "$mnt"
cat "$mnt/emulated/id" >/dev/null
kill -9 "$(server "$mnt")"
eventually dead || die "the mount of a killed server still answers"
equal "$(made)" 1
gputracefs "$work/run" "$mnt"
cat "$mnt/emulated/id" >/dev/null
equal "$(made)" 1
umount "$mnt" 2>/dev/null || fusermount3 -u "$mnt"
