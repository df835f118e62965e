#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""same_as_export.py EVENTS EDGES TABLES TIMELINES: compares the output of tests/reader.py with tables and timelines
written by gputrace export: every event with its times and arguments, and every edge."""
import collections
import glob
import json
import os
import re
import sys
from decimal import Decimal


def rows_of(path):
    with open(path, encoding='utf-8', errors='surrogateescape') as f:
        lines = f.read().split('\n')
    head = lines[0].split('\t')
    return [dict(zip(head, line.split('\t'))) for line in lines[1:] if line]


def tables(folder, names):
    """Yields the rows of these tables with their ranks."""
    for part in ('iterations/*', 'before', 'after'):
        for path in glob.glob(os.path.join(folder, part, 'gpu*', '*')):
            gpu, table = path.split('/')[-2:]
            if table in names:
                for row in rows_of(path):
                    yield gpu[3:], table, row


def unescape(text):
    return re.sub(r'\\(.)', lambda m: {'t': '\t', 'n': '\n', 'r': '\r', '0': '\0'}.get(m[1], m[1]), text)


def plain(text):
    """Returns canonical JSON, in which 8 and 8.0 are the same text."""
    return json.dumps(json.loads(text, parse_int=float), sort_keys=True)


def from_timelines(folder, kinds):
    """Returns a Counter of (rank, name, start, duration, arguments) of all events."""
    found = collections.Counter()
    for path in glob.glob(os.path.join(folder, '*.json')):
        with open(path, encoding='utf-8', errors='surrogateescape') as f:
            timeline = json.load(f, parse_float=Decimal)
        rank = re.search(r'(\d+)\.json$', path)[1]
        base = int(timeline.get('baseTimeNanoseconds', 0))
        for e in timeline['traceEvents']:
            if e['ph'] == 'M' or (e['ph'] in 'sf' and e.get('cat') in kinds):
                continue
            start, duration = base + int(Decimal(e['ts']) * 1000), int(Decimal(e.get('dur', 0)) * 1000)
            args = {k: v for k, v in e.get('args', {}).items() if not k.startswith('gputrace ')}
            args = json.dumps(args, default=float)
            found[rank, e['name'], start, duration, plain(args)] += 1
    return found


def from_reader(events):
    found = collections.Counter()
    for e in events:
        args = json.loads(unescape(e['args']), object_pairs_hook=list)
        if e['kind'] == 'collective':
            args = args[5:]
        args = {k.removeprefix('.'): dict(v) if v and isinstance(v, list) and isinstance(v[0], tuple) else v
                for k, v in args if not k.startswith('.') or k.startswith('..')}
        found[e['rank'], unescape(e['name']), int(e['start_ns']), int(e['duration_ns']), plain(json.dumps(args))] += 1
    return found


def compare(what, ours, exported):
    missing, added = exported - ours, ours - exported
    print(f'{what}: {sum(ours.values())}, exported {sum(exported.values())}')
    if missing or added or not (ours or what == 'edges'):
        sys.exit(f'{what}: exported only {list(missing.items())[:3]}, reader only {list(added.items())[:3]}')


def main():
    events, edges = rows_of(sys.argv[1]), rows_of(sys.argv[2])
    kind_of = {'calls': 'call', 'kernels': 'kernel', 'memcpy': 'memcpy', 'memset': 'memset', 'collectives': 'collective'}
    fields = ('number', 'start_ns', 'duration_ns', 'name', 'correlation')
    ours = collections.Counter((e['rank'], e['kind'], *(e[f] for f in fields[:4])) for e in events if e['kind'] in
                               kind_of.values())
    exported = collections.Counter((rank, kind_of[table], *(row[f] for f in fields[:4]))
                                   for rank, table, row in tables(sys.argv[3], kind_of))
    compare('rows', ours, exported)
    exported = collections.Counter((rank, row['rule'], row['from'], row['to'], row['lag_ns'])
                                   for rank, _, row in tables(sys.argv[3], ['syncs']) if row['rule'] != '-')
    compare('edges', collections.Counter((e['rank'], e['rule'], e['from'], e['to'], e['lag_ns']) for e in edges),
            exported)
    compare('timelines', from_reader(events), from_timelines(sys.argv[4], ('ac2g', 'async_cpu_to_gpu', 'fwdbwd',
                                                                           'async_gpu', 'forward_backward')))


if __name__ == '__main__':
    main()
