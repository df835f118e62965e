# SPDX-License-Identifier: Apache-2.0
# However a program ends or continues, its rings hold its calls and say how it ended.
. "$SOURCE/tests/e2e/lib.sh"
here=$BUILD/tests/capture
# The driver of driver.c, found by the loader like any other.
export LD_LIBRARY_PATH="$here" TMPDIR="$work"

# record CASE [OPTION...]: writes the rings of the case to $work/rings and its output to
# $work/printed.
record() {
	name=$1
	shift
	"$here/capture_run" "$BUILD/capture/library/libgpucapture.so" "$@" -- \
		"$here/${program:-capture_cases}" "$name" >"$work/rings" 2>"$work/printed" || die "$name: capture_run: $?"
}

# ended HOW: checks how the program ended and that the library printed nothing.
ended() {
	tail -n 1 "$work/rings" | grep -x "ended $1" >"$work/end" || die "$name: $(cat "$work/rings" "$work/printed")"
	[ ! -s "$work/printed" ] || die "$name printed: $(cat "$work/printed")"
	no_line -E "^damage|ENDS BEFORE" "$work/rings"
}

# count PATTERN N: checks that N lines match.
count() {
	n=$(grep -cE -- "$1" "$work/rings" || true)
	[ "$n" -eq "$2" ] || die "$name: $n instead of $2 times '$1' in: $(cat "$work/rings")"
}

# has TEXT: checks that at least one line contains TEXT.
has() {
	grep -qF -- "$1" "$work/rings" || die "$name: no '$1' in: $(cat "$work/rings")"
}

record calls; ended "with 0"
has "state exited"
count "^call [0-9]+ cu(Init|MemAlloc_v2|MemFree_v2) depth 0 result 0" 3
has "fact version.driver 12345"
has "blob 2 arg 0 what 1 of 8 @\\00\\00\\00\\00p\\00\\00"

# A driver that opens another driver and resolves the same names there (WSL) gets the other's
# functions.
ln -s "$here/libcuda.so.1" "$work/libcuda.so.1.1"
SHIM_FOLDER=$work GPUCAPTURE_DRIVER=$here/libshim.so record calls; ended "with 0"
count "^call [0-9]+ cu(Init|MemAlloc_v2|MemFree_v2) depth 0 result 0" 3
count "^call " 3

record threads; ended "with 0"
count "^call [0-9]+ cuCtxSynchronize " 2800
count "^ring .* thread other state thread-ended lost 0 " 7

# A forked child that uses its parent's CUDA context is not recorded; its calls are counted.
record fork_used; ended "with 0"
count "^call [0-9]+ cuCtxSynchronize " 1
has "forked 3"
# A child whose parent has not initialised CUDA is recorded like any other process.
record fork_fresh; ended "with 0"
count "^ring " 2
count "^call " 6
has "forked 0"

# The same while other threads of the parent are inside the library.
record fork_busy; ended "with 0"

record exec; ended "with 0"
count "^ring " 2
count "^ring .* state execed " 1
count "^call " 6
# A program that is started with another LD_PRELOAD, or none, is recorded too.
record stripped; ended "with 0"
count "^ring " 3
count "^call " 9
record exec_fails; ended "with 0"
has "state exited"
record exec_listed; ended "with 0"
count "^ring .* state execed " 1
count "^call " 6
record spawn; ended "with 0"
has "state exited"
count "^call " 4

record callback; ended "with 5"
has "state exited lost 0 clock 0 inside cuLaunchHostFunc begun"
record callback_thread; ended "with 6"
has "state exited lost 0 clock 0 inside cuStreamAddCallback begun"
record _exit; ended "with 8"
has "state exited"
record quick_exit; ended "with 9"
has "state exited"
record abort; ended "by signal 6"
has "state aborted"
record crash; ended "by signal 11"
has "state live"
record late; ended "with 0"
count "^call [0-9]+ cuCtxSynchronize " 1
record dlclose; ended "with 0"
count "^call [0-9]+ cuCtxSynchronize " 11
record next; ended "with 0"
record nothing; ended "with 0"
count "^ring " 0

# Arguments: raw words of calls without description, parameters with their layout, code images.
record unknown; ended "with 0"
count "^call [0-9]+ cuNewThing\? depth 0 result 7999 flags 3 1 4 10 20 40 80" 3
count "^call [0-9]+ cuNewPair\? depth 0 " 6
count "^name " 2
record procs; ended "with 0"
count "^call [0-9]+ cuMemcpyDtoDAsync_v2 .* 1 2 3 0$" 1
count "^call [0-9]+ cuMemcpyDtoDAsync_v2_ptsz .* 4 5 6 0$" 1
count "^call [0-9]+ cuGetProcAddress_v2 " 8
count "^call [0-9]+ cuModuleUnload depth 0 result 0" 1
count "^call [0-9]+ cuMemFree\? depth 0 result 0" 1
# Everything is recorded while a stream may be captured, even if an unknown function began the
# capture.
record captures -p; ended "with 0"
count "^call [0-9]+ cuCtxSynchronize " 1
record params; ended "with 0"
has 'blob 6 arg 9 what 2 of 40 \02\00\00\00\00\00\00\00\04\00\00\00\08\00\00\00\08\00\00\00\00\00\00\00D3"\11\00\00\00\00\99\88wfU\00\00\00'
has 'blob 7 arg 9 what 2 of 40 \02\00\00\00\00\00\00\00\04\00\00\00\08\00\00\00\08\00\00\00\00\00\00\00pack\00\00\00\00\00\00\00\00\00\00\00\00'
count '^blob 8 ' 0
has 'blob 9 arg 9 what 2 of 8 \00\00\00\00\00\00\00\00'
count "^image 4 arg 1 kind 2 size 13 blob 0 at [0-9]+ id 20 .*capture_cases$" 1
count "^image 5 arg 1 kind 2 size 13 blob 1 at 0 id 0 $" 1
count "^blob-[0-9a-f]{32}$" 1

