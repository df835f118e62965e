# SPDX-License-Identifier: Apache-2.0
# cache_mb bounds the server's memory: cached items, and rendering for concurrent readers.
. "$(dirname "$0")/lib.sh"
need_fuse
ldd "$BUILD/tools/gputracefs" >"$work/libraries"
if grep -qE 'lib[at]san' "$work/libraries"; then
	skip "the sanitizer uses additional memory"
fi
mnt=$work/mnt
mkdir "$mnt"
"$BUILD/bench/make_trace" "$work/short" 4 30 1000
"$BUILD/bench/make_trace" "$work/long" 2 3 40000

# peak RUN MB: prints the server's peak in KiB after many readers have read nearly everything.
peak() {
	gputracefs -o "cache_mb=$2" "$work/$1" "$mnt"
	pid=$(server "$mnt")
	find "$mnt" -name emulated -prune -o -type f -print0 >"$work/files"
	xargs -0 -n 20 -P 8 cat <"$work/files" >/dev/null
	pids=
	for i in 1 2 3 4 5 6; do
		cat "$mnt/gpus/gpu$((i % 2))/memory" "$mnt/timeline.json" >/dev/null &
		pids="$pids $!"
	done
	wait_for $pids
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status" >"$work/peak"
	umount "$mnt" 2>/dev/null || fusermount3 -u "$mnt"
	gone "$1 with $2 MB"
}

# below RUN MB KIB: the peak is at most what the manual page says: cache_mb, 24 MiB, and KIB for
# three slices.
below() {
	peak "$1" "$2"
	cp "$work/peak" "$work/peak.$1.$2"
	kib=$(cat "$work/peak")
	[ "$kib" -le $(($2 * 1024 + 24576 + $3)) ] || die "$1: $kib KiB with cache_mb=$2"
}
below short 8 0
below short 64 0
below long 8 $((3 * 95000 * 130 / 1024))
small=$(cat "$work/peak.short.8")
large=$(cat "$work/peak.short.64")
long=$(cat "$work/peak.long.8")
echo "peaks in KiB: $small $large $long"
[ $((small * 3 / 2)) -lt "$large" ] || die "cache_mb=8 takes $small KiB, cache_mb=64 $large"
