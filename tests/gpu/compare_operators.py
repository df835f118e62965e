#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_operators.py MEASURED EMULATED [--all]: the error of emulated times for each class of operators.sh's tables.

Prints for each class the mean of |emulated / measured - 1|, its median, and how emulated times lie (geometric mean of
emulated / measured); --all prints each operator first.
"""
import collections
import math
import statistics
import sys


def table(path):
    rows = (line.rstrip('\n').split('\t') for line in open(path, encoding='utf-8'))
    return {(row[0], row[1]): float(row[2]) for row in rows if len(row) == 3}


def main():
    measured, emulated = table(sys.argv[1]), table(sys.argv[2])
    ratios = collections.defaultdict(list)
    for key, us in measured.items():
        if key in emulated:
            ratios[key[0]].append(emulated[key] / us)
            if '--all' in sys.argv:
                print(f'{key[0]}\t{key[1]}\t{us:.1f}\t{emulated[key]:.1f}\t{emulated[key] / us:.2f}')
    print('class\toperators\tmean_error\tmedian_error\tratio')
    for name, each in ratios.items():
        errors = [abs(r - 1) for r in each]
        print(f'{name}\t{len(each)}\t{100 * statistics.mean(errors):.1f} %\t{100 * statistics.median(errors):.1f} %\t'
              f'{math.exp(statistics.mean(map(math.log, each))):.2f}')


if __name__ == '__main__':
    main()
