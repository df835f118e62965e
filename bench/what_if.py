#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicted against true steps of synthetic runs: one table, plan x change.

    bench/what_if.py                             every plan and setting, seed 1
    bench/what_if.py --plan fsdp --setting us,ns --seed 7 --edges
    bench/what_if.py --extremes                  recorded under one extreme, asked for the other
    bench/what_if.py --extremes --only 'network=*'
    bench/what_if.py --at-most 0.5,2 --wrong-edges 1

make_run.py makes each run once as it is recorded and once as it would have been with the change. A
cell is the error of steps in percent: the mean over iterations and ranks, and the worst of them.
ranks.dp is predicted only with --only 'ranks*', and compared by the mean step of all ranks. `not`
marks a change that gpureplay refuses and counts as infinitely wrong. --edges compares the inferred
edges with the true ones: right and false ones (not implied by the true dependencies), and true ones
that are missing (not implied by the inferred edges). `gputrace` and `gpureplay` are found in PATH.
"""
import argparse
import csv
import fnmatch
import glob
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

import make_run

CHANGES = {
    'gpu=2x': ['--gpu', '2'],
    'gpu=0.5x': ['--gpu', '0.5'],
    'kernel~*1_kernel*:gpu=2x': ['--kernel', '*1_kernel*:2'],
    'rank1:gpu=0.5x': ['--slow', '1:2'],
    'network=2x': ['--net', '2'],
    'network=0.25x': ['--net', '0.25'],
    'network.latency=0.25x': ['--latency', '0.25'],
    'network.bandwidth=0.5x': ['--bandwidth', '0.5'],
    'copy=0.25x': ['--copy', '0.25'],
    'host=2x': ['--host', '2'],
    'launch=2x,host=0.5x': ['--launch', '2', '--host', '0.5'],
    'gpu=4x,network=4x': ['--gpu', '4', '--net', '4'],
    'straggler=none': ['--straggler', 'none'],
    'ranks.dp=8': ['--ranks', '8', '--ring'],
    'overlap=off': ['--overlap', 'off'],
    'overlap=off,gpu=2x': ['--overlap', 'off', '--gpu', '2'],
    'overlap=full': ['--overlap', 'full'],
    'overlap=full,network=2x': ['--overlap', 'full', '--net', '2'],
}
# Recorded under one extreme, asked for the other: what is recorded, and what would have been.
EXTREMES = {
    'gpu=16x': (['--gpu', '0.25'], ['--gpu', '4']),
    'gpu=0.0625x': (['--gpu', '4'], ['--gpu', '0.25']),
    'network=16x': (['--net', '0.25'], ['--net', '4']),
    'network=0.0625x': (['--net', '4'], ['--net', '0.25']),
    'host=16x': (['--host', '0.25'], ['--host', '4']),
    'host=0.0625x': (['--host', '4'], ['--host', '0.25']),
}
SETTINGS = {
    'ns': ['--dialect', 'ns', '--skew', '20'],
    'us': ['--dialect', 'us', '--skew', '20'],
    'ns-apart': ['--dialect', 'ns', '--skew', '3000'],
    'ns-far': ['--dialect', 'ns', '--skew', '700000'],
    'us-apart': ['--dialect', 'us', '--skew', '3000'],
    'us-far': ['--dialect', 'us', '--skew', '700000'],
    'us-drifting': ['--dialect', 'us', '--skew', '3000', '--drift', '490'],
    'us-groups': ['--dialect', 'us', '--groups', '--skew', '300'],
    'ns-nameless': ['--dialect', 'ns', '--no-groups', '--skew', '100'],
    'recorded': ['--dialect', 'ns', '--syncs', '--skew', '3000'],
    'host-bound': ['--dialect', 'ns', '--gpu', '4', '--skew', '300'],
    'gpu-bound': ['--dialect', 'ns', '--host', '4', '--launch', '4', '--skew', '300'],
    'own-waits': ['--dialect', 'ns', '--own-waits', '--skew', '300'],
    'no-records': ['--dialect', 'us', '--own-waits', '--no-records', '--skew', '3000'],
    'polls': ['--dialect', 'us', '--polls', '--skew', '300'],
    'ahead': ['--dialect', 'ns', '--ahead', '--skew', '300'],
}
# Plans whose ranks all hold the same model, in communicators that ranks.dp recognises.
DATA_PARALLEL = ['ddp', 'buckets', 'fsdp', 'stalls', 'small']
MEAN = 'mean'  # of all ranks and iterations: of other ranks than recorded
PLANS = [p for p in make_run.PLANS if p != 'parallel']


class Scene:
    """A run, recorded and imported."""

    def __init__(self, folder, arguments):
        self.arguments = arguments
        self.options = make_run.arguments(arguments + ['-o', os.path.join(folder, 'run')])
        self.run = make_run.simulate(self.options)
        self.trace = os.path.join(folder, 'run.gputrace')
        subprocess.run(['gputrace', 'import', '-o', self.trace] + make_run.write(self.run, self.options),
                       check=True, stdout=subprocess.DEVNULL)

    def predict(self, specs, force=False):
        """The steps of each spec, in ns by number and rank; None where gpureplay refuses."""
        command = ['gpureplay', '--emulate', '--json'] + ['--force'] * force
        out = subprocess.run(command + [a for s in specs for a in ('--what-if', s)] + [self.trace],
                             capture_output=True, text=True, check=False)
        if out.returncode and len(specs) > 1:
            return {k: v for s in specs for k, v in self.predict([s], force).items()}
        if out.returncode:
            return {specs[0]: None}
        reports = json.loads(out.stdout)
        return {w['what_if']: {MEAN: w['mean_step_ns']['predicted']} if w['what_if'].startswith('ranks.') else
                {(i['iteration'], g['gpu']): g['predicted']['step_ns'] for i in w['iterations'] for g in i['gpus']}
                for w in (reports if isinstance(reports, list) else [reports])}

    def truth(self, spec):
        steps = make_run.steps(make_run.simulate(make_run.arguments(self.arguments + CHANGES[spec])))
        return {MEAN: statistics.mean(steps.values())} if spec.startswith('ranks.') else steps


def errors(predicted, true):
    """Mean and worst in percent."""
    assert predicted.keys() == true.keys(), (predicted.keys(), true.keys())
    of = [abs(100 * (predicted[k] / true[k] - 1)) for k in true]
    return sum(of) / len(of), max(of)


# ---- edges -----------------------------------------------------------------------------------
def rows(pattern):
    for name in sorted(glob.glob(pattern)):
        with open(name, encoding='utf-8') as f:
            yield from csv.DictReader(f, delimiter='\t', quoting=csv.QUOTE_NONE)


def inferred_edges(folder, rank):
    """The edges of a rank as (rule, from, to), by correlation, and the calls of its iterations; a
    call is (correlation,)."""
    where = os.path.join(folder, 'iterations', '*', f'gpu{rank}')
    name = {}
    for table in 'kernels', 'memcpy', 'memset', 'collectives', 'calls':
        for event in rows(os.path.join(where, table)):
            number = int(event['correlation'])
            name[event['number']] = (number,) if table == 'calls' else number
    return ([(s['rule'], name.get(s['from']), name.get(s['to'])) for s in rows(os.path.join(where, 'syncs'))
             if s['rule'] != '-'], {n[0] for n in name.values() if isinstance(n, tuple)})


def closure(direct, before):
    """All that each operation waits for, by correlation; `before`: the previous one of its stream."""
    ret = {}
    for op in sorted(direct):
        ret[op] = set()
        for other in direct[op] | before.get(op, set()):
            ret[op] |= {other} | ret.get(other, set())
    return ret


def compare_edges(scene, folder):
    """[right, false, missing] by kind: edges between operations, and to calls."""
    subprocess.run(['gputrace', 'export', '-f', 'tsv', '-o', folder, scene.trace], check=True,
                   stdout=subprocess.DEVNULL)
    counts = {'operations': [0, 0, 0], 'calls': [0, 0, 0]}
    bad = {}
    for rank, true in enumerate(make_run.edges(scene.run)):
        before, last = {}, {}
        for op in scene.run.ranks[rank].ops:
            if op.kind != 'barrier':
                number = op.args['correlation']
                before[number] = {last[op.stream]} if op.stream in last else set()
                last[op.stream] = number
        names = {op.args['correlation']: op.name for op in scene.run.ranks[rank].ops if op.name}
        wanted = closure({k: set(v) for k, v in true['ops'].items()}, before)
        found = {k: set() for k in wanted}
        calls = {}
        inferred, known = inferred_edges(folder, rank)
        for rule, a, b in inferred:
            if b in found and a in wanted and a != b:
                found[b].add(a)
                right = a in wanted[b]
                counts['operations'][not right] += 1
            elif isinstance(b, tuple) and a in wanted and rule in ('sync-event', 'sync-stream', 'sync-device',
                                                                   'sync-recorded'):
                calls.setdefault(b[0], set()).add(a)
                right = any(a == o or a in wanted[o] for o in true['calls'].get(b[0], []))
                counts['calls'][not right] += 1
            else:
                continue
            if not right:
                key = rule, names[a], names.get(b, b if isinstance(b, int) else 'call')
                bad[key] = bad.get(key, 0) + 1
        all_found = closure(found, before)
        for b, ops in true['ops'].items():
            for a in ops:
                if a not in all_found[b]:
                    counts['operations'][2] += 1
                    key = 'missing', names[a], names[b]
                    bad[key] = bad.get(key, 0) + 1
        for call in known & true['calls'].keys():
            ops = true['calls'][call]
            got = calls.get(call, set())
            counts['calls'][2] += sum(not any(a == g or a in wanted[g] for g in got) for a in ops)
    return counts, bad


# ---- table -----------------------------------------------------------------------------------
def cell(predicted, true, found):
    if predicted is None:
        found.append((math.inf, math.inf))
        return 'not'
    found.append(errors(predicted, true))
    return '%.2f/%.2f' % found[-1]


def arguments_of(plan, setting, options):
    return ['--plan', plan, '--ranks', str(options.ranks), '--steps', str(options.steps), '--seed',
            str(options.seed)] + SETTINGS[setting]


def row(plan, setting, options, found):
    """The cells of a plan and setting."""
    if options.extremes:
        ret = []
        for spec, (recorded, changed) in EXTREMES.items():
            if not fnmatch.fnmatchcase(spec, options.only):
                ret.append('-')
                continue
            with tempfile.TemporaryDirectory() as folder:
                arguments = arguments_of(plan, setting, options)
                scene = Scene(folder, arguments + recorded)
                true = make_run.steps(make_run.simulate(make_run.arguments(arguments + changed)))
                ret.append(cell(scene.predict([spec], options.force)[spec], true, found))
        return ret, None
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(folder, arguments_of(plan, setting, options))
        named = any('1_kernel' in op.name for op in scene.run.ranks[0].ops if op.name)
        only = {'network.': ['buckets'], 'overlap=off': ['ddp', 'grid'],
                'ranks.': DATA_PARALLEL * (options.only != '*'), 'kernel~': [plan] * named}
        specs = [s for s in CHANGES if fnmatch.fnmatchcase(s, options.only) and all(plan in only[k] for k in only if s.startswith(k))]
        predicted = scene.predict(specs, options.force)
        cells = [cell(predicted[s], scene.truth(s), found) if s in predicted else '-' for s in CHANGES]
        return cells, (compare_edges(scene, os.path.join(folder, 'tables'))
                       if options.edges or options.wrong_edges is not None else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--plan', default=','.join(PLANS), help='comma-separated')
    parser.add_argument('--setting', default=','.join(SETTINGS), help='comma-separated')
    for name, value in [('seed', 1), ('ranks', 4), ('steps', 2)]:
        parser.add_argument('--' + name, type=int, default=value, help=f'({value})')
    parser.add_argument('--extremes', action='store_true')
    parser.add_argument('--only', default='*', metavar='GLOB', help='changes that are predicted')
    parser.add_argument('--edges', action='store_true')
    parser.add_argument('--force', action='store_true', help='predicts what gpureplay would refuse')
    parser.add_argument('--at-most', metavar='MEAN,WORST', help='exit status 1 if a cell is above')
    parser.add_argument('--wrong-edges', type=float, metavar='PERCENT',
                        help='exit status 1 if a larger share of edges is false or missing')
    options = parser.parse_args()
    limits = [float(v) for v in options.at_most.split(',')] if options.at_most else [1e9, 1e9]
    columns = EXTREMES if options.extremes else CHANGES
    print('\t'.join(['plan', 'setting', *columns]))
    everything, right, wrong = [], 0, 0
    for plan in options.plan.split(','):
        for setting in options.setting.split(','):
            found = []
            cells, edges = row(plan, setting, options, found)
            everything += found
            print('\t'.join([plan, setting] + cells), flush=True)
            if edges:
                right += sum(e[0] for e in edges[0].values())
                wrong += sum(e[1] + e[2] for e in edges[0].values())
                print('\tedges (right, false, missing):', ', '.join(f'{k} {v}' for k, v in edges[0].items()))
                for key, n in sorted(edges[1].items(), key=lambda i: -i[1])[:12]:
                    print('\t\t', n, *key)
    bad = [e for e in everything if e[0] > limits[0] or e[1] > limits[1]]
    everything = [e for e in everything if math.isfinite(e[0])]
    if everything:
        print('mean %.3f, worst %.2f of %d cells' % (sum(e[0] for e in everything) / len(everything),
                                                   max(e[1] for e in everything), len(everything)))
    if options.at_most:
        print(f'{len(bad)} cells above the bounds')
    if right:
        print(f'{right} right edges, {wrong} wrong ones')
    sys.exit(bool(bad) or (options.wrong_edges is not None and wrong * 100 > options.wrong_edges * right))


if __name__ == '__main__':
    main()
