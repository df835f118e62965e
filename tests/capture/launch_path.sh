# SPDX-License-Identifier: Apache-2.0
# A timed launch takes no lock, allocates nothing and makes no system call. It records one event,
# and on a default stream it queries the current context.
. "$SOURCE/tests/e2e/lib.sh"
here=$BUILD/tests/capture
cd "$work"

"$here/capture_run" "$BUILD/capture/library/libgpucapture.so" -t -r 1048576 -- "$here/capture_launch_path" >rings 2>told ||
	die "capture_run: $(cat told)"
grep -qx "ended with 0" rings || die "$(tail -n 1 rings): $(cat told)"
counted=$(grep "^launches " rings)
# value NAME: prints the count of that name.
value() {
	sed "s/.*$1 \([0-9]*\).*/\1/" <<<"$counted"
}
launches=$(value launches)
case $counted in *"launches 7200 mutexes 0 allocations 0 "*) ;; *) die "$counted" ;; esac
# A third of the launches use the default stream, whose context is the current one.
[ "$(value contexts)" -le $((launches / 3)) ] || die "$counted"
[ "$(value events)" -le $((launches + 100)) ] || die "$counted"
case $counted in
*"system calls 0") ;;
*"not counted") left_out "system calls, since seccomp is not available" ;;
*) die "$counted" ;;
esac
