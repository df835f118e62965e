# SPDX-License-Identifier: Apache-2.0
# However a program ends or continues, all its operations have times.
. "$(dirname "$0")/lib.sh"
need_capture
ends=$programs/tests/capture/capture_ends
[ -x "$ends" ] || skip "this build has no CUDA headers"
cd "$work"

# A failed exec does not end the recording: later operations have times.
record_rings rings -t -- "$ends" 500
grep -q "^ring .* thread main state exited" rings || die "$(grep ^ring rings)"
equal "$(grep -c "^call [0-9]* cuMemsetD8Async" rings)" 1000
equal "$(grep -c "^times" rings)" 1000

# The emulated clock stops while the rings are created and their memory is allocated.
if [ "$programs" = "$BUILD" ]; then
	LD_PRELOAD=$BUILD/tests/e2e/libmapping.so record_rings rings -t -- "$ends" 5000
	checked=$(sed -n 's/^checked \([0-9]*\) times$/\1/p' rings.err)
	[ "${checked:-0}" -ge 4 ] || die "${checked:-0} allocations were checked: $(cat rings.err)"
fi

# More operations in flight than the limit: the excess operations have no times and are counted; no
# other times are lost.
record_rings rings -o 10 -- "$ends" 500
timed=$(grep -c "^times" rings)
untimed=$(grep '^fact device_times' rings | sed 's/.*untimed":\\20\([0-9]*\),.*/\1/' | tail -n 1)
[ "$timed" -ge 10 ] && [ "$untimed" -gt 0 ] || die "$timed have times, $untimed do not"
equal $((timed + untimed)) 1000

# Operations that end seconds after exit() have times, as after cuCtxSynchronize(); operations that
# never end are counted, with the reason.
# The host function that holds them is an operation, too.
record_rings rings -t -- "$ends" 5 late 3
equal "$(grep -c "^times" rings)" 11
gpucapture -o late -- gpuemu -- "$ends" 5 late 1000
gputrace info late | has_line "missing .* 6 operations left out because they have no device times: 6 still ran when their process ended"

# Operations in a context that is destroyed or reset have times and digests, even with more contexts
# than can be tracked at once.
record_rings rings -t -g 1 -- "$ends" 20 contexts
equal "$(grep -c "^times" rings)" $((72 * 20))
if [ -x "$programs/examples/ddp" ]; then
	equal "$(grep -c "^digest" rings)" 72
fi
