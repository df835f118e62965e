# SPDX-License-Identifier: Apache-2.0
# PyTorch's models with cuDNN run on emulated GPUs, and runs can be recorded (torch_short.sh has the
# simpler tests). GPUEMU_TORCH_PYTHON names a Python with PyTorch; ./tools/check --torch installs one.
. "$(dirname "$0")/lib.sh"
[ -x "$BUILD/tools/gpuemu" ] || skip "gpuemu was not built (no CUDA headers)"
[ -n "${GPUEMU_TORCH_PYTHON:-}" ] || skip "GPUEMU_TORCH_PYTHON names no python with PyTorch"
unset PYTHONUNBUFFERED # lines of several ranks would mix

# cuDNN
gpuemu --like H100 -- "$GPUEMU_TORCH_PYTHON" "$SOURCE/tests/e2e/torch_cudnn.py" >"$work/out" 2>"$work/told"
equal "$(cat "$work/out")" done
gpuemu --gpus 2 -- "$GPUEMU_TORCH_PYTHON" -m torch.distributed.run --standalone --nproc-per-node 2 \
	"$SOURCE/tests/e2e/torch_cudnn.py" >"$work/out" 2>"$work/told"
equal "$(cat "$work/out")" "done
done"

need_capture
program=$SOURCE/tests/e2e/torch_train.py
# torch.profiler and gpucapture record the same operations.
profiler=$SOURCE/tests/e2e/torch_profiler.py
gpucapture -o "$work/captured" -- gpuemu --gpus 2 -- "$GPUEMU_TORCH_PYTHON" -m torch.distributed.run --standalone \
	--nproc-per-node 2 "$profiler" "$work/profile.json" >"$work/out" 2>"$work/told"
for rank in 0 1; do
	gputrace export --gpu=$rank -o "$work/captured.json" "$work/captured"
	gputrace import -o "$work/profiled.$rank" "$work/profile.json.$rank" >/dev/null
	gputrace export -o "$work/profiled.json" "$work/profiled.$rank"
	python3 "$profiler" --compare "$work/profiled.json" "$work/captured.json"
	grep -q ncclDevKernel_AllReduce "$work/profiled.json"
done

gpucapture --digest=comm -o "$work/trace" -- gpuemu --gpus 2 --json -o "$work/report" -- "$GPUEMU_TORCH_PYTHON" \
	-m torch.distributed.run --standalone --nproc-per-node 2 "$program" >"$work/out" 2>"$work/told"
gputrace verify "$work/trace" >/dev/null
gputrace info --json "$work/trace" >"$work/info"
gpureplay --emulate --json "$work/trace" >"$work/emulated"
gpureplay --emulate "$work/trace" | grep 'step time'
python3 - "$work/info" "$work/emulated" <<'PY'
import json, sys
info, emulated = (json.load(open(path)) for path in sys.argv[1:])
assert info['gpus'] == 2 and [i['iteration'] for i in info['iterations']] == list(range(5)), info
# One gradient bucket in each step, besides the other exchanges of DistributedDataParallel and of
# the program.
assert info['records']['collective'] >= 2 * 6 and info['records']['digest'] > 0, info['records']
assert not [fact for fact in info['facts'] if 'missing' in fact or 'without_times' in fact], info['facts']
errors = [abs(gpu['error']) for i in emulated['iterations'] for gpu in i['gpus']]
assert max(errors) < 0.01, errors
PY
