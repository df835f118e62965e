# SPDX-License-Identifier: Apache-2.0
# tools/experiments runs an experiment of examples/pytorch and writes its table and picture.
. "$(dirname "$0")/lib.sh"
[ -x "$BUILD/tools/gpuemu" ] || skip "gpuemu was not built (no CUDA headers)"
[ -n "${GPUEMU_TORCH_PYTHON:-}" ] || skip "GPUEMU_TORCH_PYTHON names no python with PyTorch"
"$GPUEMU_TORCH_PYTHON" -c 'import matplotlib' 2>/dev/null || skip "that python has no matplotlib"
unset PYTHONUNBUFFERED

fails -2 "$SOURCE/tools/experiments" three-gpus
says "experiments: invalid name 'three-gpus'; expected two-gpus"

fails -4 env GPUEMU_TORCH_PYTHON=/nowhere/python "$SOURCE/tools/experiments" two-gpus
says "experiments: /nowhere/python: missing one of the modules matplotlib, torch, torchvision"

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

# script GPUS NAME ARGUMENT...: the other programs run, with less to do. They print a table.
script() {
	local gpus=$1 name=$2
	shift 2
	gpuemu --gpus "$gpus" --no-data -- "$GPUEMU_TORCH_PYTHON" "$SOURCE/examples/pytorch/$name" "$@" \
		>"$work/$name" 2>"$work/told" || die "$(cat "$work/told")"
}
script 2 dataparallel.py resnet18 2 8
equal "$(cut -f 4 "$work/dataparallel.py" | xargs)" \
	"what scatter replicate forward gather loss backward reduce update GPU 0 GPU 1"
script 2 scaling.py resnet18 8
grep -q "^resnet18	DP	2	8	" "$work/scaling.py"
script 1 data_loading.py resnet18 0 2:50 --prepare 0.1 --read 0.1
equal "$(cut -f 2,3 "$work/data_loading.py" | xargs)" "workers cached 0 100 2 50"
script 1 largest_batch.py resnet18 --most 3
equal "$(cut -f 2 "$work/largest_batch.py" | xargs)" "batch 1 2 3 parameters"
