#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the profiler files of a synthetic training run: one Kineto JSON file for each rank.

A small discrete-event simulation (bench/simulation.py) follows the rules of CUDA and of PyTorch's
process groups, and its events are written as the profiler does. Since the rules are known,
synthetic runs show whether the importer and the emulator infer them correctly.

    bench/make_run.py --plan=ddp --ranks 4 --steps 3 -o DIR         DIR/rank-0.json ...
    bench/make_run.py --plan=pipeline --ranks 8 --dialect us -o DIR

--plan (bench/plans.py): ddp (backward overlapped with all-reduce), buckets (collectives of several
sizes), tensor (an all-reduce after each layer), pipeline (two tensor-parallel groups in stages with
send and receive, then a data-parallel
all-reduce), schedule (four stages of two at eight ranks: one microbatch forward, one backward),
grid, combined, fsdp, experts, interleaved, embeddings, sharded, offload, prefetch, sequence, stalls, loader, small, and parallel (one thread drives all GPUs).
--dialect: us (whole microseconds, old names, no group arguments) or ns (fractions relative to
baseTimeNanoseconds, group arguments). --skew: largest error of a rank's clock in us; --drift: largest
drift in ppm.
Every event draws the same random number whatever the options are: --net, --latency,
--bandwidth, --gpu, --copy, --host, --launch, --slow and --overlap make the run as it would have been on another
machine, which is the truth for a prediction.
--file: one file for each rank (default); or one file for all with a process for each rank
(processes), the same with each GPU called device 0 (hidden), or one process with a thread for each
GPU (process; always with the plan parallel).
"""
import argparse
import json
import os
import statistics

from plans import PLANS, US, device_synchronize
from simulation import PID, Run, Thread


def training(rank, thread, options):
    rank.external = 1
    for step in range(options.steps):
        rank.step = step
        mark = {'cat': 'user_annotation', 'name': f'ProfilerStep#{step + 1}', 'tid': thread.tid,
                'start': thread.now, 'args': {}}
        rank.events.append(mark)
        rank.think(thread, 40 * US)
        yield from PLANS[options.plan](rank, thread, options)
        if not options.ahead:
            yield from rank.synchronize(thread, 7)
        rank.think(thread, 25 * US)
        mark['end'] = thread.now
        rank.think(thread, 40 * US)
    yield from device_synchronize(rank, thread)


# ---- output as the profiler writes it
# ------------------------------------------------------------------
def times(rank, start, end):
    run = rank.run
    start, end = (int(t + rank.skew + t * rank.drift) for t in (start, end))
    if run.ns:
        return {'ts': round(start / US, 3), 'dur': round((end - start) / US, 3)}
    return {'ts': run.base // US + start // US, 'dur': end // US - start // US}


def host_events(rank):
    for e in rank.events:
        if e['name'] == 'cudaEventRecord' and not rank.run.records:
            continue
        yield dict({'ph': 'X', 'cat': e['cat'], 'name': e['name'],
                    'pid': PID + rank.number * (not rank.run.one_process),
                    'tid': e['tid'], 'args': e['args']}, **times(rank, e['start'], e['end']))


def lost_collective(rank):
    number, n = rank.run.lost or (None, 0)
    collectives = [op for op in rank.ops if op.collective]
    return collectives[int(n)] if rank.number == number else None


def device_events(rank, device):
    lost = lost_collective(rank)
    for op in rank.ops:
        if op.kind == 'barrier' or op is lost:
            continue
        args = {'device': device, 'context': 1, 'stream': op.stream, **op.args}
        yield dict({'ph': 'X', 'cat': op.kind, 'name': op.name, 'pid': device,
                    'tid': op.stream, 'args': args}, **times(rank, op.start, op.end))


def sync_events(rank, device):
    for s in rank.syncs:
        yield dict({'ph': 'X', 'cat': 'cuda_sync', 'name': s['name'], 'pid': device, 'tid': s['stream'],
                    'args': dict(s['args'], device=device, context=1)}, **times(rank, s['start'], s['end']))


def edges(run):
    """The true edges of each rank: for operations and calls, by correlation, what they wait for
    beside their stream and thread."""
    return [{'ops': {op.args['correlation']: sorted(o.args['correlation'] for o in op.waited()
                                                    if o.rank == rank)
                     for op in rank.ops if op.kind != 'barrier'},
             'calls': {call: sorted({o.args['correlation'] for op in ops
                                     for o in ([op] if op.kind != 'barrier' else op.waited())})
                       for call, ops in rank.awaited.items()}} for rank in run.ranks]


def steps(run):
    """The durations of the steps in ns, by number of step and rank."""
    return {(int(e['name'][13:]), r.number): e['end'] - e['start'] for r in run.ranks for e in r.events
            if e['name'].startswith('ProfilerStep#')}


def document(run, ranks, name, options):
    gpu = {'name': 'Made-up GPU', 'totalGlobalMem': 1 << 36, 'computeMajor': 9, 'computeMinor': 0,
           'numSms': 132}
    head = {'schemaVersion': 1, 'deviceProperties': [dict(gpu, id=i) for i in range(options.ranks)]}
    if options.file == 'rank':
        head['distributedInfo'] = {'backend': 'nccl', 'rank': ranks[0].number,
                                   'world_size': options.ranks}
    if run.ns:
        head['baseTimeNanoseconds'] = run.base
    events = []
    for rank in ranks:
        events += list(host_events(rank))
        device = 0 if options.file == 'hidden' else rank.number
        events += device_events(rank, device)
        if options.syncs:
            events += sync_events(rank, device)
    return dict(head, traceEvents=events, traceName=name)


def slow_rank(text):
    rank, factor = text.split(':')
    return int(rank), float(factor)


def faster_kernel(text):
    pattern, factor = text.rsplit(':', 1)
    return pattern, float(factor)


class Faster(argparse.Action):
    def __call__(self, parser, options, value, option_string=None):
        setattr(options, self.dest, getattr(options, self.dest) * value)


def arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--plan', choices=PLANS, default='ddp')
    parser.add_argument('--dialect', choices=['us', 'ns'], default='ns')
    for name, value in [('ranks', 4), ('steps', 3), ('layers', 16), ('microbatches', 4),
                        ('seed', 1), ('gigabytes', 100), ('skew', 0), ('drift', 0)]:
        parser.add_argument('--' + name, type=int, default=value, help=f'({value})')
    for name in 'net', 'latency', 'bandwidth', 'gpu', 'copy', 'host', 'launch':
        parser.add_argument('--' + name, type=float, default=1, action=Faster,
                            help='how many times as fast (1); several factors multiply')
    parser.add_argument('--slow', type=slow_rank, action='append', default=[], metavar='RANK:N',
                        help='kernels of the rank take N times as long')
    parser.add_argument('--straggler', choices=['none'],
                        help='kernels take as long on each rank as on the median one, by name')
    parser.add_argument('--overlap', choices=['off', 'full'],
                        help='collectives do not run beside kernels; or do not wait for their launch')
    parser.add_argument('--ring', action='store_true',
                        help='transfers depend on the number of ranks as in a ring; as without for four')
    parser.add_argument('--kernel', type=faster_kernel, action='append', default=[], metavar='GLOB:N',
                        help='kernels with such names are N times as fast')
    parser.add_argument('--groups', action=argparse.BooleanOptionalAction,
                        help='group arguments (default: in the dialect ns)')
    parser.add_argument('--params', action='store_true',
                        help='the range record_param_comms has the group arguments, not the kernel')
    parser.add_argument('--numbered', action='store_true', help='collectives are numbered (Seq)')
    parser.add_argument('--lost', type=slow_rank, metavar='RANK:N',
                        help='the profiler loses the N-th collective of the rank')
    parser.add_argument('--own-waits', action='store_true', help="NCCL's own waits around its launches")
    parser.add_argument('--polls', action='store_true', help='the host polls before it waits')
    parser.add_argument('--records', action=argparse.BooleanOptionalAction, default=True,
                        help='calls that record events (default)')
    parser.add_argument('--syncs', action='store_true', help='records what streams and the host wait for')
    parser.add_argument('--edges', action='store_true', help='prints the true edges as JSON')
    parser.add_argument('--file', choices=['rank', 'processes', 'hidden', 'process'], default='rank')
    parser.add_argument('--ahead', action='store_true', help="the host does not wait at a step's end")
    parser.add_argument('--unstable', action='store_true',
                        help='plan fsdp: in the third step the host waits for another event before one layer')
    parser.add_argument('-o', '--output', help='folder for the files')
    options = parser.parse_args(argv)
    if options.plan == 'parallel':
        options.file = 'process'
    return options


def median_rank(run):
    """The factors, by rank and name, that give kernels of each rank the mean duration of the median rank."""
    durations = {}
    for rank in run.ranks:
        for op in rank.ops:
            if op.kind == 'kernel' and not op.collective:
                durations.setdefault((rank.number, op.name), []).append(op.duration)
    means = {k: statistics.mean(v) for k, v in durations.items()}
    return {(r, name): statistics.median(m for (_, other), m in means.items() if other == name) / mean
            for (r, name), mean in means.items()}


def simulate(options):
    return play(options, median_rank(play(options, {})) if options.straggler else {})


def play(options, even):
    run = Run(options)
    run.even = even
    threads = []
    for rank in run.ranks[:1] if options.plan == 'parallel' else run.ranks:
        thread = Thread(rank, PID + rank.number, rank.draw(0, 300 * US, 'start') + 1000 * US)
        thread.program = training(rank, thread, options)
        threads.append(thread)
    run.run(threads)
    return run


def write(run, options):
    """Writes the files and returns their names."""
    names = []
    os.makedirs(options.output, exist_ok=True)
    for ranks in [[r] for r in run.ranks] if options.file == 'rank' else [run.ranks]:
        name = f'rank-{ranks[0].number}.json' if options.file == 'rank' else 'all.json'
        names.append(os.path.join(options.output, name))
        with open(names[-1], 'w', encoding='utf-8') as f:
            json.dump(document(run, ranks, name, options), f)
    return names


def main():
    options = arguments()
    run = simulate(options)
    if options.output:
        write(run, options)
    if options.edges:
        print(json.dumps(edges(run)))


if __name__ == '__main__':
    main()
