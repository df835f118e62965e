# SPDX-License-Identifier: Apache-2.0
# Groups of NCCL calls: sends and receives are named by the collective that they form, and a kernel
# that executes several collectives lists all of them.
. "$(dirname "$0")/lib.sh"
need_capture
groups=$programs/tests/capture/capture_groups
[ -x "$groups" ] || skip "this build has no CUDA headers, or no NVTX"
cd "$work"

# record NAME COMMAND...: writes the collectives of the trace NAME to NAME.json.
record() {
	name=$1
	shift
	gpucapture --digest=launch -o "$name" -- gpuemu --gpus 4 -o report -- "$@" 2>err || die "$name: $(cat err)"
	gputrace verify "$name" >/dev/null
	gputrace export -f chrome -o "$name.json" "$name"
	gpureplay --emulate --json "$name" >emulated
	python3 -c "
import json
r = json.load(open('emulated'))
assert not r['broken'], r"
}

cat >steps.py <<'PY'
import collections
import json
import sys

# By step of the program: kind, type and bytes of each rank's operations.
def steps(path):
    with open(path, encoding='utf-8') as file:
        events = json.load(file)['traceEvents']
    met = collections.defaultdict(list)
    for e in events:
        a = e.get('args', {})
        if 'gputrace seq' in a:
            met[a['gputrace comm'], a['gputrace seq']].append((e['ts'], a))
    ordered = sorted(met.values(), key=lambda ops: min(ts for ts, _ in ops))
    for ops in ordered:
        yield sorted((a['gputrace collective'], a.get('gputrace dtype'), a['gputrace message_bytes']) for _, a in ops), \
            [json.loads(json.dumps(a.get('collectives'))) for _, a in ops]

def times(n, *op):
    return [op] * n

B = 4000 # bytes of a message
head = [
    times(4, 'all_to_all', 'Float', 4 * B),
    times(2, 'all_to_all', 'Float', 2 * B) + times(2, 'all_to_all', 'Float', 3 * B),
    times(2, 'send_recv', 'Float', B) + times(2, 'send_recv', 'Float', 3 * B),
    times(3, 'gather', 'Float', B) + times(1, 'gather', 'Float', 3 * B),
    times(2, 'all_gather', 'Float', 2 * B),
    times(2, 'all_gather', 'Float', 2 * B),
    times(4, 'all_reduce', 'Int', B),
]
PY

# A kernel for each collective.
record alone "$groups"
cat >check.py <<'PY'
from steps import B, head, steps, times
tail = [times(4, 'all_reduce', 'Float', k * B) for k in (1, 2, 3)] + \
    [times(4, 'all_reduce', 'Half', B // 2), times(4, 'all_gather', 'Int', 4 * B), times(4, 'send_recv', 'Float', B)]
found = list(steps('alone.json'))
assert [ops for ops, _ in found] == head + tail, found
assert all(parts is None for _, all_parts in found for parts in all_parts), found
PY
python3 check.py

# Executed again: with the communicators of the group that split, and with the factors of reductions.
confined gpuemu --gpus 4 -o report -- gpureplay --json alone >again.json || die "$(cat again.json)"
python3 - <<'PY'
import json
r = json.load(open('again.json'))
assert r['same'] and all(g['digests'] > 20 for g in r['gpus']), r
PY

# One kernel for all calls of a group on a communicator, as with NCCL. The library that launches it
# is preloaded after the recorder and before the emulated NCCL.
cat >fused.sh <<'SH'
LD_PRELOAD=$(echo "$LD_PRELOAD" | sed "s|libgpucapture.so:|&$1:|")
export LD_PRELOAD
exec "$2"
SH
record fused sh fused.sh "$programs/tests/capture/libcapture_fused.so" "$groups"
cat >check.py <<'PY'
from steps import B, head, steps, times
found = list(steps('fused.json'))
assert [ops for ops, _ in found] == head + [times(4, 'all_reduce', 'Float', 6 * B), times(4, 'group', '', B // 2 + 4 * B + B)], found
assert all(parts is None for _, all_parts in found[:-2] for parts in all_parts), found
for parts in found[-2][1]:
    assert parts == [{'collective': 'all_reduce', 'dtype': 'Float', 'message_bytes': k * B} for k in (1, 2, 3)], parts
for parts in found[-1][1]:
    assert parts == [{'collective': 'all_reduce', 'dtype': 'Half', 'message_bytes': B // 2},
                     {'collective': 'all_gather', 'dtype': 'Int', 'message_bytes': 4 * B},
                     {'collective': 'send_recv', 'dtype': 'Float', 'message_bytes': B}], parts
PY
python3 check.py
