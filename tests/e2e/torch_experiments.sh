# SPDX-License-Identifier: Apache-2.0
# tools/experiments runs an experiment of examples/pytorch and writes its table and picture.
. "$(dirname "$0")/lib.sh"
[ -x "$BUILD/tools/gpuemu" ] || skip "gpuemu was not built (no CUDA headers)"
[ -n "${GPUEMU_TORCH_PYTHON:-}" ] || skip "GPUEMU_TORCH_PYTHON names no python with PyTorch"
"$GPUEMU_TORCH_PYTHON" -c 'import matplotlib' 2>/dev/null || skip "that python has no matplotlib"
unset PYTHONUNBUFFERED

fails -2 "$SOURCE/tools/experiments" three-gpus
says "experiments: invalid name 'three-gpus'; expected two-gpus"

"$SOURCE/tools/experiments" -o "$work/out" two-gpus >"$work/told"
grep -q '^Within 15% of the published figures: .*GPU 1 (' "$work/told"
grep -q '</svg>' "$work/out/two-gpus.svg"
python3 - "$work/out/two-gpus.tsv" <<'PY'
import csv, sys
rows = {row['case']: row for row in csv.DictReader(open(sys.argv[1]), delimiter='\t')}
seconds = {case: float(row['emulated s']) for case, row in rows.items()}
# Two GPUs work at the same time, and copies beside products.
assert abs(seconds['GPU 1'] / float(rows['GPU 1']['published s']) - 1) < 0.15, rows
assert seconds['GPU 1 and GPU 2'] < 1.05 * seconds['GPU 1'], rows
assert max(seconds['product'], seconds['copy']) > 0.4
assert seconds['product and copy'] < 0.95 * (seconds['product'] + seconds['copy']), rows
PY
