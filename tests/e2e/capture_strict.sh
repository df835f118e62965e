# SPDX-License-Identifier: Apache-2.0
# What real drivers do not forgive, and emulated ones neither: the recorder keeps to it, at any level.
. "$(dirname "$0")/lib.sh"
need_capture
strict=$programs/tests/capture/capture_strict
[ -x "$strict" ] || skip "this build has no CUDA headers"
cd "$work"

# run CASE LEVEL: goes as it does unrecorded; its rings are in $work/CASE.
run() {
	gpuemu --gpus 2 -o report -- "$BUILD/tests/capture/capture_run" "$BUILD/capture/library/libgpucapture.so" \
		-g "$2" -t -- "$strict" "$1" >"$1" 2>"$1.told" || die "$1 at level $2: $(tail -n 5 "$1" "$1.told")"
	grep -qx 'ended with 0' "$1" || die "$1 at level $2: $(tail -n 5 "$1" "$1.told")"
}

# timed: each operation of that case has a time.
timed() {
	grep '^call' "$1" | grep -E ' cu(Launch|Memcpy|Memset)' | cut -d' ' -f2 | sort >ran
	grep '^times' "$1" | cut -d' ' -f2 | sort >times
	cmp ran times || die "$1: $(diff ran times)"
	no_line '^times.* +0$' "$1"
}

for case in elsewhere joins loads maps nowhere orders peers registers; do
	gpuemu --gpus 2 -o report -- "$strict" $case || die "$case does not go unrecorded"
	for level in 0 1 3; do
		run $case $level
		case $case in elsewhere) timed $case ;; esac
	done
done

[ -x "$programs/examples/ddp" ] || skip "digests: there is no nvcc, which compiles their kernel"

# of CASE BYTES N: so many digests of buffers of that length.
of() { equal "$(grep -c "^digest.*+$2 of" "$1")" "$3"; }
[ "$(grep -c ^digest maps)" -gt 0 ] || die "no digests"
of maps 2097152 2
of orders 12345 2
of orders 23456 0
of peers 99998 0
of peers 99997 1
of peers 99999 2
of registers 8192 0
