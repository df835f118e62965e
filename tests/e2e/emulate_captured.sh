# SPDX-License-Identifier: Apache-2.0
# A program on four emulated GPUs, recorded by gpucapture, where waits and launches are known: steps
# are emulated with an error below 1 %. Launches cost the host real CPU time, of which a busy machine
# makes outliers that no emulation can know: of three recordings, one must be that good.
. "$(dirname "$0")/lib.sh"
need_capture
[ -x "$BUILD/examples/ddp" ] || skip "examples/ddp was not built"

for attempt in 1 2 3; do
	gpucapture -o "$work/run$attempt" -- gpuemu --gpus 4 --like H100 -- sh "$SOURCE/examples/launch.sh" 4 \
		"$BUILD/examples/ddp" --steps 6 --batch 2048 >"$work/out" 2>&1 || die "$(cat "$work/out")"
	gpureplay --emulate --json "$work/run$attempt" >"$work/json$attempt"
done
python3 - "$work"/json? <<'PYTHON'
import json
import sys

errors = []
for path in sys.argv[1:]:
    report = json.load(open(path, encoding='utf-8'))
    assert len(report['iterations']) == 6, report
    assert report['broken'] == 0 and report['unexplained'] == 0, report
    errors.append(max(report['max_abs_error'], report['device_max_abs_error']))
print('step and device, at most:', *(f'{error:.5f}' for error in errors))
assert min(errors) < 0.01, errors
PYTHON
