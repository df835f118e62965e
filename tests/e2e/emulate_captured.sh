# SPDX-License-Identifier: Apache-2.0
# Programs on four emulated GPUs, recorded by gpucapture, where waits and launches are known: steps
# are emulated with an error below 1 %. Launches cost the host real CPU time, of which a busy machine
# makes outliers that no emulation can know: of a few recordings, one must be that good. In
# dataparallel, sends and receives make pairs of GPUs wait for each other.
. "$(dirname "$0")/lib.sh"
need_capture
[ -x "$programs/examples/ddp" ] || skip "examples/ddp was not built"

# good ERROR: whether the recording is emulated well; that it is emulated whole is asked of each.
good() {
	python3 - "$1" "$work/report" <<'PYTHON'
import json
import sys

report = json.load(open(sys.argv[2], encoding='utf-8'))
if len(report['iterations']) != 6 or report['broken'] or report['unexplained']:
    sys.exit(f'not all of it is emulated: {report}')
step, device = report[sys.argv[1]], report['device_' + sys.argv[1]]
print(f'step {step:.5f} device {device:.5f}')
PYTHON
}

# check NAME ERROR COMMAND...
check() {
	name=$1 error=$2
	shift 2
	for attempt in 1 2 3 4 5 6 7 8; do
		gpucapture -o "$work/$name$attempt" -- gpuemu --gpus 4 --like H100 -- "$@" >"$work/out" 2>&1 ||
			die "$(cat "$work/out")"
		gpureplay --emulate --json "$work/$name$attempt" >"$work/report"
		errors=$(good "$error")
		echo "$name: $errors"
		if echo "$errors" | awk '{ exit !($2 < 0.01 && $4 < 0.01) }'; then
			return 0
		fi
	done
	die "$name: no recording of $attempt is emulated within 1 %"
}

check ddp max_abs_error sh "$SOURCE/examples/launch.sh" 4 "$programs/examples/ddp" --steps 6 --batch 2048
check dataparallel mean_abs_error "$programs/examples/dataparallel" --steps 6
