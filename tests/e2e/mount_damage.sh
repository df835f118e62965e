# SPDX-License-Identifier: Apache-2.0
# Damage affects only files that need the damaged part; the mount survives changes of its trace.
. "$(dirname "$0")/lib.sh"
need_fuse
mnt=$work/mnt
mkdir "$mnt"
"$BUILD/bench/make_trace" "$work/run" 2 4 400

# flip FILE OFFSET: flips one bit.
flip() {
	byte=$(od -An -tu1 -j "$2" -N 1 "$1")
	flipped=$(printf %o $((byte ^ 16)))
	printf '%b' "\\0$flipped" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# Reads each file and prints its name and "ok" or "bad".
try() {
	(cd "$mnt" && find . -type f -not -path './emulated/*' | LC_ALL=C sort | while read -r f; do
		if cat "$f" >"$work/bytes" 2>"$work/why"; then
			[ "$(stat -c %s "$f")" -eq "$(wc -c <"$work/bytes")" ] || echo "$f wrong size"
			echo "$f ok"
		else
			grep -q 'Input/output error' "$work/why" || echo "$f another error"
			echo "$f bad"
		fi
	done)
}

# A trace that is known to be damaged when it is opened is mounted, with one line on stderr.
cp -r "$work/run" "$work/cut"
truncate -s -3000 "$work/cut/rank-00001.chunks"
gputracefs "$work/cut" "$mnt" 2>"$work/stderr"
says "cut/rank-00001.chunks: truncated at byte"
grep -q truncated "$mnt/errors" || die "errors: $(cat "$mnt/errors")"
umount "$mnt" 2>/dev/null || fusermount3 -u "$mnt"

for run in run; do
	for offset in 300 5000 9000; do
		rm -rf "$work/damaged"
		cp -r "$work/$run" "$work/damaged"
		flip "$work/damaged/rank-00001.chunks" $offset
		gputracefs "$work/damaged" "$mnt"
		try >"$work/tried"
		[ "$(grep -c ' ok$' "$work/tried")" -gt 50 ] || die "few files: $(cat "$work/tried")"
		no_line -v ' \(ok\|bad\)$' "$work/tried"
		[ -s "$mnt/errors" ] || die "$run $offset: no line in errors"
		equal "$(stat -c %s "$mnt/errors")" "$(wc -c <"$mnt/errors")"

		# The bad files belong to at most one iteration of this GPU, or to the whole run. The first
		# slice is the base of the others.
		equal "$(grep -c '/gpu0/.* bad$' "$work/tried")" 0
		hit=$(sed -n '\|^\./gpus/|d; s|^\./\([^ ]*\)/gpu1/.* bad$|\1|p' "$work/tried" | sort -u | wc -l)
		if [ $offset = 300 ]; then
			equal "$hit" 4
			grep -q 'a patch of slice 0, which is damaged' "$mnt/errors" || die "$(cat "$mnt/errors")"
		else
			[ "$hit" -le 1 ] || die "$run $offset: $hit iterations lost"
		fi
		if [ "$hit" -gt 0 ]; then
			path=$(sed -n '\|^\./gpus/|d; s|^\./\([^ ]*/gpu1\)/.* bad$|\1|p' "$work/tried" | sed -n 1p)
			grep -q "^$path	.*rank-00001.chunks	[0-9]*	" "$mnt/errors" || die "errors lists another path: $(cat "$mnt/errors")"
			grep -q "^./$path/kernels bad" "$work/tried" || die "kernels of damaged chunks were shown"
		fi
		# Names and attributes of everything are still available.
		ls -lR "$mnt" >/dev/null || die "$run $offset: ls"
		umount "$mnt" 2>/dev/null || fusermount3 -u "$mnt"
	done
done

# A rank file that is missing, of another trace, or unreadable: the other GPU is shown, and errors
# has the reason.
"$BUILD/bench/make_trace" "$work/wider" 3 5 300
gputracefs "$work/run" "$mnt"
cp "$mnt/iterations/000002/gpu0/kernels" "$work/kernels"
umount "$mnt" 2>/dev/null || fusermount3 -u "$mnt"
for change in 'rm rank-00001.chunks|missing' 'cp ../wider/rank-00001.chunks .|of another trace' \
	': >rank-00001.chunks|not a trace' 'ln -sf nowhere rank-00001.chunks|cannot open: No such file'; do
	rm -rf "$work/changed"
	cp -r "$work/run" "$work/changed"
	(cd "$work/changed" && eval "${change%|*}")
	gputracefs "$work/changed" "$mnt"
	[ ! -e "$mnt/gpus/gpu1" ] || die "$change: GPU 1 is shown"
	cmp "$mnt/iterations/000002/gpu0/kernels" "$work/kernels"
	grep -q "rank-00001.chunks	.*${change#*|}" "$mnt/errors" || die "$change: errors: $(cat "$mnt/errors")"
	umount "$mnt" 2>/dev/null || fusermount3 -u "$mnt"
done

# Names of another trace: no mount instead of wrong tables.
rm -rf "$work/changed"
cp -r "$work/run" "$work/changed"
cp "$work/wider/trace.chunks" "$work/changed"
fails -3 gputracefs "$work/changed" "$mnt"
says 'of another trace: trace.chunks lists another root'

# The file is truncated and removed while mounted: reads give EIO or earlier contents, and there is
# no crash.
cp -r "$work/run" "$work/fading"
gputracefs "$work/fading" "$mnt"
cat "$mnt/iterations/000000/gpu0/calls" >"$work/before"
truncate -s 200 "$work/fading/rank-00000.chunks" "$work/fading/rank-00001.chunks"
cmp "$mnt/iterations/000000/gpu0/calls" "$work/before"
fails cat "$mnt/iterations/000003/gpu1/calls"
says 'Input/output error'
rm -r "$work/fading"
fails cat "$mnt/iterations/000002/gpu1/calls"
says 'Input/output error'
equal "$(cat "$mnt/id" | wc -c)" 65
umount "$mnt" 2>/dev/null || fusermount3 -u "$mnt"
