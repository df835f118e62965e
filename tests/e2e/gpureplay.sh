# SPDX-License-Identifier: Apache-2.0
# gpureplay --emulate: reports, output and errors.
. "$(dirname "$0")/lib.sh"

python3 "$SOURCE/bench/make_run.py" --plan=ddp --ranks 2 --steps 2 -o "$work/run"
gputrace import -o "$work/trace" "$work"/run/rank-*.json >"$work/imported"

# The report as text and as JSON.
gpureplay --emulate "$work/trace" >"$work/report"
grep -q "^ *2 *1 " "$work/report" || die "no row for iteration 2, GPU 1: $(cat "$work/report")"
grep -q "step time" "$work/report" || die "no error: $(cat "$work/report")"
gpureplay --emulate --json "$work/trace" >"$work/json"
python3 - "$work/json" <<'PYTHON'
import json
import sys

report = json.load(open(sys.argv[1], encoding='utf-8'))
assert [i['iteration'] for i in report['iterations']] == [1, 2], report
times = {'step_ns', 'device_ns', 'compute_ns', 'exposed_ns', 'hidden_ns', 'idle_ns'}
for iteration in report['iterations']:
    assert [g['gpu'] for g in iteration['gpus']] == [0, 1], iteration
    for gpu in iteration['gpus']:
        assert set(gpu['recorded']) == times and set(gpu['emulated']) == times, gpu
        error = gpu['emulated']['step_ns'] / gpu['recorded']['step_ns'] - 1
        assert abs(gpu['error'] - error) < 1e-6, gpu
        for t in gpu['recorded'], gpu['emulated']:
            assert t['compute_ns'] + t['exposed_ns'] + t['idle_ns'] == t['device_ns'], gpu
errors = [abs(g['error']) for i in report['iterations'] for g in i['gpus']]
assert abs(report['mean_abs_error'] - sum(errors) / len(errors)) < 1e-6, report
assert abs(report['max_abs_error'] - max(errors)) < 1e-6, report
assert set(report['op_start_error_ns']) == {'p50', 'p95', 'max'}, report
assert report['ops'] > 100 and report['seconds'] > 0 and report['unexplained'] >= 0, report
PYTHON

# The emulated run is a trace; emulating it again changes nothing.
gpureplay --emulate -o "$work/emulated" "$work/trace" >/dev/null
gpureplay --emulate -o "$work/again" "$work/emulated" >/dev/null
"$SOURCE/tests/e2e/same_times.py" "$work/emulated" "$work/again" || die "emulating twice differs"
gputrace info --json "$work/trace" >"$work/json.trace"
gputrace info --json "$work/emulated" >"$work/json.emulated"
gpureplay --emulate --json "$work/emulated" >"$work/json.again"
python3 - "$work/json" <<'PYTHON'
import json
import sys

first, again, trace, emulated = (json.load(open(sys.argv[1] + of, encoding='utf-8'))
                                 for of in ('', '.again', '.trace', '.emulated'))
assert emulated['facts']['gputrace.emulated'] is True, emulated['facts']
assert emulated['facts']['gputrace.emulated_from'] == trace['id'], emulated['facts']
assert first['ops'] == again['ops'] == sum(trace['records'][k] for k in ('kernel', 'memcpy', 'memset', 'collective'))
assert again['op_start_error_ns']['max'] == 0 and not again['broken'], again
assert [g['emulated'] for i in first['iterations'] for g in i['gpus']] == [
    g['recorded'] for i in again['iterations'] for g in i['gpus']]
PYTHON
rm "$work"/json.*

# Imported, emulated and packed traces store the lengths of a mount's files.
gputrace pack -o "$work/packed" "$work/emulated"
rm "$work/packed"

# An existing output is not touched, and no temporary file is left.
mkdir "$work/taken"
fails -2 gpureplay --emulate -o "$work/taken" "$work/trace"
says "$work/taken"
fails -2 gpureplay --emulate -o "$work/no/such" "$work/trace"
says "$work/no/such"
equal "$(ls "$work")" "$(printf '%s\n' again emulated imported json report run stderr stdout taken trace)"

# Damage is reported with its offset, and there is no output.
cp -r "$work/trace" "$work/damaged"
for file in "$work"/damaged/rank-*; do
	size=$(wc -c <"$file")
	head -c $((size / 2)) /dev/zero | tr '\0' x |
		dd of="$file" bs=1 seek=$((size / 4)) conv=notrunc 2>/dev/null
done
fails -3 gpureplay --emulate -o "$work/output" "$work/damaged"
says "$work/damaged"
[ ! -e "$work/output" ] || die "an output of a damaged trace"

# Errors are one line with a hint.
fails -3 gpureplay "$work/trace"
says 'not a recording of gpucapture'
fails -3 gpureplay --emulate "$work/nothing"
says "$work/nothing"
fails -2 gpureplay --emulate
fails -2 gpureplay --emulate "$work/trace" "$work/trace"
