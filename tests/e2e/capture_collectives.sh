# SPDX-License-Identifier: Apache-2.0
# Collectives, sends and receives in CUDA graphs are counted at each launch; those outside of graphs
# match, with one process or one thread for each rank, or one thread for all.
. "$(dirname "$0")/lib.sh"
need_capture
collectives=$SOURCE/tests/capture/collectives.py
cd "$work"
virtual_only

depth=0
record() {
	way=$1 ranks=$2
	shift 2
	gpucapture -f -o run "$@" -- gpuemu --gpus 4 -o report -- "$collectives" $way $ranks 40 $depth >told 2>err ||
		die "$way $ranks: $(cat err)"
	sort told | cmp - alone
	gputrace verify run >/dev/null
}

cat >check.py <<'PYTHON'
import collections
import json
import sys

ranks = int(sys.argv[1])
with open('run.json', encoding='utf-8') as file:
    events = json.load(file)['traceEvents']
calls = collections.Counter(e['name'] for e in events if e.get('cat') == 'nccl')
# Each call appears once in each of two captures, and in every fourth launch.
assert calls['ncclAllReduce'] == 12 * ranks and calls['ncclSend'] == calls['ncclRecv'] == 2 * ranks, calls
assert calls['ncclBroadcast'] == 2 * ranks, calls

found = collections.Counter()
matches = collections.defaultdict(list)
for e in events:
    a = e.get('args', {})
    if 'gputrace seq' in a:
        found[a['gputrace collective'], a['gputrace message_bytes'], a['gputrace dtype']] += 1
        matches[a['gputrace comm'], a['gputrace seq']].append(e)
assert found == {('all_reduce', 16384, 'Float'): 10 * ranks}, found
for at, met in matches.items():
    ends = [e['ts'] + e['dur'] for e in met]
    assert at[0] >= 0 and len(met) == ranks and max(ends) - min(ends) < 3, (at, met)
launches = [e['args'] for e in events if e.get('name') == 'CUDA graph']
assert len(launches) == 40 * ranks and all(a['graph.collectives'] == 3 for a in launches), launches
PYTHON

# emulated WITHIN: emulation gives the virtual time within 1 %, and `within` is WITHIN.
emulated() {
	gpureplay --emulate --json run >emulated
	python3 -c "
import json
r = json.load(open('emulated'))
assert not r['broken'] and r['within'] == $1, r
print(r['max_abs_error'])
raise SystemExit(r['max_abs_error'] >= 0.01)"
}

for case in "processes 2 0" "processes 4 0" "threads 2 2" "group 2 0"; do
	set -- $case
	depth=$3
	gpuemu --gpus 4 -o report -- "$collectives" $1 $2 40 >told || die "$case: the program fails without recording"
	sort told >alone
	record $1 $2
	gputrace export -f chrome -o run.json run
	python3 check.py $2
done

# The collectives of a launch are known, but not their wait times.
gpuemu --gpus 4 -o report -- "$collectives" processes 2 40 | sort >alone
depth=1
record processes 2 --digest=comm
gputrace info run >info
grep -q '^  missing   240 collectives without times of their own, in CUDA graph launches' info || die "$(cat info)"
grep -q '^  missing   240 collectives without digests, in CUDA graph launches' info || die "$(cat info)"
emulated 240
gpureplay --emulate run | has_line '^240 collectives are within CUDA graph launches'
gputrace export -f chrome -o run.json run
python3 -c "
import json
ops = [e['args'] for e in json.load(open('run.json'))['traceEvents'] if e.get('name') == 'CUDA graph']
assert len(ops) == 80 and all(a['graph.collectives'] == 3 for a in ops), ops
"
