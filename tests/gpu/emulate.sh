# SPDX-License-Identifier: Apache-2.0
# The emulated step time of a run on a GPU equals the recorded one.
. "$SOURCE/tests/gpu/lib.sh"

for program in "$python $train 30" "$torchrun $train 30"; do
	rm -rf "$work/run"
	gpucapture -o "$work/run" -- $program >"$work/out"
	gpureplay --emulate --json "$work/run" >"$work/json"
	"$python" - "$work/json" "$program" <<'PY'
import json
import sys

report = json.load(open(sys.argv[1]))
print(f"{sys.argv[2]}: {len(report['iterations'])} steps, {100 * report['mean_abs_error']:.2f} % off on average, "
      f"{100 * report['max_abs_error']:.2f} % at most; device {100 * report['device_mean_abs_error']:.2f} %; "
      f"starts {report['op_start_error_ns']}")
assert len(report['iterations']) >= 30, report
assert report['mean_abs_error'] < 0.05, report
PY
done
