# SPDX-License-Identifier: Apache-2.0
# --sensitivity: what 1 % more speed of each part gains is what a --what-if of 1 % predicts, and is found
# on the critical path.
. "$(dirname "$0")/lib.sh"

for plan in grid small experts; do
	python3 "$SOURCE/bench/make_run.py" --plan=$plan --ranks 4 --steps 3 -o "$work/run-$plan"
	gputrace import -o "$work/$plan" "$work/run-$plan"/rank-*.json >"$work/imported"
	gpureplay --emulate --sensitivity --json "$work/$plan" >"$work/gains"
	python3 - "$work/gains" "$work/$plan" $plan <<'PYTHON'
import json
import re
import subprocess
import sys

report = json.load(open(sys.argv[1], encoding='utf-8'))
gains = report['gains']
assert [g['gain_ns'] for g in gains] == sorted((g['gain_ns'] for g in gains), reverse=True)
first = {'grid': 'gpu', 'small': 'host', 'experts': 'network'}[sys.argv[3]]
assert {'gpu', 'network', 'copy', 'host', 'launch', 'rank'} <= {g['what'] for g in gains}, gains
assert first == 'host' or len([g for g in gains if g['what'] == 'kernel']) >= 5, gains
scopes = {'kernel': 'kernel~{}:gpu', 'collective': '{}:network', 'rank': 'rank{}:gpu'}
rows = [g for g in gains if '/' not in g.get('name', '') and len(g.get('name', '')) < 200]


def spec(row):
    name = re.sub(r'([*?\[\]\\])', r'\\\1', row.get('name', ''))
    return scopes.get(row['what'], row['what']).format(name) + '=1.01x'


for i in range(0, len(rows), 30):
    part = rows[i:i + 30]
    arguments = [a for row in part for a in ('--what-if', spec(row))]
    out = subprocess.run(['gpureplay', '--emulate', '--force', '--json'] + arguments + [sys.argv[2]], check=True,
                         capture_output=True, text=True).stdout
    predictions = json.loads(out)
    predictions = predictions if isinstance(predictions, list) else [predictions]
    for row, p in zip(part, predictions, strict=True):
        mean = p['mean_step_ns']
        gain = mean['emulated'] - mean['predicted']
        assert abs(row['gain_ns'] - gain) <= 0.01 * abs(gain) + 1, (row, gain)
        # The critical path was found without that run. Steps of other ranks than the last may change too.
        assert row['gain_ns'] <= 0.0102 * row['path_ns'] + 0.0005 * mean['emulated'], row
        if row['what'] in ('gpu', 'host') and row['path_ns'] > 0.1 * mean['emulated']:
            assert row['gain_ns'] > 0.8 * row['path_ns'] / 101, row
assert gains[0]['what'] == first and gains[0]['gain'] > 0.003, gains[0]
PYTHON
done

gpureplay --emulate --sensitivity "$work/grid" >"$work/report"
has_line '^ *1 % faster  *name  *gain of a step  *share  *critical$' <"$work/report"
has_line '^ *gpu  *all  *[0-9.]* us  *0\.[0-9]*%' <"$work/report"
has_line '^ *rank  *3 ' <"$work/report"
fails -2 gpureplay --emulate --sensitivity --what-if gpu=2x "$work/grid"
says "cannot be combined with --what-if"
fails -2 gpureplay --emulate --sensitivity -o "$work/output" "$work/grid"
[ ! -e "$work/output" ] || die "--sensitivity wrote a run"
