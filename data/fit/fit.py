#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fit.py [--write] [--only CLASS] [--measured DIR] [--eval PROGRAM] [--rows N]

Fits the coefficients of replay/cost to measured operators (DIR/operators.tsv.gz, default
../shared/measured) and prints how well they predict what was left out: shapes, and whole GPUs.
Predictions come from cost_eval, so there is one implementation of the model. --write stores the
coefficients in data/gpus. A measured time contains the host's part of a call: max(floor, host +
kernel), two numbers for each operator and host, from the measurements. Of convolutions it is
host + slowness x delay + kernel: the delay depends on the shape, and is the same on all hosts.
"""
import argparse
import collections
import gzip
import math
import pathlib
import random
import subprocess
import sys

import models

TOP = pathlib.Path(__file__).resolve().parents[2]
FILES = {'NVIDIA A100-PCIE-40GB': 'A100-PCIE-40GB', 'Tesla P100-PCIE-16GB': 'P100-PCIE-16GB',
         'Tesla V100-PCIE-32GB': 'V100-PCIE-32GB', 'Tesla T4': 'T4'}
CLASSES = {
    'element-wise': ['add', 'addu', 'mul', 'mulu', 'div', 'divu', 'pow', 'powu', 'relu', 'gelu', 'tanh'],
    'softmax': ['softmax'], 'layer norm': ['ln'], 'product': ['bmm', 'linear'], 'convolution': ['conv'],
}
# Coefficients of a class: common ones, and ones that each GPU has of its own. Key, least, most.
COMMON = {
    'element-wise': [('write_penalty', 0, 0.5), ('cache_begin', 0.1, 0.85), ('cache_end', 0.9, 3)],
    'softmax': [('warp_cycles', 1, 5000), ('warp_item_cycles', 20, 3000), ('warp_efficiency', 0.7, 1),
                ('block_cycles', 100, 30000), ('block_item_cycles', 10, 9000), ('block_reread', 0, 2.5),
                ('l1_share', 0.05, 3), ('l2_share', 0.05, 3), ('row_norm', 1, 8)],
    'layer norm': [('layer_norm_cycles', 100, 40000), ('layer_norm_item_cycles', 1, 6000), ('layer_norm_reread', 0, 3), ('layer_norm_norm', 1, 8)],
    'product': [('tile_128x128', 0.5, 1), ('tile_128x64', 0.5, 1), ('tile_64x64', 0.5, 1), ('tile_128x32', 0.4, 1),
                ('tile_32x128', 0.4, 1), ('tile_64x32_sliced', 0.4, 1), ('tile_32x32_sliced', 0.3, 1),
                ('tile_128x32_sliced', 0.4, 1), ('product_wave', 0, 1), ('product_prologue', 0.1, 40),
                ('product_rows', 0.5, 3), ('product_columns', 0.5, 4), ('product_store', 0.5, 4), ('product_norm', 1, 8),
                ('product_l2', 8, 64), ('product_warps', 1, 16), ('product_choice', 2, 60), ('split_blocks', 0.3, 3),
                ('product_lookup', 1, 60)],
    'convolution': [('winograd_transform', 0.3, 6), ('winograd_filter', 0.3, 12), ('winograd_efficiency', 0.3, 1.3),
                    ('convolution_efficiency', 0.3, 1.2)],
}
OWN = {
    'element-wise': [('memory_efficiency', 0.6, 0.98)],
    'product': [('product_slice', 0.1, 1), ('product_lookup', 1, 60), ('sustained_clock', 0.2, 1)],
}
# GPUs that limits of power and old memory systems set apart; others have the common values.
APART = {'product_slice': ['Tesla P100-PCIE-16GB'], 'product_lookup': ['Tesla P100-PCIE-16GB'],
         'sustained_clock': ['Tesla T4']}
# Constants of a GPU without measured operators: its bandwidth and clock in other programs.
PUBLISHED = ('memory_efficiency', 'sustained_clock')

# delay: of a convolution, 0 to 1.
Row = collections.namedtuple('Row', 'gpu operator us text delay', defaults=(0,))


def read_rows(path):
    rows = collections.defaultdict(list)
    with gzip.open(path, 'rt', encoding='utf-8') as lines:
        next(lines)
        for line in lines:
            gpu, operator, shape, us, kernel, grid, block, _ = line.rstrip('\n').split('\t')
            rows[gpu, operator].append(Row(gpu, operator, float(us), '\t'.join((gpu, operator, shape, kernel, grid, block))))
    return rows


def shape_of(row):
    return row.text.split('\t')[2]


def with_delays(rows, kernels, others):
    """Adds to convolutions the delays of their shapes, estimated from measurements of the same shapes on other GPUs.
    rows, kernels: by GPU. The less a kernel takes, the surer its delay is: an error of 8 % of the kernel is assumed, and
    without another measurement, one half."""
    sums = collections.defaultdict(lambda: (6.0, 12.0))
    for gpu in others:
        short = sorted(r.us - k for r, k in zip(rows[gpu], kernels[gpu]) if k < 400)
        least, most = short[len(short) // 30], short[-len(short) // 30]
        for row, us in zip(rows[gpu], kernels[gpu]):
            weight = 1 / ((0.08 * us / (most - least)) ** 2 + 0.03 ** 2)
            a, b = sums[shape_of(row)]
            sums[shape_of(row)] = a + weight * (row.us - us - least) / (most - least), b + weight
    delays = {shape: min(1, max(0, a / b)) for shape, (a, b) in sums.items()}
    return lambda row: row._replace(delay=delays.get(shape_of(row), 0.5))


class Data:
    """Rows to fit to and rows to test with: of each operator and GPU, at most `most` of each."""

    def __init__(self, program, rows, most):
        self.fit, self.test, rng = {}, {}, random.Random(1)
        self.convolutions = {g: rows[g, 'conv'] for g in FILES if rows.get((g, 'conv'))}
        self.kernels = {g: predict(program, r, {}) for g, r in self.convolutions.items()}
        for key, all_rows in sorted(rows.items()):
            picked = rng.sample(all_rows, min(2 * most, len(all_rows)))
            self.fit[key], self.test[key] = picked[::2], picked[1::2]

    def of(self, part, gpus, klass, known=FILES):
        """The rows of some GPUs. `known`: the GPUs whose measurements may be used."""
        rows = getattr(self, part)
        if klass != 'convolution':
            return [r for g in gpus for op in CLASSES[klass] for r in rows.get((g, op), [])]
        found = []
        for g in gpus:
            add = with_delays(self.convolutions, self.kernels, [o for o in self.convolutions if o != g and o in known])
            found += map(add, rows.get((g, 'conv'), []))
        return found


def settings_of(values):
    return [f'{gpu}:{key}={value:.6g}' for (gpu, key), value in sorted(values.items())]


def predict(program, rows, values, options=()):
    """Microseconds of the kernels alone. `values`: {(gpu or '', key): value}."""
    out = subprocess.run([program, *options, *settings_of(values)], input='\n'.join(r.text for r in rows) + '\n', text=True,
                         capture_output=True, check=True).stdout
    return [float(line.split('\t')[0]) / 1e3 for line in out.splitlines()]


def host_parts(rows, kernels):
    """{(gpu, operator): (host, floor, slowness)} in us, with which max(floor, host + slowness x delay + kernel) is
    nearest."""
    by_key, parts = collections.defaultdict(list), {}
    for row, us in zip(rows, kernels):
        by_key[row.gpu, row.operator].append((us, row.us, row.delay))
    for key, pairs in by_key.items():
        pairs.sort()
        few = sorted(m for _, m, _ in pairs[:max(1, len(pairs) // 8)])
        tried = [(h, few[len(few) // 2], 0) for h in range(0, 150 if key[1] == 'linear' else 66, 3)]
        if key[1] == 'conv':
            tried = [(h, 0, s) for h in range(0, 61, 20) for s in range(0, 900, 20)]
        some = pairs[::max(1, len(pairs) // 150)]
        parts[key] = min(tried, key=lambda p: sum(abs(math.log(max(p[1], p[0] + p[2] * d + us) / m)) for us, m, d in some))
    return parts


def ratios(rows, kernels, parts):
    result = []
    for row, us in zip(rows, kernels):
        host, floor, slowness = parts[row.gpu, row.operator]
        result.append(max(floor, host + slowness * row.delay + us) / row.us)
    return result


def loss(program, rows, values, klass):
    total = 0
    for options in ([], ['--shape']) if klass in ('product', 'convolution') else ([],):
        kernels = predict(program, rows, values, options)
        errors = [abs(math.log(r)) for r in ratios(rows, kernels, host_parts(rows, kernels))]
        total += sum(min(e, 1) for e in errors) / len(errors)
    return total


def search(program, rows, values, bounds, klass, rounds):
    """Changes one coefficient after the other by smaller and smaller steps, while that helps."""
    values, step = dict(values), 0.16
    best = loss(program, rows, values, klass)
    for _ in range(rounds):
        for key, (least, most) in bounds.items():
            for factor in (1 + step, 1 / (1 + step)):
                tried = dict(values)
                tried[key] = min(most, max(least, values[key] * factor))
                if tried[key] == values[key]:
                    continue
                found = loss(program, rows, tried, klass)
                if found < best - 1e-6:
                    best, values = found, tried
                    break
        step *= 0.7
    return values


def coefficients(path):
    lines = (line.split('#')[0].split() for line in path.read_text(encoding='utf-8').splitlines())
    return {words[0]: float(words[1]) for words in lines if len(words) == 2 and words[0] not in ('name', 'alias', 'pci_device')}


def fit(program, data, gpus, start, rounds, classes):
    """The values fitted to the measurements of some GPUs."""
    values = {}
    for klass in classes:
        have = [g for g in gpus if data.of('fit', [g], klass)]
        rows = data.of('fit', have, klass, gpus)
        bounds = {('', key): (least, most) for key, least, most in COMMON[klass]}
        for key, least, most in OWN.get(klass, []):
            bounds.update({(g, key): (least, most) for g in have if g in APART.get(key, FILES)})
        values.update({k: {**DEFAULTS, **start[''], **start[k[0]]}[k[1]] for k in bounds})
        values = search(program, rows, values, bounds, klass, rounds)
        print('  fitted', klass, file=sys.stderr, flush=True)
    return values


def errors(program, data, gpu, klass, values):
    """(mean absolute error, bias, of rows twice the floor: error) of the rows not fitted to."""
    fitted = data.of('fit', [gpu], klass)
    parts = host_parts(fitted, predict(program, fitted, values, ['--shape']))
    rows = data.of('test', [gpu], klass)
    found = [r - 1 for r in ratios(rows, predict(program, rows, values, ['--shape']), parts)]
    long = [e for e, row in zip(found, rows) if row.us > 2 * parts[row.gpu, row.operator][1]]
    return (sum(map(abs, found)) / len(found), sum(found) / len(found), sum(map(abs, long)) / max(1, len(long)))


def cell(e):
    return f'{e[0]:6.1%} {e[1]:+6.1%} {e[2]:6.1%}'


def blind(gpu, sheets, fitted):
    """The values of a GPU of which nothing is known but its data sheet. Power limits its clock: with what the rest of
    the board leaves, it sustains as many operations per joule as the best of the measured GPUs of its process. GDDR6 holds its check bits among the data: it
    reaches the part of its peak that streams on an L4 do."""
    watts = {g: s['power_watts'] - {**sheets[''], **s}['memory_joules_per_byte'] * s['memory_bytes_per_s']
             for g, s in sheets.items() if g}
    sheet = sheets[gpu]
    values = {(gpu, key): fitted.get(('', key), DEFAULTS[key]) for key in OWN_KEYS}
    if sheet['compute'] < 7: # the L2 cache reads sectors of 32 bytes, half of an access of the memory
        values[gpu, 'product_slice'] = 0.5
    if 'memory_joules_per_byte' in sheet:
        values[gpu, 'memory_efficiency'] = coefficients(TOP / 'data/gpus/L4.gpu')['memory_efficiency']
    rates = [sheets[g]['fp32'] * fitted.get((g, 'sustained_clock'), 1) / watts[g] for g in FILES
             if g != gpu and sheets[g]['process_nm'] == sheet['process_nm']]
    if rates:
        values[gpu, 'sustained_clock'] = min(1, max(rates) * watts[gpu] / sheet['fp32'])
    return {**values, **fitted}


def print_table(program, data, everything, others, sheets, classes):
    print('Error of the time of a call: mean absolute, bias, mean absolute of calls twice as long as the shortest.')
    print(f'{"class":13}{"GPU":24}{"shapes left out":>22}{"GPU left out":>24}{"but its bandwidth, clock":>28}')
    for klass in classes:
        for gpu in FILES:
            if not data.of('test', [gpu], klass):
                continue
            unknown = blind(gpu, sheets, others[gpu])
            known = {**unknown, **{(gpu, k): everything.get((gpu, k), sheets[gpu].get(k, unknown[gpu, k])) for k in PUBLISHED}}
            print(f'{klass:13}{gpu:24}{cell(errors(program, data, gpu, klass, everything))}  '
                  f'{cell(errors(program, data, gpu, klass, unknown))}      {cell(errors(program, data, gpu, klass, known))}',
                  flush=True)


def write(values):
    for gpu, name in [('', 'common'), *FILES.items()]:
        path = TOP / f'data/gpus/{name}.gpu'
        mine = {k: v for (g, k), v in values.items() if g == gpu}
        lines = [line for line in path.read_text(encoding='utf-8').splitlines() if line.split(' ')[0] not in mine]
        while lines and not lines[-1]:
            lines.pop()
        mark = '# Fitted by data/fit/fit.py to measured durations.'
        lines += [] if not mine else ['', mark] if mark not in lines else []
        path.write_text('\n'.join(lines + [f'{k} {v:.4g}' for k, v in mine.items()]) + '\n', encoding='utf-8')


OWN_KEYS = [key for keys in OWN.values() for key, _, _ in keys]
DEFAULTS = {'memory_efficiency': 0.88, 'product_slice': 1, 'product_lookup': 6, 'sustained_clock': 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--write', action='store_true', help='store the coefficients in data/gpus')
    parser.add_argument('--only', choices=CLASSES, metavar='CLASS', help='fit one class, with the coefficients of the others as they are')
    parser.add_argument('--measured', type=pathlib.Path, default=TOP.parent / 'shared/measured', metavar='DIR')
    parser.add_argument('--eval', default=str(TOP / 'build/data/fit/cost_eval'), metavar='PROGRAM')
    parser.add_argument('--rows', type=int, default=250, metavar='N', help='of each operator and GPU (250)')
    parser.add_argument('--rounds', type=int, default=6, metavar='N', help='of the search (6)')
    args = parser.parse_args()
    path = args.measured / 'operators.tsv.gz'
    if not path.exists():
        print(f'skipped: no {path}')
        return 77
    data = Data(args.eval, read_rows(path), args.rows)
    start = {gpu: coefficients(TOP / f'data/gpus/{name}.gpu') for gpu, name in [('', 'common'), *FILES.items()]}
    classes = [args.only] if args.only else list(CLASSES)
    everything = fit(args.eval, data, list(FILES), start, args.rounds, classes)
    if args.write:
        write(everything)
    others = {gpu: fit(args.eval, data, [g for g in FILES if g != gpu], start, args.rounds, classes) for gpu in FILES}
    print_table(args.eval, data, everything, others, start, classes)
    print('Whole models in inference, by the values without measurements of their GPU:')
    models.print_errors(models.compare(args.eval, args.measured, lambda gpu: settings_of(blind(gpu, start, others[gpu]))))
    return 0


if __name__ == '__main__':
    sys.exit(main())
