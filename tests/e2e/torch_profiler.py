#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch_profiler.py OUT.json: trains a model, in a process for each GPU under torchrun, recorded by torch.profiler.

torch_profiler.py --compare PROFILED.json CAPTURED.json: the two recordings of that run have the same operations, in
the same order on the same streams. Times agree to 0.5 us where the GPU was busy when gpucapture recorded its event behind
the operation; behind a short operation, that event is later than the operation's end.
"""
import collections
import json
import os
import sys


def run(path):
    import torch
    import torch.distributed as dist
    from torch.profiler import ProfilerActivity, profile
    rank = int(os.environ.get('LOCAL_RANK', -1))
    device = torch.device('cuda', max(rank, 0))
    torch.cuda.set_device(device)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).to(device)
    if rank >= 0:
        dist.init_process_group('nccl', device_id=device)
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    side, total, large = torch.cuda.Stream(), torch.zeros(4, device=device), torch.ones(1024, 1024, device=device)
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for _ in range(3):
            torch.mm(large, large).mul_(2)  # the stream has work for some operations
            optimizer.zero_grad()
            model(torch.randn(32, 64).to(device)).sum().backward()
            optimizer.step()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                total += torch.ones(4, device=device)
        torch.cuda.synchronize()
    profiler.export_chrome_trace(path if rank < 0 else f'{path}.{rank}')
    if rank >= 0:
        dist.destroy_process_group()


def operations(path):
    """{stream: [(name, start, duration)]} in nanoseconds, and all events."""
    with open(path, encoding='utf-8') as file:
        events = json.load(file)['traceEvents']
    streams = collections.defaultdict(list)
    for e in sorted((e for e in events if e.get('cat') in ('kernel', 'gpu_memcpy', 'gpu_memset')), key=lambda e: e['ts']):
        name = e['name'] if e['cat'] == 'kernel' else e['cat']
        streams[e['tid']].append((name, round(e['ts'] * 1000), round(e['dur'] * 1000)))
    return streams, events


def compare(profiled_path, captured_path):
    profiled, events = operations(profiled_path)
    captured, _ = operations(captured_path)
    assert len(profiled) >= 2, list(profiled)
    pairs = []
    for stream, ops in profiled.items():
        names = [name for name, _, _ in ops]
        # The profiler records a part of the run.
        at = [(c, i) for c, all_ops in captured.items() for i in range(len(all_ops) - len(ops) + 1)
              if [o[0] for o in all_ops[i:i + len(ops)]] == names]
        assert at, (stream, names, {c: [o[0] for o in v] for c, v in captured.items()})
        c, i = at[-1]
        pairs += zip(ops, captured[c][i:])
        del captured[c]
    ends = [(mine[1] + mine[2] - theirs[1] - theirs[2], mine, theirs) for mine, theirs in pairs]
    clocks_apart = max(ends)[0]
    exact = 0
    for apart, mine, theirs in ends:
        late = clocks_apart - apart
        assert late < 100_000, (late, mine, theirs)
        if mine[2] >= 20_000:
            assert late <= 500 and abs(mine[2] - theirs[2]) <= 1500, (late, mine, theirs)
        exact += late <= 500
    assert exact >= 6, exact
    calls = {e['args']['correlation'] for e in events if e.get('cat') in ('cuda_runtime', 'cuda_driver')}
    ids = {e['args']['External id'] for e in events if e.get('cat') == 'cpu_op'}
    for e in events:
        if e.get('cat') in ('kernel', 'gpu_memcpy', 'gpu_memset'):
            assert e['args']['correlation'] in calls and e['args']['External id'] in ids, e
    assert any(e['name'] == 'cudaLaunchKernel' for e in events)
    print(sum(map(len, profiled.values())), 'operations on', len(profiled), 'streams agree')
    print(exact, 'ends within 0.5 us', file=sys.stderr)


if sys.argv[1] == '--compare':
    compare(sys.argv[2], sys.argv[3])
else:
    run(sys.argv[1])
