# SPDX-License-Identifier: Apache-2.0
# Emulates synthetic runs. One dialect names the groups of ranks; in the other they must be
# inferred. The bounds are the figures of doc/emulation.md.
. "$(dirname "$0")/lib.sh"

# check NAME FILE...: checks the bounds.
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
    assert mean < 0.001 and most < 0.003, f'{name}: {what}'
assert report['op_start_error_ns']['p95'] < 28000, report['op_start_error_ns']
assert report['unexplained'] == 0, report['unexplained']
PYTHON
}

for plan in ddp tensor pipeline schedule grid fsdp experts interleaved stalls small; do
	for dialect in us ns; do
		made=$work/made-$plan-$dialect
		python3 "$SOURCE/bench/make_run.py" --plan=$plan --dialect=$dialect --ranks 8 \
			--steps 2 --skew 20 -o "$made"
		check "$plan-$dialect" "$made"/rank-*.json
	done
done

# Hosts whose clocks differ by seconds, without a wait at the end of a step.
for plan in ddp interleaved; do
	python3 "$SOURCE/bench/make_run.py" --plan=$plan --ranks 4 --steps 2 --skew 7000000 --ahead \
		-o "$work/made-apart-$plan"
	check "apart-$plan" "$work/made-apart-$plan"/rank-*.json
done

# One file with several GPUs of one process: the same GPUs and the same accuracy, also after an
# export and import.
for made in "ddp ns process" "fsdp us process" "parallel us process" "parallel ns process"; do
	set -- $made
	python3 "$SOURCE/bench/make_run.py" --plan="$1" --dialect="$2" --ranks 4 --steps 3 --skew 20 --file="$3" \
		-o "$work/made-$1-$2-$3"
	check "$1-$2-$3" "$work/made-$1-$2-$3/all.json"
	gputrace info "$work/$1-$2-$3" | has_line '^4 GPUs, 3 iterations'
	gputrace export -o "$work/$1-$2-$3-ranks" "$work/$1-$2-$3"
	gputrace import -o "$work/$1-$2-$3-again" "$work/$1-$2-$3-ranks"/rank-*.json >/dev/null
	gputrace diff "$work/$1-$2-$3" "$work/$1-$2-$3-again" | has_line 'are the same'
done

# Files of several processes merged into one are refused.
for file in processes hidden; do
	python3 "$SOURCE/bench/make_run.py" --plan=ddp --ranks 4 --steps 3 --file=$file -o "$work/made-$file"
	fails -3 gputrace import -o "$work/merged" "$work/made-$file/all.json"
	says "files of several processes were merged into this file"
done
