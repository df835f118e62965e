# SPDX-License-Identifier: Apache-2.0
# Whatever way a program ends or goes on, the times of all its operations come.
. "$(dirname "$0")/lib.sh"
need_capture
ends=$programs/tests/capture/capture_ends
[ -x "$ends" ] || skip "this build has no CUDA headers"
library=$BUILD/capture/library/libgpucapture.so
cd "$work"

# An exec that fails is no end: what was launched behind it is timed as well.
gpuemu -o report -- "$BUILD/tests/capture/capture_run" "$library" -t -- "$ends" 500 >rings 2>told ||
	die "$(cat told)"
grep -qx "ended with 0" rings || die "$(tail -n 2 rings told)"
grep -q "^ring .* thread main state exited" rings || die "$(grep ^ring rings)"
equal "$(grep -c "^call [0-9]* cuMemsetD8Async" rings)" 1000
equal "$(grep -c "^times" rings)" 1000

# The program's clock stands still while its ring, and that of the library's thread, are made and get their memory.
if [ "$programs" = "$BUILD" ]; then
	LD_PRELOAD=$BUILD/tests/e2e/libmapping.so gpuemu -o report -- \
		"$BUILD/tests/capture/capture_run" "$library" -t -- "$ends" 5000 >rings 2>told || die "$(cat told)"
	grep -qx "ended with 0" rings || die "$(tail -n 2 rings told)"
	aside=$(sed -n 's/^aside \([0-9]*\) times$/\1/p' told)
	[ "${aside:-0}" -ge 4 ] || die "memory was made ${aside:-0} times: $(cat told)"
fi

# More operations than may wait for their times at once: the others have none, and are counted; none
# that had waited is lost.
gpuemu -o report -- "$BUILD/tests/capture/capture_run" "$library" -o 10 -- "$ends" 500 >rings 2>told ||
	die "$(cat told)"
grep -qx "ended with 0" rings || die "$(tail -n 2 rings told)"
timed=$(grep -c "^times" rings)
untimed=$(grep '^fact device_times' rings | sed 's/.*untimed":\\20\([0-9]*\),.*/\1/' | tail -n 1)
[ "$timed" -ge 10 ] && [ "$untimed" -gt 0 ] || die "$timed have times, $untimed do not"
equal $((timed + untimed)) 1000

# What ends seconds after exit() has times, as under cuCtxSynchronize(); what does not end at all is counted, and said why.
gpuemu -o report -- "$BUILD/tests/capture/capture_run" "$library" -t -- "$ends" 5 late 3 >rings 2>told || die "$(cat told)"
equal "$(grep -c "^times" rings)" 10
gpucapture -o late -- gpuemu -- "$ends" 5 late 1000
gputrace info late | has_line "missing .* 5 operations left out because they have no device times: 5 still ran when their process ended"

# What was issued in a context that is destroyed, or reset, has times and digests all the same; also
# where there were more contexts than can be followed at once.
gpuemu -o report -- "$BUILD/tests/capture/capture_run" "$library" -t -g 1 -- "$ends" 20 contexts >rings 2>told ||
	die "$(cat told)"
grep -qx "ended with 0" rings || die "$(tail -n 2 rings told)"
equal "$(grep -c "^times" rings)" $((72 * 20))
if [ -x "$programs/examples/ddp" ]; then
	equal "$(grep -c "^digest" rings)" 72
fi
