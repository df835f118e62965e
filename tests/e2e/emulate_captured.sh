# SPDX-License-Identifier: Apache-2.0
# Programs on four emulated GPUs, recorded by gpucapture, where waits and launches are known: steps
# are emulated with an error below 1 %. Launches cost the host real CPU time, of which a busy machine
# makes outliers that no emulation can know: of three recordings, one must be that good. In
# dataparallel, sends and receives make pairs of GPUs wait for each other.
. "$(dirname "$0")/lib.sh"
need_capture
[ -x "$BUILD/examples/ddp" ] || skip "examples/ddp was not built"

# check NAME ERROR COMMAND...
check() {
	name=$1 error=$2
	shift 2
	for attempt in 1 2 3; do
		gpucapture -o "$work/$name$attempt" -- gpuemu --gpus 4 --like H100 -- "$@" >"$work/out" 2>&1 ||
			die "$(cat "$work/out")"
		gpureplay --emulate --json "$work/$name$attempt" >"$work/$name.json$attempt"
	done
	python3 - "$error" "$work/$name".json? <<'PYTHON'
import json
import sys

error, errors = sys.argv[1], []
for path in sys.argv[2:]:
    report = json.load(open(path, encoding='utf-8'))
    assert len(report['iterations']) == 6, report
    assert report['broken'] == 0 and report['unexplained'] == 0, report
    errors.append(max(report[error], report['device_' + error]))
print('step and device:', *(f'{e:.5f}' for e in errors))
assert min(errors) < 0.01, errors
PYTHON
}

check ddp max_abs_error sh "$SOURCE/examples/launch.sh" 4 "$BUILD/examples/ddp" --steps 6 --batch 2048
check dataparallel mean_abs_error "$BUILD/examples/dataparallel" --steps 6
