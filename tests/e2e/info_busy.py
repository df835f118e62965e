#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the busy and idle shares of `gputrace info --json` with the profiler files.

    info_busy.py REPORT.json RANK.json[.gz]...

Independent of the code of the importer and the report. The span of an iteration on a GPU is from
its first operation to its last; an operation belongs to the iteration that launched it. Within the
span, the operations of all iterations count. Shares may differ by 0.1 percentage points.
"""
import bisect
import gzip
import json
import re
import sys
from decimal import Decimal

CALLS = {'cuda_runtime', 'cuda_driver', 'hip_runtime', 'hip_driver'}
OPERATIONS = {'kernel', 'gpu_memcpy', 'gpu_memset'}
POINTS = 0.1


def nanoseconds(value, base=0):
    return int(Decimal(value) * 1000) + base


def load(path):
    with (gzip.open if path.endswith('.gz') else open)(path, 'rt', errors='replace') as f:
        return json.load(f, parse_float=str)


class Operation:
    def __init__(self, event, base):
        args = event.get('args', {})
        self.start = nanoseconds(event['ts'], base)
        self.end = self.start + nanoseconds(event['dur'])
        self.correlation = args.get('correlation', 0)
        self.stream = (event['pid'], event['tid'])
        self.collective = event['cat'] == 'kernel' and (
            'nccl' in event['name'].lower() or 'Collective name' in args)


def read(path):
    """Returns the operations, calls by correlation, and iterations of one rank."""
    document = load(path)
    base = int(document.get('baseTimeNanoseconds', 0))
    operations, calls, steps = [], {}, []
    for event in document['traceEvents']:
        if event['ph'] != 'X':
            continue
        category = event.get('cat', '')
        step = re.fullmatch(r'ProfilerStep#(\d+)', event['name'])
        if category in OPERATIONS:
            operations.append(Operation(event, base))
        elif category in CALLS:
            correlation = event.get('args', {}).get('correlation')
            if correlation:
                calls.setdefault(correlation, nanoseconds(event['ts'], base))
        elif step and category != 'gpu_user_annotation':
            start = nanoseconds(event['ts'], base)
            steps.append((start, start + nanoseconds(event['dur']), int(step[1])))
    return operations, calls, sorted(steps)


def iteration_at(steps, starts, ns):
    """Returns the number of the iteration that contains a time, or 'before' or 'after'."""
    i = bisect.bisect_right(starts, ns) - 1
    if i < 0:
        return 'before'
    return 'after' if i == len(steps) - 1 and ns >= steps[i][1] else steps[i][2]


def assign(operations, calls, steps):
    """Returns operations by iteration. An operation without a call belongs to no later iteration
    than the next operation with a call on its stream."""
    starts = [s[0] for s in steps]
    by_iteration, limit = {}, {}
    for op in sorted(operations, key=lambda o: (o.start, o.end), reverse=True):
        at = calls.get(op.correlation)
        if at is None:
            at = min(op.start, limit.get(op.stream, op.start))
        else:
            limit[op.stream] = at
        by_iteration.setdefault(iteration_at(steps, starts, at), []).append(op)
    return by_iteration


def union(intervals):
    total, upto = 0, None
    for start, end in sorted(intervals):
        start = start if upto is None else max(start, upto)
        if end > start:
            total += end - start
            upto = end
        upto = start if upto is None else upto
    return total


def divide(operations, start, end):
    clipped = [(max(o.start, start), min(o.end, end), o.collective) for o in operations
               if o.start < end and o.end > start]
    both = union((a, b) for a, b, _ in clipped)
    compute = union((a, b) for a, b, collective in clipped if not collective)
    collectives = union((a, b) for a, b, collective in clipped if collective)
    return {'device_ns': end - start, 'compute_ns': compute, 'exposed_ns': both - compute,
            'hidden_ns': compute + collectives - both, 'idle_ns': end - start - both}


def expected(path):
    operations, calls, steps = read(path)
    by_iteration = assign(operations, calls, steps) if steps else {}
    by_iteration['run'] = operations
    return {number: divide(operations, min(o.start for o in own), max(o.end for o in own))
            for number, own in by_iteration.items() if own}


def rows(report):
    """Yields ((GPU, iteration, 'before', 'after' or 'run'), row) for each row of the report."""
    for part in report['iterations'] + report['outside']:
        for row in part['gpus']:
            yield (row['gpu'], part.get('iteration', part.get('where'))), row
    for row in report.get('run', []):
        yield (row['gpu'], 'run'), row


def main(report_path, *files):
    report = json.load(open(report_path))
    got = dict(rows(report))
    checked, worst, wrong = 0, 0, []
    for i, path in enumerate(files):
        gpu = report['ranks'][i]['rank']
        for number, want in expected(path).items():
            row = got.get((gpu, number))
            checked += 1
            if row is None:
                wrong.append(f'GPU {gpu}, {number}: no row')
                continue
            whole = max(want['device_ns'], 1)
            off = max(abs(row[k] - want[k]) * 100 / whole for k in want)
            worst = max(worst, off)
            if off > POINTS:
                wrong.append(f'GPU {gpu}, {number}: off by {off:.1f} points: '
                             f'{ {k: row[k] for k in want} } instead of {want}')
    assert not wrong, '\n'.join([f'{len(wrong)} of {checked} rows'] + wrong)
    assert checked, 'nothing to check'
    print(f'{checked} rows, at most {worst:.3f} points apart')


main(*sys.argv[1:])
