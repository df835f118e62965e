#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `gputrace info --json` with the profiler files.

    info_counts.py REPORT.json RANK.json[.gz]...

Counts records of each kind, and iterations with their start and duration on each GPU, independently
of the importer's code.
"""
import gzip
import json
import re
import sys
from decimal import Decimal

CALLS = {'cuda_runtime', 'cuda_driver', 'hip_runtime', 'hip_driver'}
COPIES = {'gpu_memcpy': 'memcpy', 'gpu_memset': 'memset', 'cuda_sync': 'sync'}


def nanoseconds(value, base=0):
    return int(Decimal(value) * 1000) + base


def load(path):
    with (gzip.open if path.endswith('.gz') else open)(path, 'rt', errors='replace') as f:
        return json.load(f, parse_float=str)


def kind_of(event):
    category = event.get('cat', '')
    if event['ph'] != 'X':
        return 'mark'
    if category in CALLS:
        return 'call'
    if category in COPIES:
        return COPIES[category]
    if category != 'kernel':
        return 'range'
    is_collective = 'nccl' in event['name'].lower() or 'Collective name' in event.get('args', {})
    return 'collective' if is_collective else 'kernel'


def check_bandwidth(row):
    """nccl-tests' doc/PERFORMANCE.md: algbw = S / t, busbw = algbw * factor."""
    n = row['ranks']
    factors = {'all_reduce': 2 * (n - 1) / n if n else 0, 'broadcast': 1, 'reduce': 1, 'send_recv': 1}
    for kind in 'all_gather reduce_scatter all_to_all'.split():
        factors[kind] = (n - 1) / n if n else 0
    factor = factors.get(row['kind'])
    algbw, busbw = row['algbw_bytes_per_second'], row['busbw_bytes_per_second']
    if not row['bytes'] or factor is None:
        assert algbw is None and busbw is None, row
        return
    want = row['bytes'] * row['count'] * 1e9 / row['transfer_ns']
    assert abs(algbw / want - 1) < 0.001, row
    assert busbw is None if factor == 0 else abs(busbw / (want * factor) - 1) < 0.001, row


def read(path, rank, records, steps, groups):
    document = load(path)
    base = int(document.get('baseTimeNanoseconds', 0))
    for event in document['traceEvents']:
        if event['ph'] in 'Msf':
            continue
        records[kind_of(event)] = records.get(kind_of(event), 0) + 1
        args = event.get('args', {})
        if 'Process Group Name' in args and 'Group size' in args:
            groups[args['Process Group Name']] = args['Group size']
        step = re.fullmatch(r'ProfilerStep#(\d+)', event['name'])
        if step and event.get('cat') != 'gpu_user_annotation':
            steps[int(step[1]), rank] = (nanoseconds(event['ts'], base), nanoseconds(event['dur']))


def main(report_path, *files):
    report = json.load(open(report_path))
    records, steps, groups = {}, {}, {}
    for i, path in enumerate(files):
        read(path, report['ranks'][i]['rank'], records, steps, groups)
    got = {(i['iteration'], g['gpu']): (g['start_ns'], g['duration_ns'])
           for i in report['iterations'] for g in i['gpus']}
    assert report['gpus'] == len(files), report['gpus']
    if steps:  # otherwise the importer finds iterations by itself
        assert got == steps, f'iterations: {got} instead of {steps}'
    for kind in 'call kernel memcpy memset collective sync range mark'.split():
        assert report['records'][kind] == records.get(kind, 0), (
            f'{kind}: {report["records"][kind]} instead of {records.get(kind, 0)}')
    assert sum(records.values()) == report['records_total'], (records, report['records_total'])
    assert abs(report['bytes'] / report['records_total'] - report['bytes_per_record']) < 0.01, report['bytes']
    for row in report['collectives']:
        check_bandwidth(row)
        assert row['ranks'] == groups.get(row['name'], row['ranks']), row
    for iteration in report['iterations']:
        for g in iteration['gpus']:
            assert g['compute_ns'] + g['exposed_ns'] + g['idle_ns'] == g['device_ns'], g


main(*sys.argv[1:])
