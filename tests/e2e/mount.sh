# SPDX-License-Identifier: Apache-2.0
# A mounted trace is an ordinary tree of files: tools that copy, search or compare work.
. "$(dirname "$0")/lib.sh"
need_fuse
probe=$SOURCE/tests/e2e/probe.py
mnt=$work/mnt
mkdir "$mnt"

if [ -d "$traces/torchrec-dlrm-4-4xV100" ]; then
	gputrace import -o "$work/run" "$traces"/torchrec-dlrm-4-4xV100/rank-*.json.gz >/dev/null
else
	echo "../shared/traces is not there: a made-up run instead"
	"$BUILD/bench/make_trace" "$work/run" 3 4 150
fi
"$BUILD/bench/make_trace" "$work/made" 3 4 150

# Lists each file by name and checksum, read in various ways.
list_files() {
	(cd "$mnt" && find . -type f | LC_ALL=C sort >"$work/files")
	(cd "$mnt" && xargs stat -c '%s %n' <"$work/files") >"$work/sizes"
	(cd "$mnt" && xargs wc -c <"$work/files" | sed '/ total$/d; s/^ *//') >"$work/bytes"
	cmp "$work/sizes" "$work/bytes" || die "sizes in stat differ from the bytes read"
	(cd "$mnt" && xargs sha256sum <"$work/files") >"$work/sums"
	rm -rf "$work/copy"
	cp -r "$mnt" "$work/copy"
	diff -r "$mnt" "$work/copy" || die "cp -r"
	tar -C "$mnt" -cf - . | (mkdir "$work/untarred" && tar -C "$work/untarred" -xf -)
	(cd "$work/untarred" && sha256sum --quiet -c "$work/sums") || die "tar"
	chmod -R u+w "$work/untarred" "$work/copy"
	rm -rf "$work/untarred"
	if command -v rsync >/dev/null; then
		prints_nothing rsync -rlnc --itemize-changes "$mnt/" "$work/copy/"
	fi
	equal "$(ls -lR "$mnt" | grep -c '^-')" "$(wc -l <"$work/files")"
	[ "$(grep -rl start_ns "$mnt" | wc -l)" -gt 20 ] || die "grep -r"
}

# Link counts: find gives the same result with and without trusting them.
links() {
	find "$mnt" -type d | while read -r dir; do
		equal "$(stat -c %h "$dir")" "$(($(find "$dir" -mindepth 1 -maxdepth 1 -type d | wc -l) + 2))"
	done
}

for run in run made; do
	gputracefs "$work/$run" "$mnt"
	grep -q " $mnt fuse.gputracefs ro,nosuid,nodev," /proc/self/mounts || die "not mounted as it should be"
	list_files
	links
	for dir in "$mnt" "$mnt"/iterations "$mnt"/iterations/*/gpu0 "$mnt"/gpus/gpu0/iterations; do
		"$probe" seek "$dir"
		"$probe" types "$dir"
	done
	find "$mnt" -printf '%i %p\n' | LC_ALL=C sort >"$work/inodes"
	[ "$(wc -l <"$work/inodes")" -gt "$(wc -l <"$work/files")" ] || die "find lists too few files"
	cut -d ' ' -f 1 "$work/inodes" | uniq -d >"$work/twice"
	prints_nothing cat "$work/twice"

	# The same tables without mounting.
	gputrace export --format=tsv -o "$work/tables" "$work/$run"
	diff -r -x 'timeline.*' -x emulated -x what-if "$mnt" "$work/tables" || die "export differs from the mount"
	rm -rf "$work/tables"

	# Contents of single files.
	equal "$(cat "$mnt/id")" "$(gputrace info --json "$work/$run" | tr -d ' ",' | sed -n 's/^id://p' | sed -n 1p)"
	gputrace info "$work/$run" | cmp - "$mnt/summary"
	prints_nothing cat "$mnt/errors"
	[ "$(stat -c %Y "$mnt/id")" -gt 0 ] || die "no date"
	first=$(ls "$mnt/iterations" | sed -n 1p)
	equal "$(readlink "$mnt/gpus/gpu0/iterations/$first")" "../../../iterations/$first/gpu0"
	cmp "$mnt/gpus/gpu0/iterations/$first/calls" "$mnt/iterations/$first/gpu0/calls"
	for table in calls kernels memcpy memset collectives syncs memory digests; do
		awk -F '\t' 'NR == 1 { n = NF } NF != n { exit 1 }' "$mnt/iterations/$first/gpu0/$table" ||
			die "$table has rows of different lengths"
	done
	# A mount is accepted as a trace.
	gputrace info "$mnt" | cmp - "$mnt/summary"

	# Other system calls.
	file=$mnt/timeline.json
	for way in mmap sendfile direct; do
		"$probe" $way "$file" | cmp - "$file" || die "$way"
	done
	if [ "$(id -u)" = 0 ]; then
		MOUNT=$mnt "$probe" handle "$mnt/iterations/$first/gpu0/kernels" |
			cmp - "$mnt/iterations/$first/gpu0/kernels" || die "open_by_handle_at"
	fi
	"$probe" mutate "$mnt/iterations/$first/gpu0" calls

	# A name may have 255 bytes, as on a disk.
	equal "$(stat -f -c %l "$mnt")" 255
	name=$(printf '%0255d' 0)
	fails stat "$mnt/$name"
	says "No such file or directory"
	fails stat "$mnt/${name}0"
	says "File name too long"

	# Concurrent readers see the same.
	for i in 1 2 3 4 5 6 7 8; do
		(cd "$mnt" && sha256sum --quiet -c "$work/sums") &
		eval "pid$i=$!"
	done
	for i in 1 2 3 4 5 6 7 8; do
		eval "wait \$pid$i" || die "a concurrent reader read something else"
	done
	umount "$mnt" 2>/dev/null || fusermount3 -u "$mnt"

	# The next mount has the same files with the same inode numbers, with a cache of minimal
	# size.
	gputracefs -o cache_mb=1 "$work/$run" "$mnt"
	(cd "$mnt" && sha256sum --quiet -c "$work/sums") || die "another mount shows different contents"
	find "$mnt" -printf '%i %p\n' | LC_ALL=C sort | cmp - "$work/inodes" || die "inode numbers changed"
	umount "$mnt" 2>/dev/null || fusermount3 -u "$mnt"
done

# A file of many slices is the same from wherever it is read.
"$BUILD/bench/make_trace" "$work/many" 2 100 3
gputracefs "$work/many" "$mnt"
all=$mnt/gpus/gpu1/memory
for table in "$mnt"/iterations/*/gpu1/memory; do
	tail -n +2 "$table"
done | { head -n 1 "$all" && cat; } | cmp - "$all" || die "gpus/gpu1/memory differs from that of its iterations"
for file in timeline.json gpus/gpu1/memory; do
	cp "$mnt/$file" "$work/whole"
	for block in 900 400 150 77 40 13 5 1 0; do
		for of in "$mnt/$file" "$work/whole"; do
			direct=iflag=fullblock
			[ "$of" = "$work/whole" ] || direct=iflag=direct
			dd if="$of" bs=512 skip="$block" count=3 "$direct" 2>/dev/null >"$work/at.${of##*/}"
		done
		cmp "$work/at.whole" "$work/at.${file##*/}" || die "$file at block $block"
	done
done
umount "$mnt" 2>/dev/null || fusermount3 -u "$mnt"
