# SPDX-License-Identifier: Apache-2.0
# emulated/ is computed on first access, and is the tree of gpureplay's trace.
. "$(dirname "$0")/lib.sh"
need_fuse
mnt=$work/mnt
mkdir "$mnt" "$work/tmp"
export TMPDIR="$work/tmp"
"$BUILD/bench/make_trace" "$work/run" 2 3 200

made() {
	find "$work/tmp" -mindepth 1 -maxdepth 1 -name 'gputracefs-*' | wc -l
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
umount "$mnt" 2>/dev/null || fusermount3 -u "$mnt"
eventually nothing_made || die "$(made) emulated runs are left behind"

# Temporary files of a killed server are removed by the next one.
gputracefs "$work/run" "$mnt"
cat "$mnt/emulated/id" >/dev/null
kill -9 "$(server "$mnt")"
equal "$(made)" 1
gputracefs "$work/run" "$mnt"
cat "$mnt/emulated/id" >/dev/null
equal "$(made)" 1
umount "$mnt" 2>/dev/null || fusermount3 -u "$mnt"
