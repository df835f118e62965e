#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""counts.py TABLES COUNTS: compares the calls of a trace, as tables, with those that CUPTI counted.
CUPTI starts during the first cuInit(), so earlier calls are left out."""
import collections
import csv
import pathlib
import sys

csv.field_size_limit(1 << 30)


# Called by the capture library itself, or by CUPTI.
OWN = {'cuDeviceGetAttribute', 'cuDeviceGetCount', 'cuDeviceGetName', 'cuDeviceGetUuid_v2', 'cuDeviceTotalMem_v2',
       'cuDriverGetVersion', 'cuFuncGetParamInfo', 'cuKernelGetParamInfo', 'cuThreadExchangeStreamCaptureMode'}
# Called when CUPTI has ended, or never counted by it.
UNCOUNTED = {'cuDevicePrimaryCtxRelease', 'cuDevicePrimaryCtxRelease_v2', 'cuGetExportTable', 'cuLibraryUnload'}


def recorded(tables):
    rows = []
    for path in tables.glob('**/calls'):
        if 'gpus' not in path.parts:
            rows += [(int(row['start_ns']), int(row['duration_ns']), row['name'].rstrip('?'))
                     for row in csv.DictReader(open(path, encoding='utf-8', errors='replace'), delimiter='\t',
                                               quoting=csv.QUOTE_NONE)
                     if row['category'] == 'cuda_driver']
    began = min(start + duration for start, duration, name in rows if name == 'cuInit')
    return collections.Counter(name for start, _, name in rows if start >= began)


def main():
    calls, seen = recorded(pathlib.Path(sys.argv[1])), collections.Counter()
    for line in open(sys.argv[2], encoding='utf-8'):
        name, n = line.split()
        seen[name] += int(n)
    differ = {n: (calls[n], seen[n]) for n in sorted(calls | seen) if calls[n] != seen[n]}
    wrong = {n: d for n, d in differ.items()
             if not (n in OWN and d[0] < d[1]) and not (n in UNCOUNTED and d[0] > d[1])}
    print(sum(seen.values()), 'calls of', len(seen), 'functions;', len(differ) - len(wrong),
          'differ by calls of the library and of CUPTI, others (recorded, seen):', wrong or 'none')
    return 1 if wrong or sum(seen.values()) < 1000 else 0


if __name__ == '__main__':
    sys.exit(main())
