# SPDX-License-Identifier: Apache-2.0
# A program on four emulated GPUs, recorded by gpucapture, where waits and launches are known: no
# step of any GPU is emulated with an error of 1 %, however short.
. "$(dirname "$0")/lib.sh"
need_capture
[ -x "$BUILD/examples/ddp" ] || skip "examples/ddp was not built"

gpucapture -o "$work/run" -- gpuemu --gpus 4 --like H100 -- sh "$SOURCE/examples/launch.sh" 4 \
	"$BUILD/examples/ddp" --steps 6 --batch 256 >"$work/out" 2>&1 || die "$(cat "$work/out")"
gpureplay --emulate --json "$work/run" >"$work/json"
python3 - "$work/json" <<'PYTHON'
import json
import sys

report = json.load(open(sys.argv[1], encoding='utf-8'))
assert len(report['iterations']) == 6, report
print(f"step {report['max_abs_error']:.5f}, device {report['device_max_abs_error']:.5f} at most")
assert report['max_abs_error'] < 0.01 and report['device_max_abs_error'] < 0.01, report
assert report['broken'] == 0 and report['unexplained'] == 0, report
PYTHON
