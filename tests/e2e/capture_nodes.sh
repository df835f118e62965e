# SPDX-License-Identifier: Apache-2.0
# Nodes of CUDA graphs have their own times, equal to the emulated GPU's, for concurrent launches,
# changed and updated graphs, and graphs that cannot be cloned. The program's results do not change.
. "$(dirname "$0")/lib.sh"
need_capture
nodes=$programs/tests/capture/capture_nodes
[ -x "$nodes" ] || skip "this build has no CUDA headers"
cd "$work"
virtual_only

gpuemu -o report -- "$nodes" alone.times >alone || die "the program fails without recording"
for times in events nodes; do
	gpucapture -o $times --device-times=$times -- gpuemu -o report -- "$nodes" $times.times >$times.told 2>err ||
		die "$times: $(cat err)"
	cmp alone $times.told
	gputrace verify $times >/dev/null
	gputrace export -f chrome -o $times.json $times
done
gputrace info nodes | has_line '1 executable graph whose nodes could not be timed'

cat >check.py <<'PYTHON'
import collections
import json

def events(name, kinds):
    with open(name, encoding='utf-8') as file:
        return [e for e in json.load(file)['traceEvents'] if e.get('cat') in kinds]

def calls(name):
    found = collections.Counter(e['name'] for e in events(name, ['cuda_driver']))
    assert found['cuGraphLaunch'] > 20, found
    return found

assert calls('events.json') == calls('nodes.json'), calls('events.json') - calls('nodes.json')

# Event nodes are replaced before a launch, not within it.
def launching(name):
    return max(e['dur'] for e in events(name, ['cuda_driver']) if e['name'] == 'cuGraphLaunch')

assert launching('nodes.json') < launching('events.json') + 1, (launching('nodes.json'), launching('events.json'))

# A kernel is identified by its grid. Kernels of graphs that cannot be cloned are in one operation
# with the rest of the graph.
inside = {90}
recorded, own = collections.defaultdict(list), collections.defaultdict(list)
for e in events('nodes.json', ['kernel']):
    recorded[e['args']['grid'][0]].append((1000 * e['ts'], 1000 * (e['ts'] + e['dur'])))
with open('nodes.times', encoding='utf-8') as file:
    for line in file:
        grid, start, end = map(int, line.split())
        own[grid].append((start, end))
off = []
for grid, moments in own.items():
    assert len(recorded[grid]) == (0 if grid in inside else len(moments)), (grid, recorded[grid], moments)
    for got, was in zip(sorted(recorded[grid]), sorted(moments)):
        off.append((got[1] - was[1], was[0] - got[0], grid))
ends = [o[0] for o in off]
assert max(ends) - min(ends) < 100 and abs(ends[0]) < 2000, sorted(off)
# The gap before a kernel is its own, as on streams.
starts = [o[0] + o[1] for o in off]
assert max(starts) - min(starts) < 100 and 0 <= starts[0] < 2000, sorted(off)

def launches(kind):
    return [e['args'] for e in events('nodes.json', [kind]) if 'graph.node' in e['args']]

# A changed node makes a new version of its graph, and no launch contains a disabled node.
versions = {(a.get('graph.version', 0), a['graph.node']) for a in launches('kernel') if a['grid'][0] == 45}
assert versions == {(1, 2), (2, 2)}, versions
of = collections.Counter(a['grid'][0] for a in launches('kernel'))
assert (of[40], of[46], of[47], of[50]) == (4, 1, 2, 1), of
print(len(off), 'kernels, off by', min(ends), 'to', max(ends), 'ns')
PYTHON
python3 check.py

# If a driver refuses events in child graphs, launches of graphs with children are recorded as one
# operation after the first attempt.
GPUEMU_CHILD_EVENTS=0 gpucapture -o refused --device-times=nodes -- gpuemu -o report -- "$nodes" refused.times >refused.told 2>err ||
	die "$(cat err)"
cmp alone refused.told
gputrace info refused | has_line '4 executable graphs whose nodes could not be timed'

# Emulation takes the same virtual time.
gpureplay --emulate --json nodes >emulated
python3 -c "
import json
r = json.load(open('emulated'))
print('emulated, off by', r['max_abs_error'])
assert not r['broken'] and r['max_abs_error'] < 0.01, r"

# Many launches do not use more memory.
gpucapture -o often --device-times=nodes -- gpuemu -o report -- "$nodes" /dev/null 100000 >told 2>err || die "$(cat err)"
gputrace info often >info
grep -q ' 300,000 ' info || die "$(cat info)"
awk '{ exit !($3 < 16) }' told || die "$(cat told)"
