# SPDX-License-Identifier: Apache-2.0
# A small GPT of PyTorch, trained with DistributedDataParallel on two emulated GPUs, is recorded and
# executed again: from the beginning, from a keyframe in the middle, with memory elsewhere, and with
# calls of cuBLAS and cuBLASLt in place of their kernels.
. "$(dirname "$0")/lib.sh"
need_capture
[ -n "${GPUEMU_TORCH_PYTHON:-}" ] || skip "GPUEMU_TORCH_PYTHON names no python with PyTorch"
export CUBLAS_WORKSPACE_CONFIG=:4096:8 PYTORCH_ALLOC_CONF=expandable_segments:True
cd "$work"

gpucapture --replayable --keyframe=1 -o run -- gpuemu --gpus 2 --json -o report -- \
	"$GPUEMU_TORCH_PYTHON" -m torch.distributed.run --standalone --nproc-per-node 2 "$SOURCE/tests/e2e/torch_gpt.py" 2>told ||
	die "$(cat told)"
gputrace info --json run >info
gpuemu --gpus 2 -o report -- gpureplay --json run >whole || die "$(cat whole)"
gpuemu --gpus 2 -o report -- gpureplay --json --iterations 1-1 run >part || die "$(cat part)"
GPUEMU_ADDRESS_HINTS=0 gpuemu --gpus 2 -o report -- gpureplay --json run >moved || die "$(cat moved)"
gpuemu --gpus 2 -o report -- gpureplay --json --cublas=api run >api || die "$(cat api)"
python3 - info whole part moved api <<'PY'
import json, sys
info, whole, part, moved, api = (json.load(open(name)) for name in sys.argv[1:])
for replayed in whole, part, moved, api:
    assert replayed['same'] and replayed['copies_with_unknown_contents'] == 0, replayed
    assert replayed['unknown_bytes_at_begin'] == 0, replayed
    assert not any(gpu['digests_in_one_only'] for gpu in replayed['gpus']), replayed
want = sum(info['records'][kind] for kind in ('kernel', 'memcpy', 'memset', 'collective'))
for replayed in whole, api:
    assert sum(gpu['operations'] for gpu in replayed['gpus']) == want > 2000, (replayed, want)
assert moved['regions_elsewhere'] > 2 and moved['addresses_not_rewritten'] == 0, moved
assert (part['first_iteration'], part['last_iteration']) == (1, 1), part
assert all(gpu['operations'] > 200 for gpu in part['gpus']), part
PY
