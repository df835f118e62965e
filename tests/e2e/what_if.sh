# SPDX-License-Identifier: Apache-2.0
# Changed runs are predicted as they would have been: bench/make_run.py makes the same run on another
# network, GPU or host. And what a user types: specs, reports, output, errors.
. "$(dirname "$0")/lib.sh"

# errors MEAN,WORST PLANS SETTINGS: steps are off by at most so many percent, and at most one edge in a
# hundred is false or missing.
errors() {
	python3 "$SOURCE/bench/what_if.py" --at-most "$1" --wrong-edges 1 --plan "$2" --setting "$3"
}
errors 0.5,2 ddp,pipeline,grid,fsdp,stalls,small ns-apart
errors 0.5,2 schedule ns-far
errors 0.5,2 interleaved,experts us-apart
errors 0.8,2 fsdp,grid host-bound
# No copy that the host waits for finds its stream idle, before the GPU is faster.
python3 "$SOURCE/bench/what_if.py" --only 'gpu=4x,network=4x' --seed 309 --plan grid --setting host-bound --at-most 0.2,0.4
# A wait for a collective that had ended, behind the launch of another one; a copy on its own stream.
errors 0.9,2 embeddings ns-apart,no-records
# A second stream of kernels begins behind the launch of a collective, and both are awaited.
errors 0.5,2 combined us-apart
# Collectives that are awaited one after another, by another thread or in the next step.
errors 0.5,2 sharded us-apart
# The host waits for events in order; a wait behind a collective is for an older one. Where nothing ever
# waits, only the order tells.
errors 0.5,2 offload,prefetch ns-apart
python3 "$SOURCE/bench/what_if.py" --seed 309 --plan embeddings --setting host-bound --at-most 0.9,2 --wrong-edges 1
# Batches from another thread, through a queue that is sometimes full.
python3 "$SOURCE/bench/what_if.py" --steps 9 --plan loader --setting us-apart --at-most 0.5,2 --wrong-edges 1
# Two kinds of collectives are awaited behind one of them, some beside kernels; the host waits for a stream
# that waits for a collective.
errors 1.4,2 sequence ns-apart,recorded
errors 0.5,2 prefetch no-records
errors 0.7,2 offload no-records
errors 0.7,2 tensor own-waits
errors 0.5,2 fsdp no-records
errors 1.2,2.5 buckets recorded
# Parts of different sizes: ends of one exchange among all ranks are far apart.
python3 "$SOURCE/bench/what_if.py" --extremes --only gpu=16x --seed 211 --plan experts --setting us-far --at-most 0.5,2
# On a slow network as well, on which nobody waits long for one rank.
python3 "$SOURCE/bench/what_if.py" --extremes --only network=16x --seed 505 --plan experts --setting us-far --at-most 0.5,2
# Messages of two pairs of ranks that end together.
python3 "$SOURCE/bench/what_if.py" --extremes --only gpu=0.0625x --seed 302 --ranks 8 --plan interleaved \
	--setting us-far --at-most 0.5,2
# Clocks that drift by more than ranks leave a collective apart.
python3 "$SOURCE/bench/what_if.py" --only network=0.25x --steps 8 --plan fsdp --setting us-drifting --at-most 0.5,2
# The host polls before it waits.
python3 "$SOURCE/bench/what_if.py" --at-most 0.5,2 --plan fsdp --setting polls
# On a network on which ranks leave a collective almost as far apart as it takes, one collective says
# little about its transfer, but all of them together do.
python3 "$SOURCE/bench/what_if.py" --extremes --only network=0.0625x --seed 71 --plan tensor,grid \
	--setting ns-apart,us-far --at-most 2,2.5

for plan in ddp experts; do
	python3 "$SOURCE/bench/make_run.py" --plan=$plan --ranks 4 --steps 2 -o "$work/run-$plan"
	gputrace import -o "$work/$plan" "$work/run-$plan"/rank-*.json >"$work/imported"
	# A change of nothing changes nothing, to the nanosecond.
	gpureplay --emulate --json --what-if 'gpu=1x,network=1x,copy=1x,host=1x,launch=1x' \
		"$work/$plan" >"$work/json"
	python3 - "$work/json" <<'PYTHON'
import json
import sys

report = json.load(open(sys.argv[1], encoding='utf-8'))
for iteration in report['iterations']:
    for gpu in iteration['gpus']:
        assert gpu['predicted'] == gpu['emulated'], gpu
PYTHON
done

