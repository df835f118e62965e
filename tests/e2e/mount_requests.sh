# SPDX-License-Identifier: Apache-2.0
# The number of FUSE requests: listing with attributes needs no request for each file; listing names
# only does not compute attributes.
. "$(dirname "$0")/lib.sh"
need_fuse
mnt=$work/mnt
mkdir "$mnt"
"$BUILD/bench/make_trace" "$work/run" 8 100 3

lookups() {
	grep -q 'opcode: ' "$work/requests" || die "gputracefs -d lists no requests"
	grep -c 'opcode: LOOKUP' "$work/requests" || [ $? -eq 1 ]
}

serve() {
	gputracefs -d "$work/run" "$mnt" 2>"$work/requests" &
	server=$!
	eventually mounted || die "not mounted: $(cat "$work/requests")"
}

end() {
	umount "$mnt" 2>/dev/null || fusermount3 -u "$mnt"
	wait_for $server
}

# 9,000 files in 900 directories. Expensive attributes are requested individually, two in each
# directory.
serve
ls -lR --ignore=emulated "$mnt" >"$work/list"
[ "$(grep -c '^-' "$work/list")" -gt 8000 ] || die "$(grep -c '^-' "$work/list") files"
[ "$(lookups)" -lt 3000 ] || die "ls -lR needed $(lookups) lookups"
end

# Only what-if/ is asked for, each time: it changes. Short of memory, the kernel may forget some of
# the 9,900 names meanwhile.
serve
find "$mnt" -name emulated -prune -o -print >/dev/null
[ "$(lookups)" -le 500 ] || die "find needed $(lookups) lookups"
ls -l "$mnt/iterations/000099/gpu7" >/dev/null
[ "$(lookups)" -gt 0 ] || die "find got attributes of files"
end

# A long file: the server stores the surroundings of a random read and what follows a sequential
# read in the page cache, so that the kernel requests a fraction of the pages.
rm -r "$work/run"
"$BUILD/bench/make_trace" "$work/run" 2 10 2000
requests() {
	grep -c 'opcode: READ ' "$work/requests" || true
}
long=$mnt/timeline.json
serve
pages=$(($(stat -c %s "$long") / 4096))
[ "$pages" -gt 4000 ] || die "only $pages pages"
for i in $(seq 400); do
	dd if="$long" bs=4096 skip=$((i * 7919 % pages)) count=1 status=none
done >/dev/null
n=$(requests)
ldd "$BUILD/tools/gputracefs" >"$work/libraries"
if grep -q libtsan "$work/libraries"; then
	left_out 'requests for random pages: ThreadSanitizer slows the server down'
else
	[ "$n" -lt 200 ] || die "$n requests for 400 random pages"
fi
cat "$long" >"$work/whole"
end

serve
cat "$long" >"$work/sequential"
n=$(requests)
[ "$n" -lt $((pages / 32 / 2)) ] || die "$n requests for $pages pages"
cmp "$work/whole" "$work/sequential"
end

serve
dd if="$long" of="$work/direct" bs=1M iflag=direct status=none
cmp "$work/whole" "$work/direct"
end
