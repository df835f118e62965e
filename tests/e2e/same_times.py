#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the times of all events of two traces; the exit status is 1 if any differ.

    same_times.py TRACE OTHER

An annotation within an operation is placed proportionally, with rounding: it may differ by a nanosecond. Tracks with
nothing but annotations constrain nothing and are ignored.
"""
import collections
import decimal
import json
import subprocess
import sys

TIMED = {'cuda_runtime', 'cuda_driver', 'Runtime', 'hip_runtime', 'kernel', 'Kernel', 'gpu_memcpy', 'gpu_memset',
         'Memcpy', 'Memset', 'cuda_sync'}


def tracks(trace):
    """Yields, by track, (is a call or an operation, name, start, duration) of each event."""
    text = subprocess.run(['gputrace', 'export', trace], stdout=subprocess.PIPE, check=True).stdout
    found = collections.defaultdict(list)
    document = json.loads(text, parse_float=decimal.Decimal)
    base = int(document.get('baseTimeNanoseconds', 0))
    for e in document['traceEvents']:
        if e['ph'] not in 'Msf':
            found[e['pid'], e['tid']].append((e.get('cat') in TIMED, e['name'], int(1000 * e['ts']) + base,
                                              int(1000 * e.get('dur', 0))))
    return {track: sorted(events) for track, events in found.items() if any(event[0] for event in events)}


def same(a, b):
    within = 0 if a[0] else 1
    return a[:2] == b[:2] and abs(a[2] - b[2]) <= within and abs(a[3] - b[3]) <= within


def main(trace, other):
    one, two = tracks(trace), tracks(other)
    assert one and one.keys() == two.keys()
    differing = []
    for track, events in one.items():
        assert len(events) == len(two[track]), track
        differing += [(track, a, b) for a, b in zip(events, two[track]) if not same(a, b)]
    for difference in differing[:5]:
        print(*difference)
    print(f'{len(differing)} of {sum(map(len, one.values()))} times differ')
    return bool(differing)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
