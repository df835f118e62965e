# SPDX-License-Identifier: Apache-2.0
# Functions of the host on streams are operations with durations, which emulation and re-execution
# keep. What the host writes into page-locked and managed memory is recorded where operations read
# it, and executed again.
. "$(dirname "$0")/lib.sh"
need_capture
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # LeakSanitizer does not work in a confined worker
program=$programs/tests/e2e/replay_host
[ -x "$program" ] || skip "the program was not built (no nvcc)"
cd "$work"
virtual_only
late=0

# functions TRACE WANTED: the durations of functions of the host in milliseconds, by their start.
# No other operation of the stream overlaps them.
functions() {
	gputrace export -o "$1.json" "$1" >/dev/null
	python3 - "$1.json" "$2" <<'PY'
import json, sys
events = [e for e in json.load(open(sys.argv[1]))['traceEvents'] if e.get('cat') in ('kernel', 'host_function')]
events.sort(key=lambda e: e['ts'])
got = [e['dur'] / 1000 for e in events if e['cat'] == 'host_function']
want = json.loads(sys.argv[2])
assert len(got) == len(want) and all(w <= g < 1.1 * w + 0.1 for g, w in zip(got, want)), got
assert all(e['name'] == 'Host function' for e in events if e['cat'] == 'host_function'), events
assert all(a['ts'] + a['dur'] <= b['ts'] + 1e-6 for a, b in zip(events, events[1:])), events
PY
}

gpucapture --digest=launch --payloads=0-9 --embed-images -o events -- gpuemu -o report -- "$program" functions >told
equal "$(cat told)" '6 calls'
gpureplay --emulate --json events >emulated
python3 -c "
import json
r = json.load(open('emulated'))
assert not r['broken'] and r['max_abs_error'] < 0.01, r"
gpuemu -o report --kernels "$programs/tests/e2e/replay_host.so" -- gpureplay -o events.again events |
	has_line -x 'No differences.'
functions events '[3, 5]'
functions events.again '[3, 5]'
gputrace info events | no_line 'without times' -

# NVIDIA's runtime makes the primary context of a device current before it retains it.
for level in comm launch; do
	GPUEMU_LATE_RETAIN=$((++late % 2)) gpucapture --digest=$level --payloads=0-9 --embed-images -o memory.$level -- \
		gpuemu -o report -- "$program" memory >told
	gpuemu -o report --kernels "$programs/tests/e2e/replay_host.so" -- gpureplay --json memory.$level >same ||
		die "$level: $(cat same)"
	python3 -c "
import json
r = json.load(open('same'))
assert r['same'] and r['copies_with_unknown_contents'] == 0, r
assert sum(g['digests'] for g in r['gpus']) > 30, r
assert not any(g['digests_in_one_only'] for g in r['gpus']), r"
done

# A graph launch digests the host memory of that graph only.
gputrace export -f tsv -o tables memory.comm >/dev/null
python3 - tables/contents/index tables/gpus/gpu0/allocations <<'PY'
import collections, csv, sys
index, allocations = (list(csv.DictReader(open(p), delimiter='\t')) for p in sys.argv[1:])
graphs = [a['allocation'] for a in allocations if a['kind'] == 'host'][-5:] # in the order of allocation
used = collections.defaultdict(set)
for row in index:
    if row['allocation'] in graphs and not row['access'].startswith('live'):
        used[row['number']].add(graphs.index(row['allocation']))
assert sorted(map(sorted, used.values())) == 3 * [[0, 1]] + 3 * [[2]] + [[2, 3, 4]] + 2 * [[3, 4]], used
PY

# Each thread has its own emulated clock; whether a call is before a keyframe is decided by time.
gpucapture --digest=launch --payloads=0-9 --keyframe=1 --embed-images -o threads -- \
	gpuemu --gpus 2 -o report -- "$program" threads
for range in 0-1 1-2 2-3; do
	gpuemu --gpus 2 -o report --kernels "$programs/tests/e2e/replay_host.so" -- \
		gpureplay --iterations $range threads >same || die "$range: $(cat same)"
done
# The keyframe of a thread that makes no further calls.
has_line -x 'Executed: from iteration 2 to iteration 3' <same

# The first thread makes no calls after the third iteration has begun: two live buffers, as of the iterations before.
gpucapture --digest=step -o step -- gpuemu --gpus 2 -o report -- "$program" threads
gputrace info step | has_line -E '^ *digests +step, 7$'

# Numbers of allocations depend on the order of threads, addresses of devices do not change.
gpucapture --digest=launch --payloads=0-9 --embed-images -o late -- gpuemu --gpus 2 -o report -- "$program" threads late
gputrace diff threads late >out || die "$(cat out)"

# A graph launch digests the memory of other GPUs that the graph uses.
gpucapture --digest=launch --payloads=0-9 --keyframe=1 --embed-images -o devices -- gpuemu --gpus 2 -o report -- "$program" devices
gputrace export -f tsv -o devices.tables devices >/dev/null
python3 - devices.tables <<'PY'
import csv, sys
index, allocations = (list(csv.DictReader(open(f'{sys.argv[1]}/{p}'), delimiter='\t'))
                      for p in ('contents/index', 'gpus/gpu1/allocations'))
numbers = {a['allocation'] for a in allocations if a['bytes'] == '16384'}
used = [(row['access'], row['allocation']) for row in index if row['gpu'] == '0' and row['allocation'] in numbers and not row['access'].startswith('live')]
live = sorted((row['gpu'], row['allocation']) for row in index if row['access'] == 'live')
assert live == [(gpu, n) for gpu in '01' for n in sorted(numbers)], live # GPU 1 has operations in the second iteration only
assert len(numbers) == 2 and sorted(used) == sorted((access, n) for access in ('read', 'written') for n in numbers for i in range(2)), used
PY
# The other GPU launches no operation in the first iteration.
for range in 0-0 0-1 1-1; do
	gpuemu --gpus 2 -o report --kernels "$programs/tests/e2e/replay_host.so" -- gpureplay --iterations $range devices >out
	has_line -x 'No differences.' <out
	has_line -x "Executed: from iteration ${range%-*} to iteration ${range#*-}" <out
done

# Pipes order two processes that share memory; emulated clocks do not.
gpucapture --replayable -o processes -- gpuemu -o report -- "$program" processes
gputrace info processes | has_line '^1 GPU, 2 ranks, '
timeout 60 gpuemu -o report --kernels "$programs/tests/e2e/replay_host.so" -- gpureplay processes >out || die "$(cat out)"
has_line -x 'No differences.' <out
no_line 'unknown contents' - <out # copies from within the memory of the other process
gputrace export -f tsv -o processes.tables processes >/dev/null
equal "$(awk '$2 == "imported" {print $4}' FS='\t' processes.tables/gpus/gpu*/allocations)" "16384
16384"