# The report for programs: an object for one change, an array for several.
gpureplay --emulate --json --what-if network=2x "$work/ddp" >"$work/one"
gpureplay --emulate --json --what-if network=2x --what-if 'rank1,2-3:gpu=0.5x,host=2x' "$work/ddp" >"$work/two"
python3 - "$work/one" "$work/two" <<'PYTHON'
import json
import sys

one, two = (json.load(open(f, encoding='utf-8')) for f in sys.argv[1:])
for w in one, *two:
    w['critical_path']['names'].sort(key=lambda n: (n['kind'], n['name']))
assert two[0] == one, 'the same change beside another one'
assert [w['what_if'] for w in two] == ['network=2x', 'rank1,2-3:gpu=0.5x,host=2x'], two
assert set(one) == {'what_if', 'iterations', 'mean_step_ns', 'critical_path', 'error_bar', 'not_scaled',
                    'leverage'}, set(one)
times = {'step_ns', 'device_ns', 'compute_ns', 'exposed_ns', 'hidden_ns', 'idle_ns'}
for w in two:
    rows = [g for i in w['iterations'] for g in i['gpus']]
    assert [g['gpu'] for g in rows] == [0, 1, 2, 3] * 2, rows
    for run in 'recorded', 'emulated', 'predicted':
        assert all(set(g[run]) == times for g in rows)
        mean = sum(g[run]['step_ns'] for g in rows) / len(rows)
        assert abs(w['mean_step_ns'][run] - mean) < 1, (run, mean)
    assert 0.5 < w['leverage'] < 1, w['leverage']
    assert all('what' in n for n in w['not_scaled']), w
    bar = w['error_bar']
    assert 0 < bar['ns'] < 0.01 * w['mean_step_ns']['predicted'], bar
    assert abs(sum(bar.values()) - 2 * bar['ns']) < 5, bar

# The critical path, before and after: kinds and names add up, it is as long as the steps, and what
# is scaled is what changes.
path = one['critical_path']
assert path['iterations'] == 2, path
for run in 'emulated', 'predicted':
    kinds = {k: v for k, v in path[run].items() if k != 'ns'}
    names = sum(n[run + '_ns'] for n in path['names'])
    assert abs(sum(kinds.values()) - path[run]['ns']) < 20, kinds
    assert abs(names - path[run]['ns']) < 100, (names, path[run])
    assert 0.99 < path[run]['ns'] / one['mean_step_ns'][run] < 1.02, (path[run], one['mean_step_ns'])
saved = path['emulated']['ns'] - path['predicted']['ns']
assert abs(saved - (one['mean_step_ns']['emulated'] - one['mean_step_ns']['predicted'])) < 0.02 * saved + 2000, saved
assert any(n['kind'] == 'network' and n['name'] == 'all_reduce' for n in path['names']), path['names']
PYTHON
gpureplay --emulate --json --what-if gpu=1x --what-if gpu=4x "$work/ddp" >"$work/json"
python3 - "$work/json" <<'PYTHON'
import json
import sys

same, four = (w['critical_path'] for w in json.load(open(sys.argv[1], encoding='utf-8')))
assert same['emulated'] == same['predicted'], same
assert all(n['emulated_ns'] == n['predicted_ns'] for n in same['names']), same
forward = [n for n in four['names'] if n['kind'] == 'gpu' and 'backward' not in n['name']]
assert len(forward) >= 4, forward
assert all(3.8 < n['emulated_ns'] / n['predicted_ns'] < 4.4 for n in forward), forward
assert four['predicted']['network'] > 2 * four['emulated']['network'], 'less is hidden behind a faster GPU'
PYTHON

# Scopes: the ranks together are all ranks, all kernels are what a GPU runs, and a communicator or a
# kind that is all there is.
same_prediction() {
	gpureplay --emulate --json --what-if "$1" --what-if "$2" "$work/ddp" >"$work/json"
	python3 - "$work/json" <<'PYTHON'
import json
import sys

a, b = json.load(open(sys.argv[1], encoding='utf-8'))
assert a['iterations'] == b['iterations'], (a['what_if'], b['what_if'])
assert a['mean_step_ns']['predicted'] != a['mean_step_ns']['emulated'], a['what_if']
PYTHON
}
same_prediction gpu=2x 'rank0-1:gpu=2x,rank2,3:gpu=2x'
same_prediction gpu=2x 'kernel~*:gpu=2x'
same_prediction gpu=8x 'gpu=2x,kernel~*:gpu=4x'
same_prediction network=0.5x 'comm 0:network=0.5x'
same_prediction network=0.5x 'all_reduce:network=0.5x'

