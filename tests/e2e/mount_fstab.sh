# SPDX-License-Identifier: Apache-2.0
# mount(8) and /etc/fstab mount a trace; they find the program in PATH.
. "$(dirname "$0")/lib.sh"
need_fuse
[ "$(id -u)" = 0 ] || skip "only root may use mount(8) here"
[ -x /sbin/mount.fuse3 ] || skip "missing mount.fuse3 (package fuse3)"
mnt=$work/mnt
mkdir "$mnt"
"$BUILD/bench/make_trace" "$work/run" 2 3 100

end() {
	status=$?
	trap - EXIT
	[ -z "${link:-}" ] || rm -f "$link"
	(trap cleanup EXIT; exit $status)
	exit $status
}
trap end EXIT
if ! [ "$(readlink -f "$(command -v gputracefs)")" = "$(readlink -f /usr/bin/gputracefs)" ]; then
	[ ! -e /usr/local/bin/gputracefs ] || skip "/usr/local/bin/gputracefs is in the way"
	ln -s "$BUILD/tools/gputracefs" /usr/local/bin/gputracefs
	link=/usr/local/bin/gputracefs
fi

mount -t fuse.gputracefs "$work/run" "$mnt"
equal "$(ls "$mnt/gpus" | wc -l)" 2
umount "$mnt"
gone umount
mount -t fuse.gputracefs -o ro,noatime,allow_other,cache_mb=8,nofail,x-systemd.automount "$work/run" "$mnt"
grep -q " $mnt fuse.gputracefs ro,.*allow_other" /proc/self/mounts || die "options are missing"
umount "$mnt"
gone umount
echo "$work/run $mnt fuse.gputracefs ro,user,noauto,_netdev 0 0" >"$work/fstab"
mount --fstab "$work/fstab" "$mnt"
equal "$(ls "$mnt/gpus" | wc -l)" 2
umount "$mnt"
gone umount
