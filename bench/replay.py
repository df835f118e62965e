#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures re-execution beside the original program, and the size of keyframes.

    bench/replay.py [BUILD] [--steps 10]

Runs the examples on two emulated GPUs, and with GPUEMU_TORCH_PYTHON also tests/e2e/torch_gpt.py. Each program is run as it
is, recorded with digests, contents and a keyframe of each iteration, and executed again with --speed=max. Ratios are to the
program as it is; CPU time depends less on other work of the machine.
"""
import argparse
import csv
import json
import os
import pathlib
import resource
import subprocess
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[1]
RECORD = ('--digest=launch', '--payloads=0-1000000', '--keyframe=1', '--embed-images')


def run(*command):
    """Returns real seconds and CPU seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, (command, done.returncode, done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows(folder, pattern):
    for path in pathlib.Path(folder).glob(pattern):
        with open(path) as file:
            yield from csv.DictReader(file, delimiter='\t', quoting=csv.QUOTE_NONE)


def device_ns(folder):
    """Time of kernels, copies and memsets on all GPUs. Collectives wait for other ranks, so they are left out."""
    return sum(int(row['duration_ns']) for kind in ('kernels', 'memcpy', 'memset') for place in ('before', 'iterations/*', 'after')
               for row in rows(folder, f'{place}/gpu*/{kind}'))


def keyframes(folder):
    """Of each iteration, the bytes of live memory, and those of pages that no earlier one has."""
    seen, found = set(), {}
    for row in sorted(rows(folder, 'contents/index'), key=lambda row: int(row['number'])):
        if row['access'] == 'live' and row['iteration'].isdigit():
            of = found.setdefault(int(row['iteration']), [0, 0])
            of[0] += int(row['length_bytes'])
            of[1] += 0 if row['content'] in seen else int(row['length_bytes'])
            seen.add(row['content'])
    return [found[i] for i in sorted(found)]


def measure(build, name, command, kernels):
    tool = build / 'tools'
    emulated = [tool / 'gpuemu', '--gpus', 2, '-o', 'report', *(['--kernels', kernels] if kernels else []), '--']
    alone = run(*emulated, *command)
    recorded = run(tool / 'gpucapture', *RECORD, '-o', 'recorded', '--', *emulated, *command)
    again = run(*emulated, tool / 'gpureplay', '--speed=max', '-o', 'again', 'recorded')
    for trace in 'recorded', 'again':
        run(tool / 'gputrace', 'export', '--format=tsv', '-o', trace + '.tables', trace)
    print(f'{name}: program {alone[0]:.2f} s, {alone[1]:.2f} s of CPU time')
    for what, took in ('recorded', recorded), ('executed again', again):
        print(f'  {what:15} {took[0] / alone[0]:6.2f} of the time, {took[1] / alone[1]:6.2f} of the CPU time')
    print(f'  device time     {device_ns("again.tables") / device_ns("recorded.tables"):6.3f} of the recorded one')
    later = keyframes('recorded.tables')[1:]
    live, new = (sum(pair[i] for pair in later) / len(later) / 1e6 for i in (0, 1))
    print(f'  keyframes       {new:6.2f} MB new of {live:.2f} MB live in an iteration after the first, {new / live:.2f}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build', type=pathlib.Path, nargs='?', default='build')
    parser.add_argument('--steps', type=int, default=10)
    parser.add_argument('--only', help='name of a program')
    args = parser.parse_args()
    build = args.build.resolve()
    options = ('--steps', args.steps, '--hidden', 512, '--marks', 1)
    programs = [(name, [*launcher, build / 'examples' / name, *options], build / 'examples/kernels.so') for name, launcher in
                (('ddp', ('sh', SOURCE / 'examples/launch.sh', 2)), ('dataparallel', ()), ('pipeline', ()))]
    python = os.environ.get('GPUEMU_TORCH_PYTHON')
    if python:
        os.environ.update(CUBLAS_WORKSPACE_CONFIG=':4096:8', PYTORCH_ALLOC_CONF='expandable_segments:True')
        programs.append(('torch_gpt', [python, '-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', 2,
                                       SOURCE / 'tests/e2e/torch_gpt.py'], None))
    for name, command, kernels in programs:
        if args.only not in (None, name):
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            measure(build, name, command, kernels)
            os.chdir(SOURCE)


if __name__ == '__main__':
    main()