# The report for people.
gpureplay --emulate --what-if network=2x --what-if gpu=2x "$work/ddp" >"$work/report"
has_line '^ *iteration  *GPU  *step ms  *emulated  *network=2x  *change  *gpu=2x  *change$' <"$work/report"
has_line '^ *mean  *all ' <"$work/report"
has_line '^leverage: steps would be [0-9.]*% shorter if device operations took no time$' <"$work/report"
has_line '^not scaled: ' <"$work/report"
has_line '^ *critical path, ms  *name  *emulated  *network=2x  *gpu=2x$' <"$work/report"
has_line '^ *gpu  *all ' <"$work/report"
has_line '^estimated error of gpu=2x: [0-9.]* us per step: ' <"$work/report"
gpureplay --emulate "$work/ddp" | has_line '^leverage: '
gpureplay --emulate --json "$work/ddp" | has_line '"leverage": 0\.[0-9]*,'

# Without overlap no communication is hidden; if only data dependencies remain, a collective need not
# be launched first.
for plan in ddp experts; do
	gpureplay --emulate --json --force --what-if overlap=off --what-if gpu=2x --what-if overlap=full "$work/$plan" >"$work/json"
	python3 - "$work/json" $plan <<'PYTHON'
import json
import sys

off, gpu, full = json.load(open(sys.argv[1], encoding='utf-8'))
gpus = [g for i in off['iterations'] for g in i['gpus']]
assert all(g['predicted']['hidden_ns'] == 0 for g in gpus), gpus
mean = [w['mean_step_ns']['predicted'] for w in (off, full)]
emulated = off['mean_step_ns']['emulated']
if sys.argv[2] == 'ddp':
    assert any(g['emulated']['hidden_ns'] > 1000000 for g in gpus), gpus
    assert mean[0] > 1.05 * emulated, mean
    assert off['critical_path']['predicted']['network'] > 2 * off['critical_path']['emulated']['network'], off
else:
    assert mean[1] < 0.995 * emulated, mean
assert gpu['mean_step_ns']['predicted'] < 0.8 * emulated, gpu['mean_step_ns']
assert gpu['critical_path']['emulated'] == off['critical_path']['emulated']
PYTHON
done
# The same with recorded events, whose synchronisations are events of streams too.
python3 "$SOURCE/bench/make_run.py" --plan=ddp --ranks 4 --steps 2 --syncs -o "$work/run-syncs"
gputrace import -o "$work/syncs" "$work/run-syncs"/rank-*.json >"$work/imported"
gpureplay --emulate --what-if overlap=off "$work/syncs" >"$work/report"
# Another GPU model: the recorded one changes nothing, and a faster one shortens kernels alone.
fails -2 gpureplay --emulate --what-if gpu=H100 "$work/ddp"
says "for which there is no model"
sed -i 's/Made-up GPU/NVIDIA H100 80GB HBM3/g' "$work/run-ddp"/rank-*.json
gputrace import -o "$work/h100" "$work/run-ddp"/rank-*.json >"$work/imported"
gpureplay --emulate --json --what-if gpu=H100 --what-if gpu=H200 --what-if gpu=A100 --what-if rank1:gpu=A100 "$work/h100" >"$work/json"
python3 - "$work/json" <<'PYTHON'
import json
import sys

h100, h200, a100, rank1 = json.load(open(sys.argv[1], encoding='utf-8'))
step = h100['mean_step_ns']
assert abs(step['predicted'] / step['emulated'] - 1) < 0.001, step
predicted = [w['mean_step_ns']['predicted'] for w in (h200, h100, rank1, a100)]
assert predicted == sorted(predicted) and predicted[0] < 0.95 * predicted[-1], predicted
path = a100['critical_path']
assert path['predicted']['host'] < path['emulated']['host'] * 1.1, path
unknown = [n for n in a100['not_scaled'] if n['what'] == 'kernels_of_unknown_work']
assert all(n['count'] > 0 and 0 < n['share'] < 1.1 for n in unknown), unknown
PYTHON
fails -2 gpureplay --emulate --what-if gpu=H1 "$work/h100"
says 'V100-SXM2-16GB, or give a file like those in share/gpureplay/gpus'
says "no such model; there are A100"

for option in --iterations=1-2 --repeat=2 --trust; do
	fails -2 gpureplay --emulate $option "$work/ddp"
	says "${option%%=*}: only without --emulate"
done
fails -2 gpureplay --what-if gpu=2x "$work/ddp"
says '--what-if: only with --emulate'
fails -2 gpureplay --emulate --what-if batch=2x "$work/ddp"
says "which dimension of a kernel is the batch"

