# SPDX-License-Identifier: Apache-2.0
# Real runs, emulated: how far step time, device span and starts of operations may be from what was
# recorded. A single-rank run has nobody to wait for, so its collectives last as recorded.
. "$(dirname "$0")/lib.sh"

missing=

# check RUN STEP_MEAN STEP_MAX DEVICE_MEAN DEVICE_MAX START_P95_US: bounds, in percent.
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
       report['op_start_error_ns']['p95'] / 1000]
names = ['step mean %', 'step max %', 'device mean %', 'device max %', 'start p95 us']
print(run, ', '.join(f'{n} {g:.2f} (at most {b})' for n, g, b in zip(names, got, bounds)))
assert report['broken'] == 0 and report['too_far'] == 0 and report['repeated'] == 0, report
sys.exit(any(g > b for g, b in zip(got, bounds)))
PYTHON
	rm -rf "${work:?}/$1"
}

check torchrec-resnet18-2xV100 0.1 0.2 0.1 0.2 50
check torchrec-dlrm-2-4xV100 0.1 0.3 0.1 0.3 150
check torchrec-dlrm-3-4xV100 0.1 0.3 0.1 0.3 150
check torchrec-dlrm-4-4xV100 0.1 0.3 0.1 0.3 150
check nanogpt-H100-rank0of8 0.2 0.5 0.2 0.5 150
check hta-nccl-args-A100-rank0of2 0.5 1 0.5 1 50
check hta-alexnet-A100 0.5 1 0.5 1 100
check hta-cudagraphs-A100-rank0of16 1 2 1.5 3 10000
check tracelens-resnet-MI300X-rank0of8 0.1 0.1 1 1 500
[ -z "$missing" ] || skip "../shared/traces lacks$missing"
