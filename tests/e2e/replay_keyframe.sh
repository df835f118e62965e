# SPDX-License-Identifier: Apache-2.0
# A program that does not mark its iterations has no keyframes, and is told; executing it again adds
# them.
. "$(dirname "$0")/lib.sh"
need_capture
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # LeakSanitizer does not work in a confined worker
examples=$programs/examples
[ -x "$examples/ddp" ] || skip "the examples were not built (no nvcc)"
cd "$work"
on_gpus="gpuemu --gpus 2 -o report --kernels $examples/kernels.so --"

gpucapture --replayable --keyframe=2 -o run -- \
	$on_gpus sh "$SOURCE/examples/launch.sh" 2 "$examples/ddp" --steps 8 --hidden 64 >/dev/null 2>stderr
says 'run contains no keyframe of 2 of 2 processes'

fails -2 $on_gpus gpureplay --keyframe=2 run
says '--keyframe'
fails -2 $on_gpus gpureplay --keyframe=0 -o frames run
says '--keyframe'

begins_at() {
	$on_gpus gpureplay --iterations 5-6 "$1" >told
	has_line -x 'No differences.' <told
	has_line -x "Executed: from $2 to iteration 6" <told
}
begins_at run 'the beginning'
$on_gpus gpureplay --keyframe=2 -o frames run | has_line -x 'No differences.'
begins_at frames 'iteration 4'
