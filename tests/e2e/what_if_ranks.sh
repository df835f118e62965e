# SPDX-License-Identifier: Apache-2.0
# ranks.dp=N: as many copies as recorded change nothing, more of them are predicted as bench/make_run.py
# makes such a run, and a run whose data-parallel ranks are not known is refused.
. "$(dirname "$0")/lib.sh"

make_run() { # NAME PLAN RANKS
	python3 "$SOURCE/bench/make_run.py" --ring --plan="$2" --ranks "$3" --steps 3 -o "$work/run-$1"
}

for plan in ddp fsdp grid tensor pipeline; do
	make_run $plan $plan 4
	gputrace import -o "$work/$plan" "$work/run-$plan"/rank-*.json >"$work/imported"
done

# In grid, two copies of two ranks.
for run in ddp:4 grid:2; do
	gpureplay --emulate --json --what-if "ranks.dp=${run#*:}" "$work/${run%:*}" >"$work/json"
	python3 - "$work/json" <<'PYTHON'
import json
import sys

report = json.load(open(sys.argv[1], encoding='utf-8'))
for iteration in report['iterations']:
    for gpu in iteration['gpus']:
        assert gpu['predicted'] == gpu['emulated'], gpu
assert report['critical_path']['predicted'] == report['critical_path']['emulated']
copies = report['copies']
assert copies['copies'] * copies['ranks_per_copy'] == 4 and copies['gpus_per_node'] == 8, copies
PYTHON
done

# Twice as many ranks in the same node. Rings of make_run.py need no time to fill their pipeline, which
# the cost model knows from measured curves.
for plan in ddp fsdp; do
	make_run $plan-8 $plan 8
	gpureplay --emulate --json --what-if ranks.dp=8 --what-if ranks.dp=64 --what-if ranks.dp=2 "$work/$plan" >"$work/json"
	python3 - "$work/json" "$work/run-$plan-8" $plan <<'PYTHON'
import glob
import json
import sys

eight, many, two = json.load(open(sys.argv[1], encoding='utf-8'))
true = [e['dur'] * 1000 for name in glob.glob(sys.argv[2] + '/*') for e in json.load(open(name, encoding='utf-8'))['traceEvents']
        if e['name'].startswith('ProfilerStep#')]
error = eight['mean_step_ns']['predicted'] / (sum(true) / len(true)) - 1
print(f'ranks.dp=8: {100 * error:.2f} %')
assert abs(error) < (0.01 if sys.argv[3] == 'ddp' else 0.03), error
means = [w['mean_step_ns']['predicted'] for w in (two, eight, many)]
assert means == sorted(means) and many['mean_step_ns']['emulated'] < means[2], means
gpus = [g for i in two['iterations'] for g in i['gpus']]
assert all((g['predicted'] is None) == (g['gpu'] >= 2) for g in gpus), gpus
PYTHON
done

gpureplay --emulate --what-if ranks.dp=16 "$work/ddp" >"$work/report"
has_line "^ranks.dp=16: 16 data-parallel copies of 1 rank each (communicator '0'); 8 GPUs per node" <"$work/report"
for plan in tensor pipeline; do
	fails -2 gpureplay --emulate --what-if ranks.dp=8 "$work/$plan"
	says "the data-parallel ranks are not known"
done
fails -2 gpureplay --emulate --what-if ranks.dp=8 -o "$work/output" "$work/ddp"
says "cannot be written as a trace"
[ ! -e "$work/output" ] || die "an output of a run with other ranks"
gputrace import -o "$work/alone" "$work/run-ddp/rank-0.json" >"$work/imported"
fails -2 gpureplay --emulate --what-if ranks.dp=8 "$work/alone"
says "the trace does not contain all of them"
