#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares profiler files with the export of their import: every event with all arguments.

    same_events.py FILE EXPORTED [FILE EXPORTED]...

Times are compared in nanoseconds. Ignores flow events, which the importer leaves out, and arguments that begin with
"gputrace ", which the exporter adds.
"""
import collections
import decimal
import gzip
import json
import sys

OWN = ('ph', 'ts', 'dur', 'name', 'cat', 'pid', 'tid', 'args')


def load(path):
    with (gzip.open if path.endswith('.gz') else open)(path, 'rb') as file:
        document = json.loads(file.read(), parse_float=decimal.Decimal)
    return document if isinstance(document, dict) else {'traceEvents': document}


def events(document):
    base = int(document.get('baseTimeNanoseconds', 0))
    for e in document['traceEvents']:
        if e['ph'] in 'stfM':
            continue
        args = [item for item in e.get('args', {}).items() if not item[0].startswith('gputrace ')]
        yield (e['ph'], int(decimal.Decimal(e['ts']) * 1000) + base, int(decimal.Decimal(e.get('dur', 0)) * 1000),
               e.get('name', ''), e.get('cat', ''), repr(e['pid']), repr(e['tid']), repr(args),
               repr({k: v for k, v in e.items() if k not in OWN}))


def names(document):
    return [repr([e['name'], e['pid'], e['tid'], e['args']]) for e in document['traceEvents']
            if e['ph'] == 'M' and e['name'] != 'gputrace']


def facts(document):
    return [repr(item) for item in document.items() if item[0] not in ('traceEvents', 'gputrace')]


def complain(what, left, right):
    for mark, rest in (('-', left - right), ('+', right - left)):
        for item in list(rest)[:3]:
            print(f'{what}: {mark} {str(item)[:500]}')
    return left != right


def main():
    bad = False
    for recorded, exported in zip(sys.argv[1::2], sys.argv[2::2]):
        a, b = load(recorded), load(exported)
        bad |= complain(recorded, collections.Counter(events(a)), collections.Counter(events(b)))
        bad |= complain(recorded, collections.Counter(names(a)), collections.Counter(names(b)))
        bad |= complain(recorded, collections.Counter(facts(a)), collections.Counter(facts(b)))
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
