# SPDX-License-Identifier: Apache-2.0
# Every test on a real GPU sources this file.
. "$SOURCE/tests/e2e/lib.sh"

gpus=$(nvidia-smi -L 2>/dev/null) || gpus=
[ "${gpus#GPU 0}" != "$gpus" ] || skip "no GPU (nvidia-smi -L)"
python=${GPU_PYTHON:-python3}
"$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null ||
	skip "$python has no PyTorch that sees a GPU (GPU_PYTHON names another)"
export TMPDIR="$work" CUBLAS_WORKSPACE_CONFIG=:4096:8
train=$SOURCE/tests/gpu/train.py
torchrun="$python -m torch.distributed.run --standalone --nproc-per-node 1"
