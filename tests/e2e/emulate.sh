# SPDX-License-Identifier: Apache-2.0
# Emulates real runs and checks how far step time, device span and start times deviate from the
# recording. In a run of one rank nobody waits, so collectives keep their recorded duration.
. "$(dirname "$0")/lib.sh"

missing=

# check RUN STEP_MEAN STEP_MAX DEVICE_MEAN DEVICE_MAX START_P95_US UNEXPLAINED: checks the errors in
# percent. The bounds are the figures of doc/emulation.md plus a small margin.
check() {
	if [ ! -d "$traces/$1" ]; then
		missing="$missing $1"
		return
	fi
	gputrace import -o "$work/$1" "$traces/$1"/rank-*.json.gz >/dev/null
	gpureplay --emulate --json "$work/$1" >"$work/json"
	python3 - "$work/json" "$@" <<'PYTHON' || die "$1 is out of bounds"
import json
import sys

report = json.load(open(sys.argv[1], encoding='utf-8'))
run, bounds = sys.argv[2], [float(x) for x in sys.argv[3:]]
got = [100 * report['mean_abs_error'], 100 * report['max_abs_error'],
       100 * report['device_mean_abs_error'], 100 * report['device_max_abs_error'],
       report['op_start_error_ns']['p95'] / 1000, report['unexplained']]
names = ['step mean %', 'step max %', 'device mean %', 'device max %', 'start p95 us', 'unexplained']
assert len(bounds) == len(got), bounds
print(run, ', '.join(f'{n} {g:.2f} (at most {b})' for n, g, b in zip(names, got, bounds)))
assert report['broken'] == 0 and report['too_far'] == 0 and report['repeated'] == 0, report
sys.exit(any(g > b for g, b in zip(got, bounds)))
PYTHON
	rm -rf "${work:?}/$1"
}

check torchrec-resnet18-2xV100 0.02 0.05 0.02 0.03 20 0
check torchrec-dlrm-2-4xV100 0.1 0.3 0.07 0.15 320 3
check torchrec-dlrm-3-4xV100 0.1 0.3 0.13 0.3 400 3
check torchrec-dlrm-4-4xV100 0.03 0.05 0.02 0.04 60 0
check nanogpt-H100-rank0of8 0.06 0.1 0.09 0.18 65 2
check hta-nccl-args-A100-rank0of2 0.01 0.01 0.01 0.01 5 0
check hta-alexnet-A100 0.01 0.01 0.01 0.01 80 0
check hta-cudagraphs-A100-rank0of16 0.3 0.55 0.3 0.45 3500 75
check tracelens-resnet-MI300X-rank0of8 0.01 0.01 0.3 0.4 220 0
[ -z "$missing" ] || skip "missing in ../shared/traces:$missing"
