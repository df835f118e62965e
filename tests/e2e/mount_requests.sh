# SPDX-License-Identifier: Apache-2.0
# Who lists files and wants their attributes need not ask for each; who wants names only is not given
# what nobody looks at.
. "$(dirname "$0")/lib.sh"
need_fuse
mnt=$work/mnt
mkdir "$mnt"
"$BUILD/bench/make_trace" "$work/run" 8 100 3

lookups() {
	grep -c 'opcode: LOOKUP' "$work/requests" || true
}

serve() {
	gputracefs -d "$work/run" "$mnt" 2>"$work/requests" &
	eventually mounted || die "not mounted: $(cat "$work/requests")"
}

end() {
	umount "$mnt" 2>/dev/null || fusermount3 -u "$mnt"
	wait
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
