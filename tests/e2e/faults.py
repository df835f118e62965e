#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Injects faults at random places of recorded examples, and checks that `gputrace diff` and `gpureplay` name the place.

    tests/e2e/faults.py BUILD [--count 100] [--seed 1] [--kinds payload,kernel,copy,swap,parameter,wait]

Writes to the current folder.
"""
import argparse
import bisect
import collections
import csv
import json
import os
import pathlib
import random
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PAGE = 65536
WRONG = {'payload': 'written', 'kernel': 'written', 'copy': 'written', 'swap': 'sequence', 'parameter': 'parameters',
         'wait': 'waits'}
# Which example, on how many GPUs, with which faults. Buffers of several pages, and of less than one.
RUNS = (
    ('ddp', 2, ('payload', 'kernel', 'copy', 'swap', 'parameter', 'wait')),
    ('ddp', 4, ('copy', 'kernel', 'parameter', 'wait')),
    ('dataparallel', 3, ('payload', 'kernel', 'copy', 'swap', 'parameter')),
    ('pipeline', 2, ('payload', 'kernel', 'copy', 'swap', 'parameter', 'wait')),
)
ARGUMENTS = ('--steps', '3', '--batch', '384', '--hidden', '320')


class Place:
    """Where a fault belongs: an operation of the clean recording, and how far in an allocation."""

    def __init__(self, gpu, row, offset=None):
        self.gpu, self.number, self.iteration, self.name = gpu, int(row['number']), row['iteration'], row['name']
        self.offset = offset

    def check(self, kind, report, same_numbers=True):
        """Whether a report names the place."""
        d = report.get('difference')
        where = d
        if kind == 'copy' and d and d['kind'] == 'read': # digests of copies may be of their source
            assert 'writer' in d, d
            where = d['writer']
        else:
            assert d and d['kind'] == WRONG[kind], d
        assert (where['gpu'], where['iteration']) == (self.gpu, self.iteration), d
        assert where['number'] == self.number or not same_numbers, d
        if self.offset is not None:
            first = d['buffer']['offset_bytes'] + d['buffer']['page'] * PAGE
            assert first <= self.offset < first + PAGE, (self.offset, d)

    def __repr__(self):
        return f'GPU {self.gpu}, iteration {self.iteration}, number {self.number} ({self.name}), byte {self.offset}'


class Run:
    def __init__(self, build, example, gpus):
        self.build, self.gpus, self.name = build, gpus, f'{example}{gpus}'
        self.library = str(build / 'tests/e2e/libfault.so')
        self.command = [str(build / 'examples' / example), *ARGUMENTS]
        if example == 'ddp':
            self.command = ['sh', str(SOURCE / 'examples/launch.sh'), str(gpus), *self.command]
        self.record(self.name)
        self.export(self.name)
        self.ops = [self.read(gpu) for gpu in range(gpus)]

    def run(self, *command, want=0, **environment):
        done = subprocess.run([str(word) for word in command], env={**os.environ, **environment}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == want, (command, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def record(self, out, before=(), **environment):
        self.run('rm', '-rf', out)
        self.run(self.build / 'tools/gpucapture', '--digest=launch', '--payloads=0-1000', '--embed-images', '-o', out, '--',
                 self.build / 'tools/gpuemu', '--gpus', self.gpus, '-o', 'report', '--', *before, *self.command,
                 **environment)

    def export(self, trace):
        self.run('rm', '-rf', trace + '.tables')
        self.run(self.build / 'tools/gputrace', 'export', '--format=tsv', '-o', trace + '.tables', trace)

    def tables(self, pattern, trace=None):
        """The rows of all tables with such a path: those of iterations in their order, with their iteration."""
        top = pathlib.Path((trace or self.name) + '.tables')
        for path in sorted(top.glob(pattern)):
            folder = path.relative_to(top).parts
            iteration = {'before': -1, 'after': -2}.get(folder[0]) or folder[0] == 'iterations' and int(folder[1])
            with open(path) as file:
                for row in csv.DictReader(file, delimiter='\t', quoting=csv.QUOTE_NONE):
                    yield {**row, 'table': path.name, 'iteration': iteration}

    def of_gpu(self, gpu, table, trace=None):
        for pattern in f'before/gpu{gpu}/{table}', f'iterations/*/gpu{gpu}/{table}', f'after/gpu{gpu}/{table}':
            yield from self.tables(pattern, trace)

    def read(self, gpu):
        """The operations of a GPU, in the order in which they were launched."""
        rows = [row for table in ('kernels', 'memcpy', 'memset', 'collectives') for row in self.of_gpu(gpu, table)]
        return sorted(rows, key=lambda row: (int(row['correlation']), int(row['start_ns'])))

    def candidates(self, kind, gpu):
        ops = self.ops[gpu]
        own = [row for row in ops if 'symbol=' in row.get('args', '') and row['table'] == 'kernels']
        if kind in ('kernel', 'parameter'):
            return own
        if kind == 'swap':
            return [row for row, after in zip(ops, ops[1:]) if 'gemm' in row['name'] and 'bias_relu' in after['name']]
        if kind == 'payload':
            return [row for row in ops if 'HtoD' in row['name']]
        if kind == 'copy':
            return [row for row in ops if self.receives(row)]
        return self.waits(gpu)

    def receives(self, row):
        """As tests/e2e/fault.c counts."""
        if row['table'] == 'memcpy':
            return 'HtoD' in row['name'] or 'PtoP' in row['name']
        return row['table'] == 'collectives' and (
            row['collective'] in ('all_reduce', 'broadcast') or
            row['collective'] == 'send_recv' and 'Src Ranks=[]' not in row['args'] and 'Src Ranks' in row['args'])

    def waits(self, gpu):
        """For each wait of a stream, the operation that follows it there, or None."""
        ops = collections.defaultdict(list)
        for row in self.ops[gpu]:
            ops[row['stream']].append(row)
        waits = [row for row in self.of_gpu(gpu, 'syncs') if row['name'] == 'Stream Wait Event']
        for wait in sorted(waits, key=lambda row: int(row['correlation'])):
            stream = dict(pair.split('=') for pair in wait['args'].split(';'))['stream']
            at = bisect.bisect([int(row['correlation']) for row in ops[stream]], int(wait['correlation']))
            yield ops[stream][at] if at < len(ops[stream]) else None

    def choose(self, kind, dice):
        """A random GPU, the index of an operation as tests/e2e/fault.c counts, and its row."""
        while True:
            gpu = dice.randrange(self.gpus)
            rows = list(self.candidates(kind, gpu))
            number = dice.randrange(len(rows) or 1)
            if rows and rows[number]:
                return gpu, number, rows[number]

    def offset(self, address, trace):
        """How far in its allocation an address of that recording is."""
        for row in self.tables('gpus/*/allocations', trace):
            if 0 <= address - int(row['address']) < int(row['bytes']):
                return address - int(row['address'])
        raise AssertionError(f'{address:#x} is in no allocation')

    def log(self, gpu):
        where, address = pathlib.Path('log').read_text().split()
        pathlib.Path('log').unlink()
        assert int(where) == gpu
        return int(address)

    def diff(self, out):
        return json.loads(self.run(self.build / 'tools/gputrace', 'diff', '--operations', '--json', self.name, out, want=1))

    def replay(self, trace):
        return json.loads(self.run(self.build / 'tools/gpuemu', '--gpus', self.gpus, '-o', 'report', '--kernels',
                                   self.build / 'examples/kernels.so', '--', self.build / 'tools/gpureplay', '--json',
                                   trace, want=1))

    def payload(self, gpu, row, byte):
        """A flipped bit in what a copy from the host brought: gpureplay names the copy."""
        numbers = {row['number']} | {call['number'] for call in self.of_gpu(gpu, 'calls')
                                     if call['correlation'] == row['correlation']}
        held, = (content for content in self.tables('contents/index') if content['gpu'] == str(gpu) and
                 content['number'] in numbers and content['access'] == 'written')
        byte %= int(held['length_bytes'])
        self.run('rm', '-rf', 'faulty')
        self.run(SOURCE / 'tests/e2e/flip.py', self.name, 'faulty', gpu, held['number'], byte)
        place = Place(gpu, row, int(held['offset_bytes']) + byte)
        place.check('payload', self.replay('faulty'))
        return place

    def recorded(self, kind, gpu, row, fault):
        """Another recording of the program, in which it, a kernel or a copy goes wrong."""
        pathlib.Path('log').unlink(missing_ok=True)
        load = 'GPUEMU_PLUGINS=$0' if kind == 'kernel' else 'LD_PRELOAD=$0:$LD_PRELOAD'
        self.record('faulty', ('sh', '-c', f'{load} exec "$@"', self.library), FAULT=fault, FAULT_LOG='log')
        address = self.log(gpu)
        is_silent = kind in ('kernel', 'copy')
        if is_silent:
            self.export('faulty')
        place = Place(gpu, row, self.offset(address, 'faulty') if is_silent else None)
        place.check(kind, self.diff('faulty'))
        if is_silent and 'HtoD' not in row['name']: # a payload may be what arrived
            place.check(kind, self.replay('faulty'), same_numbers=False)
        return place

    def inject(self, kind, dice):
        gpu, number, row = self.choose(kind, dice)
        byte = dice.randrange(1 << 30)
        if kind == 'payload':
            return self.payload(gpu, row, byte)
        return self.recorded(kind, gpu, row, f'{kind} {gpu} {number} {byte}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build', type=pathlib.Path)
    parser.add_argument('--count', type=int, default=100, help='of each kind')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--kinds', default=','.join(WRONG))
    args = parser.parse_args()
    dice = random.Random(args.seed)
    runs = {}
    failed = 0
    for kind in args.kinds.split(','):
        found = 0
        for i in range(args.count):
            example, gpus, _ = [run for run in RUNS if kind in run[2]][i % sum(kind in run[2] for run in RUNS)]
            if (example, gpus) not in runs:
                runs[example, gpus] = Run(args.build.resolve(), example, gpus)
            try:
                place = runs[example, gpus].inject(kind, dice)
                found += 1
                print(f'{kind}: {example} on {gpus} GPUs: {place}', file=sys.stderr)
            except AssertionError as problem:
                print(f'{kind}: {example} on {gpus} GPUs: NOT FOUND: {problem}', file=sys.stderr)
        print(f'{kind}: {found} of {args.count} found')
        failed += found < args.count
    return failed > 0


sys.exit(main())
