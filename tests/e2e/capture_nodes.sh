# SPDX-License-Identifier: Apache-2.0
# The nodes of CUDA graphs have times of their own, as the emulated GPU has them, whatever a program does with its graphs:
# launches in flight, changes, updates, what cannot be cloned. The program does not notice.
. "$(dirname "$0")/lib.sh"
need_capture
nodes=$programs/tests/capture/capture_nodes
[ -x "$nodes" ] || skip "this build has no CUDA headers"
cd "$work"
virtual_only

gpuemu -o report -- "$nodes" alone.times >alone || die "it does not run by itself"
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

# Events are exchanged before a launch, not within it.
def launching(name):
    return max(e['dur'] for e in events(name, ['cuda_driver']) if e['name'] == 'cuGraphLaunch')

assert launching('nodes.json') < launching('events.json') + 1, (launching('nodes.json'), launching('events.json'))

# What each launch of a kernel is told by is its grid. Those of what cannot be cloned are in one operation with the rest.
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
# The gap in front of a kernel is its own, as on streams.
starts = [o[0] + o[1] for o in off]
assert max(starts) - min(starts) < 100 and 0 <= starts[0] < 2000, sorted(off)

def launches(kind):
    return [e['args'] for e in events('nodes.json', [kind]) if 'graph.node' in e['args']]

# A node that was changed is another version of its graph, and what was disabled is in no launch.
versions = {(a.get('graph.version', 0), a['graph.node']) for a in launches('kernel') if a['grid'][0] == 45}
assert versions == {(1, 2), (2, 2)}, versions
of = collections.Counter(a['grid'][0] for a in launches('kernel'))
assert (of[40], of[46], of[47], of[50]) == (4, 1, 2, 1), of
print(len(off), 'kernels, off by', min(ends), 'to', max(ends), 'ns')
PYTHON
python3 check.py

# A driver that refuses events within child graphs has launches of graphs with children as one operation, once it was asked.
GPUEMU_CHILD_EVENTS=0 gpucapture -o refused --device-times=nodes -- gpuemu -o report -- "$nodes" refused.times >refused.told 2>err ||
	die "$(cat err)"
cmp alone refused.told
gputrace info refused | has_line '4 executable graphs whose nodes could not be timed'

# In virtual time it takes as long.
gpureplay --emulate --json nodes >emulated
python3 -c "
import json
r = json.load(open('emulated'))
print('emulated, off by', r['max_abs_error'])
assert not r['broken'] and r['max_abs_error'] < 0.01, r"

# It goes on for long without taking more of anything.
gpucapture -o often --device-times=nodes -- gpuemu -o report -- "$nodes" /dev/null 100000 >told 2>err || die "$(cat err)"
gputrace info often >info
grep -q ' 300,000 ' info || die "$(cat info)"
awk '{ exit !($3 < 16) }' told || die "$(cat told)"
