# SPDX-License-Identifier: Apache-2.0
# PyTorch from PyPI starts, trains and communicates through NCCL on emulated GPUs, with the CPU's values. The part of the
# tests with PyTorch that tools/check always runs: GPUEMU_TORCH_SHORT names its Python, GPUEMU_TORCH_PYTHON that of all.
. "$(dirname "$0")/lib.sh"
[ -x "$BUILD/tools/gpuemu" ] || skip "gpuemu was not built (no CUDA headers)"
GPUEMU_TORCH_PYTHON=${GPUEMU_TORCH_PYTHON:-${GPUEMU_TORCH_SHORT:-}}
[ -n "$GPUEMU_TORCH_PYTHON" ] || skip "no python with PyTorch"
for library in cufft cusolver cusparse; do
	[ -e "$BUILD/replay/emugpu/lib$library.so.12" ] || skip "lib$library.so.12 was not built (no header)"
done
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

# cuFFT, cuSOLVER, cuSPARSE; without LAPACK
mkdir "$work/invalid"
echo >"$work/invalid/liblapack.so.3"
LD_LIBRARY_PATH=$work/invalid gpuemu -- "$GPUEMU_TORCH_PYTHON" "$SOURCE/tests/e2e/torch_linalg.py" >"$work/out" 2>"$work/told"
equal "$(cat "$work/out")" done
grep '^gpuemu: not supported: ' "$work/told" >"$work/refused"
grep -q '[ ,]decompositions (need liblapack.so.3) ([0-9]*)' "$work/refused"

# Values of PyTorch's own kernels, and messages whose size PyTorch computes on the GPU.
gpuemu -- "$GPUEMU_TORCH_PYTHON" "$SOURCE/tests/e2e/torch_values.py" >"$work/out" 2>"$work/told"
equal "$(cat "$work/out")" done
gpuemu -- "$GPUEMU_TORCH_PYTHON" "$SOURCE/tests/e2e/torch_losses.py" >"$work/out" 2>"$work/told"
equal "$(cat "$work/out")" done
fails grep -e 'had no host kernel' -e 'exceeded what' "$work/told"
# Sizes have values even where data has none.
gpuemu --gpus 2 --no-data -- "$GPUEMU_TORCH_PYTHON" -m torch.distributed.run --standalone --nproc-per-node 2 \
	"$SOURCE/tests/e2e/torch_objects.py" >"$work/out" 2>"$work/told"
equal "$(sort "$work/out")" "rank 0 done
rank 1 done"
gpuemu --gpus 2 -- "$GPUEMU_TORCH_PYTHON" -m torch.distributed.run --standalone --nproc-per-node 2 \
	"$SOURCE/tests/e2e/torch_values.py" >"$work/out" 2>"$work/told"
equal "$(cat "$work/out")" "done
done"
