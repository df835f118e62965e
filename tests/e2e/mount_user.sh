# SPDX-License-Identifier: Apache-2.0
# An ordinary user mounts through fusermount3, reads the run, has exclusive access, and unmounts it.
. "$(dirname "$0")/lib.sh"
need_fuse
[ "$(id -u)" = 0 ] || skip "this is an ordinary user: the other tests of mounts are this test"
for program in setpriv unshare fusermount3; do
	command -v "$program" >/dev/null || skip "missing $program"
done

as_user() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

# If only root may open /dev/fuse, mounts another device node over it in a private namespace.
if ! as_user test -w /dev/fuse && [ -z "${ALONE:-}" ]; then
	status=0
	ALONE=1 unshare --mount bash "$0" || status=$?
	exit "$status"
fi
chmod 755 "$work"
if ! as_user test -w /dev/fuse; then
	mknod "$work/fuse" c 10 229 2>/dev/null && chmod 666 "$work/fuse" &&
		mount --bind "$work/fuse" /dev/fuse 2>/dev/null &&
		as_user dd if=/dev/fuse count=0 2>/dev/null ||
		skip "only root may open /dev/fuse, and no other node can stand in for it"
fi

mnt=$work/mnt
mkdir "$mnt" "$work/bin"
chown 65534 "$mnt"
cp "$BUILD/tools/gputracefs" "$work/bin"
"$BUILD/bench/make_trace" "$work/run" 2 3 20
chmod -R a+rX "$work"

as_user "$work/bin/gputracefs" "$work/run" "$mnt"
grep " $mnt fuse.gputracefs " /proc/self/mounts | has_line 'user_id=65534'
equal "$(as_user cat "$mnt/summary")" "$(gputrace info "$work/run")"
equal "$(as_user stat -c %u "$mnt/summary")" 65534
as_user find "$mnt" -name emulated -prune -o -type f -exec cat {} + >/dev/null
fails as_user touch "$mnt/new"
fails ls "$mnt/iterations" # not even root, unless mounted with allow_other or allow_root
as_user fusermount3 -u "$mnt"
gone "fusermount3 -u"

as_user "$work/bin/gputracefs" "$work/run" "$mnt"
as_user kill "$(server "$mnt")"
gone SIGTERM

# allow_other, which /etc/fuse.conf may deny to users: one line with the reason and a hint.
if ! grep -qs '^user_allow_other' /etc/fuse.conf; then
	fails -4 as_user "$work/bin/gputracefs" -o allow_other "$work/run" "$mnt"
	says "user_allow_other"
	says "/etc/fuse.conf"
	says "; add that line to /etc/fuse.conf, or mount without allow_other"
	no_line "No such device" "$work/stderr"
fi

# Other refusals of fusermount3 are reported too.
mkdir -m 755 "$work/roots"
fails -4 as_user "$work/bin/gputracefs" "$work/run" "$work/roots"
says "write access"
