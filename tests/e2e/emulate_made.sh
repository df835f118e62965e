# SPDX-License-Identifier: Apache-2.0
# How well made-up runs are emulated, whose groups of ranks are named in one dialect and must be found
# in the other: below 0.5 % on average, 1 % for any GPU and iteration.
. "$(dirname "$0")/lib.sh"

# check NAME FILE...: the bounds.
check() {
	name=$1
	shift
	gputrace import -o "$work/$name" "$@" >/dev/null
	gpureplay --emulate --json "$work/$name" >"$work/$name.json"
	python3 - "$name" "$work/$name.json" <<'PYTHON'
import json
import sys

name, report = sys.argv[1], json.load(open(sys.argv[2], encoding='utf-8'))
for what in 'step_ns', 'device_ns':
    errors = [abs(g['emulated'][what] / g['recorded'][what] - 1)
              for i in report['iterations'] for g in i['gpus'] if g['recorded'][what]]
    mean, most = sum(errors) / len(errors), max(errors)
    print(f'{name}: {what} {mean:.5f} on average, {most:.5f} at most')
    assert mean < 0.005 and most < 0.01, f'{name}: {what}'
assert report['unexplained'] * 20 < report['ops'], report['unexplained']
PYTHON
}

for plan in ddp tensor pipeline schedule; do
	for dialect in us ns; do
		made=$work/made-$plan-$dialect
		python3 "$SOURCE/bench/make_run.py" --plan=$plan --dialect=$dialect --ranks 8 \
			--steps 2 -o "$made"
		check "$plan-$dialect" "$made"/rank-*.json
	done
done
