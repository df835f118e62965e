# SPDX-License-Identifier: Apache-2.0
# PyTorch from PyPI starts, computes, trains and talks over NCCL on emulated GPUs. GPUEMU_TORCH_PYTHON names a python that
# has it (python3 -m venv DIR && DIR/bin/pip install torch numpy: 5 GB).
. "$(dirname "$0")/lib.sh"
[ -x "$BUILD/tools/gpuemu" ] || skip "gpuemu was not built (no CUDA headers)"
[ -n "${GPUEMU_TORCH_PYTHON:-}" ] || skip "GPUEMU_TORCH_PYTHON names no python with PyTorch"

program=$SOURCE/tests/e2e/torch_train.py
gpuemu --gpus 1 --json -o "$work/one" -- "$GPUEMU_TORCH_PYTHON" "$program" >"$work/out" 2>"$work/told"
equal "$(cat "$work/out")" "one GPU done"
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
