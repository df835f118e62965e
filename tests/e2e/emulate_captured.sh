# SPDX-License-Identifier: Apache-2.0
# Programs on four emulated GPUs, recorded by gpucapture with known waits and launches: the error of
# an emulated step is below 1 %. In dataparallel, sends and receives make pairs of GPUs wait for
# each other.
. "$(dirname "$0")/lib.sh"
need_capture
[ -x "$programs/examples/ddp" ] || skip "examples/ddp was not built"
virtual_only

# check NAME ERROR COMMAND...: records the command, emulates the trace, and checks the error.
check() {
	name=$1 error=$2
	shift 2
	gpucapture -o "$work/$name" -- gpuemu --gpus 4 --like H100 -- "$@" >"$work/out" 2>&1 || die "$(cat "$work/out")"
	gpureplay --emulate --json "$work/$name" >"$work/report"
	python3 - "$name" "$error" "$work/report" <<'PYTHON'
import json
import sys

name, error, path = sys.argv[1:]
report = json.load(open(path, encoding='utf-8'))
assert len(report['iterations']) == 12 and not report['broken'] and not report['unexplained'], report
step, device = report[error], report['device_' + error]
print(f'{name}: step {step:.5f} device {device:.5f}')
assert step < 0.01 and device < 0.01, report
PYTHON
}

check ddp max_abs_error sh "$SOURCE/examples/launch.sh" 4 "$programs/examples/ddp" --steps 12 --batch 2048
check dataparallel mean_abs_error "$programs/examples/dataparallel" --steps 12
