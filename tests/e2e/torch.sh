# SPDX-License-Identifier: Apache-2.0
# PyTorch from PyPI starts, computes, trains and communicates through NCCL on emulated GPUs, and can
# be recorded. GPUEMU_TORCH_PYTHON names a Python with PyTorch; ./tools/check --torch installs one.
. "$(dirname "$0")/lib.sh"
[ -x "$BUILD/tools/gpuemu" ] || skip "gpuemu was not built (no CUDA headers)"
[ -n "${GPUEMU_TORCH_PYTHON:-}" ] || skip "GPUEMU_TORCH_PYTHON names no python with PyTorch"
unset PYTHONUNBUFFERED # lines of several ranks would mix

program=$SOURCE/tests/e2e/torch_train.py
gpuemu --gpus 1 --json -o "$work/one" -- "$GPUEMU_TORCH_PYTHON" "$program" >"$work/out" 2>"$work/told"
equal "$(cat "$work/out")" "one GPU done"
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True gpuemu --gpus 1 -- "$GPUEMU_TORCH_PYTHON" "$program" >"$work/out" 2>"$work/told"
equal "$(cat "$work/out")" "one GPU done"
fails grep -i 'nvml' "$work/told"
gpuemu --gpus 2 --json -o "$work/two" -- "$GPUEMU_TORCH_PYTHON" -m torch.distributed.run --standalone \
	--nproc-per-node 2 "$program" >"$work/out" 2>"$work/told"
equal "$(sort "$work/out")" "rank 0 done
rank 1 done"
python3 - "$work/one" "$work/two" <<'PY'
import json, sys
one, two = (json.load(open(path)) for path in sys.argv[1:])
assert len(one['gpus']) == 1 and one['gpus'][0]['kernels'] > 50, one
assert len(two['gpus']) == 2 and all(g['kernels'] > 50 for g in two['gpus']), two
PY

# cuDNN
gpuemu --like H100 -- "$GPUEMU_TORCH_PYTHON" "$SOURCE/tests/e2e/torch_cudnn.py" >"$work/out" 2>"$work/told"
equal "$(cat "$work/out")" done
gpuemu --gpus 2 -- "$GPUEMU_TORCH_PYTHON" -m torch.distributed.run --standalone --nproc-per-node 2 \
	"$SOURCE/tests/e2e/torch_cudnn.py" >"$work/out" 2>"$work/told"
equal "$(cat "$work/out")" "done
done"

# cuFFT, cuSOLVER, cuSPARSE
gpuemu -- "$GPUEMU_TORCH_PYTHON" "$SOURCE/tests/e2e/torch_linalg.py" >"$work/out" 2>"$work/told"
equal "$(cat "$work/out")" done
grep -q '^gpuemu: not supported: .*cusolverDn' "$work/told"

# Values of PyTorch's own kernels, and messages whose size PyTorch computes on the GPU.
gpuemu -- "$GPUEMU_TORCH_PYTHON" "$SOURCE/tests/e2e/torch_values.py" >"$work/out" 2>"$work/told"
equal "$(cat "$work/out")" done
gpuemu -- "$GPUEMU_TORCH_PYTHON" "$SOURCE/tests/e2e/torch_losses.py" >"$work/out" 2>"$work/told"
equal "$(cat "$work/out")" done
fails grep 'had no host kernel' "$work/told"
gpuemu --gpus 2 -- "$GPUEMU_TORCH_PYTHON" -m torch.distributed.run --standalone --nproc-per-node 2 \
	"$SOURCE/tests/e2e/torch_values.py" >"$work/out" 2>"$work/told"
equal "$(cat "$work/out")" "done
done"

need_capture
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
