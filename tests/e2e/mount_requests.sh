# SPDX-License-Identifier: Apache-2.0
# Who lists files and wants their attributes need not ask for each; who wants names only is not given
# what nobody looks at.
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

# 9,000 files in 900 directories. What takes long to say is asked for one by one, of each directory two.
serve
ls -lR --ignore=emulated "$mnt" >"$work/list"
[ "$(grep -c '^-' "$work/list")" -gt 8000 ] || die "$(grep -c '^-' "$work/list") files"
[ "$(lookups)" -lt 3000 ] || die "ls -lR asked for $(lookups) of them one by one"
end

serve
find "$mnt" -name emulated -prune -o -print >/dev/null
equal "$(lookups)" 0
ls -l "$mnt/iterations/000099/gpu7" >/dev/null
[ "$(lookups)" -gt 0 ] || die "find was given attributes of files"
end

# A long file: the kernel is given what surrounds a random read, and what follows a sequential one, so that
# it asks for a fraction of the pages.
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
[ "$n" -lt 200 ] || die "$n requests for 400 random pages"
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
