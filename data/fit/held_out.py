#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""held_out.py [COST_EVAL] [--all]: the errors of products and convolutions on the GPUs of data/fit/held-out.

The tables are those of tests/gpu/operators.py. fit.py does not use them. --all prints each operator.
"""
import collections
import math
import pathlib
import re
import sys

import fit

MATHS = {'f32': 0, 'tf32': 2, 'f16': 3, 'bf16': 3}
PRODUCT = re.compile(r'(\w+) (?:(\d+) of )?(\d+)x(\d+)x(\d+)$')
CONVOLUTION = re.compile(r'(\w+) (\w+) (channels_last )?(\d+)x(\d+)x(\d+) to (\d+) by (\d+) stride (\d+)$')
# Largest mean errors of an H200.
BOUNDS = {'product f32': 0.12, 'product f16': 0.12, 'product bf16': 0.12, 'product tf32': 0.2, 'convolution f32': 0.17,
          'convolution tf32': 0.13, 'convolution bf16': 0.15}


def row_of(gpu, name):
    """(type, row of cost_eval)."""
    found = PRODUCT.match(name)
    if found:
        kind, b, m, n, k = found.groups()
        return kind, f'{gpu}\tmatmul\tb={b or 1} m={m} n={n} k={k} math={MATHS[kind]}\t\t\t'
    way, kind, last, b, c, size, k, r, stride = CONVOLUTION.match(name).groups()
    direction = ('forward', 'data', 'filter').index(way)
    return kind, (f'{gpu}\tconvolution\tb={b} input_channel={c} output_channel={k} input_size={size} kernel={r} stride={stride} '
                  f'padding={int(r) // 2} direction={direction} last={int(bool(last))} math={MATHS[kind]}\t\t\t')


def compare(program, path):
    """[(class and type, name, emulated / measured)]."""
    gap = fit.coefficients(fit.TOP / 'data/gpus/common.gpu')['gap_ns'] / 1e3
    found = []
    for line in path.read_text(encoding='utf-8').splitlines():
        klass, *rest = line.split('\t')
        if klass in ('product', 'convolution'):
            kind, text = row_of(path.stem, rest[0])
            found.append((f'{klass} {kind}', rest[0], float(rest[1]), fit.Row(path.stem, klass, 0, text)))
    kernels = fit.predict(program, [row for *_, row in found], {}, ['--busy'])
    return [(kind, name, (us + gap) / measured) for (kind, name, measured, _), us in zip(found, kernels)]


def main():
    programs = [a for a in sys.argv[1:] if a != '--all']
    failed = False
    for path in sorted((fit.TOP / 'data/fit/held-out').glob('*.tsv')):
        kinds = collections.defaultdict(list)
        for kind, name, ratio in compare(programs[0] if programs else str(fit.TOP / 'build/data/fit/cost_eval'), path):
            kinds[kind].append(ratio)
            if '--all' in sys.argv:
                print(f'{path.stem}\t{name}\t{ratio:.2f}')
        for kind, ratios in kinds.items():
            error = sum(abs(r - 1) for r in ratios) / len(ratios)
            failed |= path.stem == 'H200' and error > BOUNDS[kind]
            print(f'{path.stem:8}{kind:18}{len(ratios):4}{error:8.1%}  emulated / measured '
                  f'{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