# The memory that a struct points to is copied as the description of its fields says.
record config; ended "with 0"
count "^blob [456] arg 0 what 0 of 56 " 3
count "^blob [45] arg 2 what 2 of 40 " 2
count "^blob . arg 0 what 3 " 1
has 'blob 5 arg 0 what 3 of 72 \04\00\00\00\00\00\00\00\02\00\00\00\01\00\00\00\01\00\00\00'

# Scalar results are copied after the call returns, from the described argument and in its width;
# not if the call failed or the pointer was NULL.
record outputs; ended "with 0"
has 'blob 1 arg 0 what 1 of 4 90\00\00'
has 'blob 2 arg 1 what 1 of 8 U\00\00\00xV4\12'
has 'blob 3 arg 0 what 1 of 8 "\11\00\00\00p\00\00'
count "^blob " 3
count "^call " 5

# A small ring that the recorder reads meanwhile: every record arrives, and errno is always
# preserved.
record errno -r 65536; ended "with 0"
count "^call [0-9]+ cuMemAlloc_v2 " 100001
count " state exited lost 0 " 1
# The program's monotonic clock differs from the recorder's.
if ! unshare --time --monotonic 100000 true 2>/dev/null; then
	left_out "a clock of the program's own: time namespaces cannot be made"
else
	"$here/capture_run" "$BUILD/capture/library/libgpucapture.so" -r 65536 -- unshare --time \
		--monotonic 100000 -- "$here/capture_cases" errno >"$work/rings" 2>"$work/printed"
	name="another clock"; ended "with 0"
	count " state exited lost 0 " 1
fi
# Without a recorder, the program does not wait; lost events are counted.
record errno -r 65536 -d -n; ended "with 0"
lost=$(sed -n 's/^ring .* lost \([0-9]*\) .*/\1/p' "$work/rings")
kept=$(grep -cE "^(call|blob|fact)" "$work/rings")
[ "$lost" -gt 100000 ] && [ $((lost + kept)) -ge 200000 ] || die "lost $lost, kept $kept"
# If the recorder lives but does not read, the program waits, and can be killed.
record errno -r 65536 -n -b 100 -k 300; ended "by signal 9"
has "state live lost 0"

# RLIMIT_FSIZE below the size of a ring must not send SIGXFSZ to the program.
(ulimit -f 100 && record calls)
ended "with 0"
count "^rings 1 failed 1 calls 3 " 1

# With little space, rings are smaller. Without space for a ring, there is no session, and the
# program runs normally.
mkdir "$work/small"
if mount -t tmpfs -o size=4m tmpfs "$work/small" 2>/dev/null; then
	record threads -r 1048576 -s "$work/small"; ended "with 0"
	count "^rings 8 failed 0 calls 0 " 1
	umount "$work/small"
	mount -t tmpfs -o size=40k tmpfs "$work/small"
	record threads -r 65536 -s "$work/small"; ended "with 0"
	count "^rings 8 failed 8 calls 2803 " 1
	umount "$work/small"
else
	left_out "a full /dev/shm: mounting a tmpfs is not permitted"
fi
LD_PRELOAD=$BUILD/capture/library/libgpucapture.so GPUCAPTURE_SESSION=$work/absent "$here/capture_cases" unknown
LD_PRELOAD=$BUILD/capture/library/libgpucapture.so "$here/capture_cases" procs

# Calls in a signal handler: no record is torn, and each call counts as begun.
record signals -r 4194304; ended "with 0"
made=$(sed -n 's/^made //p' "$work/rings")
count "^ring 0 .* lost 0 .* begun $made$" 1
count "^call " "$made"

# While paused, only objects and marks are recorded; a window of iterations starts and stops by
# itself.
record marks -p; ended "with 0"
count "^call [0-9]+ cuMemAlloc_v2 .* flags 9 " 7
count "^call [0-9]+ cuCtxSynchronize " 0
count "^range what 5 " 6
record marks -i 2-3; ended "with 0"
count "^call [0-9]+ cuCtxSynchronize " 4
count "^call [0-9]+ cuMemAlloc_v2 .* flags 1 " 3
count "^call [0-9]+ cuMemAlloc_v2 .* flags 9 " 4

# A program built with AddressSanitizer: its run-time resolves functions before any library is
# initialised.
if [ ! -x "$here/capture_sanitized" ]; then
	left_out "a program under AddressSanitizer: the compiler cannot link one"
else
	program=capture_sanitized
	export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
	record threads; ended "with 0"
	count "^call [0-9]+ cuCtxSynchronize " 2800
	unset program ASAN_OPTIONS
fi

# After SIGKILL at any moment, every call that had returned is in the rings, and the rings are
# consistent.
for ms in 1 2 3 5 8 13 21; do
	record forever -k $ms -r 262144; ended "by signal 9"
	if grep "^ring " "$work/rings" >"$work/ring"; then
		has "state live"
	fi
done
record forever -b 100000 -k 1 -r 65536; ended "by signal 9"
count "^call [0-9]+ cuInit " 1