# The predicted run is a trace.
for spec in gpu=2x overlap=off; do
	gpureplay --emulate --what-if $spec -o "$work/predicted" "$work/ddp" >/dev/null
	gputrace info --json "$work/predicted" >"$work/info"
	gpureplay --emulate --json "$work/predicted" >"$work/emulated"
	gpureplay --emulate --json --what-if $spec "$work/ddp" >"$work/json"
	rm -r "$work/predicted"
	python3 - "$work/json" "$work/emulated" <<'PYTHON'
import json
import sys

predicted, emulated = (json.load(open(f, encoding='utf-8')) for f in sys.argv[1:])
steps = [g['predicted']['step_ns'] for i in predicted['iterations'] for g in i['gpus']]
written = [g['recorded']['step_ns'] for i in emulated['iterations'] for g in i['gpus']]
assert steps == written, (steps, written)
PYTHON
done

# Errors say what was expected.
for spec in gpu=2 gpu=fast network=2x, 'kernel~:gpu=2x' rank3-1:gpu=2x gpus=2x overlap=on a/b=2x ''; do
	fails -2 gpureplay --emulate --what-if "$spec" "$work/ddp"
	says "expected"
done
for spec in rank9:gpu=2x rank0-9:gpu=2x 'kernel~nothing*:gpu=2x' broadcast:network=2x 'comm tp:network=2x'; do
	fails -2 gpureplay --emulate --what-if "$spec" "$work/ddp"
	says "the trace has no"
done
fails -2 gpureplay --emulate --what-if gpu=2x --what-if gpu=3x -o "$work/output" "$work/ddp"
[ ! -e "$work/output" ] || die "an output of two predicted runs"

# Messages of one size do not tell latency from bandwidth.
python3 "$SOURCE/bench/make_run.py" --plan=tensor --ranks 2 --steps 2 -o "$work/run-tensor"
gputrace import -o "$work/tensor" "$work/run-tensor"/rank-*.json >"$work/imported"
fails -3 gpureplay --emulate --what-if network.latency=2x "$work/tensor"
says "collectives is unknown, because all their messages have one size"
says "--force"
gpureplay --emulate --force --what-if network.latency=2x "$work/tensor" >"$work/report"
has_line '^not scaled: .* the latency of collectives with messages of one size' <"$work/report"

# One rank of four: its collectives contain waiting for the others.
gputrace import -o "$work/alone" "$work/run-ddp/rank-0.json" >"$work/imported"
gpureplay --emulate --what-if gpu=2x "$work/alone" >"$work/report"
has_line '^not scaled: [0-9,]* collectives whose recorded duration includes wait time' <"$work/report"
for spec in network=2x rank0:gpu=2x straggler=none; do
	fails -3 gpureplay --emulate --what-if $spec -o "$work/output" "$work/alone"
	says "--force"
	[ ! -e "$work/output" ] || die "an output that was refused"
	gpureplay --emulate --force --what-if $spec "$work/alone" >/dev/null
done

# Ranks whose collectives are not matched do not wait for each other: no change is predicted.
for plan in ddp fsdp; do
	python3 "$SOURCE/bench/make_run.py" --plan=$plan --ranks 2 --steps 2 --dialect us -o "$work/apart-$plan"
done
gputrace import -o "$work/apart" "$work/apart-ddp/rank-0.json" "$work/apart-fsdp/rank-1.json" >"$work/imported"
for spec in gpu=2x host=2x; do
	fails -3 gpureplay --emulate --what-if $spec "$work/apart"
	says "does not contain or match"
	gpureplay --emulate --force --what-if $spec "$work/apart" >/dev/null
done

# Process groups were not recorded and a rank is missing: sends and receives without partner, and
# collectives that may wait for the missing rank.
for plan in interleaved ddp; do
	python3 "$SOURCE/bench/make_run.py" --plan=$plan --ranks 4 --steps 2 --dialect us -o "$work/part-$plan"
	gputrace import -o "$work/part" "$work/part-$plan"/rank-[023].json >"$work/imported"
	for spec in network=2x rank0:gpu=2x; do
		fails -3 gpureplay --emulate --what-if $spec "$work/part"
		says "does not contain or match"
	done
	rm -r "$work/part"
	gputrace import -o "$work/part" "$work/part-$plan"/rank-?.json >"$work/imported"
	gpureplay --emulate --what-if network=2x "$work/part" >"$work/report"
	rm -r "$work/part"
done
