# SPDX-License-Identifier: Apache-2.0
# Durations come from a recorded run if it has them, otherwise from the model of the GPU.
. "$(dirname "$0")/lib.sh"
[ -x "$BUILD/tools/gpuemu" ] || skip "gpuemu was not built (no CUDA headers)"
program=$SOURCE/tests/emugpu/durations.py
virtual_only

# A recording of two ranks: copies of 1 and 4 MiB, and an all-reduce in which one rank waits.
python3 - "$work" <<'PY'
import json, sys
def op(cat, name, ts, ms, stream, **args):
    return {'ph': 'X', 'cat': cat, 'name': name, 'pid': 0, 'tid': stream, 'ts': ts, 'dur': ms * 1000,
            'args': {'device': 0, 'stream': stream, 'correlation': ts, **args}}
for rank in (0, 1):
    events = [
        op('gpu_memcpy', 'Memcpy HtoD (Pinned -> Device)', 100000, 20, 7, bytes=1 << 20),
        op('gpu_memcpy', 'Memcpy HtoD (Pinned -> Device)', 200000, 40, 7, bytes=1 << 20),
        op('gpu_memcpy', 'Memcpy HtoD (Pinned -> Device)', 300000, 90, 7, bytes=4 << 20),
        op('gpu_memcpy', 'Memcpy HtoD (Pageable -> Device)', 400000, 55, 7, bytes=1 << 20),
        op('kernel', f'a name\nsized\tin\t0\t{2 << 20}\t1', 450000, 1, 7),
        op('kernel', 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)', 500000 - 20000 * rank,
           60 + 20 * rank, 20, **{'grid': [8, 1, 1], 'block': [512, 1, 1], 'Collective name': 'allreduce', 'dtype': 'Float',
           'In msg nelems': 1000000, 'Out msg nelems': 1000000, 'Group size': 2, 'Process Group Name': '0',
           'Process Group Ranks': '[0, 1]'})]
    json.dump({'distributedInfo': {'backend': 'nccl', 'rank': rank, 'world_size': 2}, 'traceEvents': events},
              open(f'{sys.argv[1]}/rank{rank}.json', 'w'))
PY
gputrace import -o "$work/run.gputrace" "$work/rank0.json" "$work/rank1.json" >"$work/told"
gpuemu --gpus 2 --like V100 -- "$program" >"$work/model"
gpuemu --gpus 2 --like V100 --timing "$work/run.gputrace" -- "$program" >"$work/recorded"

python3 - "$work/model" "$work/recorded" <<'PY'
import sys
def read(path):
    return {(name, int(size)): float(ms) for name, size, ms in (line.rstrip().split('\t') for line in open(path))}
model, recorded = map(read, sys.argv[1:])
MIB = 1 << 20
# The mean of two samples; linear interpolation between two sizes; the rank that did not wait. An
# event and a gap are added.
for key, ms in {('in', MIB): 30, ('in', 2 * MIB): 50, ('in', 4 * MIB): 90, ('pageable in', MIB): 55,
                ('all_reduce', 4000000): 60}.items():
    assert ms <= recorded[key] < ms + 1, (key, recorded[key])
    assert model[key] < 5, (key, model[key])
# Operations that the recording does not contain.
assert recorded['touched', 8 * MIB] < 5 and recorded['all_reduce', 3600000] < 5, recorded
# Memory that was never written: 2,048 pages are allocated and cleared first.
extra = model['untouched', 8 * MIB] - model['touched', 8 * MIB]
assert abs(extra - 2048 * 1400e-6) < 0.5, extra
PY

# A real run: the all-reduce of one of its gradient buckets.
need_traces hta-nccl-args-A100-rank0of2
gputrace import -o "$work/real.gputrace" "$traces"/hta-nccl-args-A100-rank0of2/*.json.gz >"$work/told"
gpuemu --gpus 2 --like A100 --timing "$work/real.gputrace" -- "$program" 2431040 >"$work/recorded"
python3 - "$work/recorded" "$traces"/hta-nccl-args-A100-rank0of2/*.json.gz <<'PY'
import gzip, json, sys
times = {(n, int(s)): float(ms) for n, s, ms in (line.rstrip().split('\t') for line in open(sys.argv[1]))}
took = [e['dur'] / 1000 for e in json.load(gzip.open(sys.argv[2]))['traceEvents'] if e.get('cat') == 'kernel' and
        e['args'].get('Collective name') == 'allreduce' and e['args'].get('In msg nelems') == 2431040]
mean = sum(took) / len(took)
assert mean <= times['all_reduce', 4 * 2431040] < mean + 1, (mean, times)
PY
