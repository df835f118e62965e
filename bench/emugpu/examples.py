#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints virtual times of the examples beside published times of real GPUs.

    bench/emugpu/examples.py [BUILD]

Matrix products are not computed (GPUEMU_COMPUTE=0): their virtual time does not depend on it.
"""
import os
import pathlib
import subprocess
import sys

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else 'build').resolve()
# Seconds on a machine with V100s, PyTorch, fifty 4000 x 4000 products: "Automatic Parallelism" in
# Dive into Deep Learning (d2l.ai, section 13.3). There each copy allocates its destination, and the
# copies that overlap with computation use page-locked memory.
RECORDED = {
    'products on GPU 0': '0.51',
    'products on GPU 1': '0.50',
    'on both, at once': '0.50',
    'copies to pageable memory after the products': '0.51 + 2.42',
    'copies to memory page-locked for each, while computing': '1.96',
}


def run(gpus, name, *options):
    command = [BUILD / 'tools/gpuemu', '--gpus', str(gpus), '--like', 'V100', '--', BUILD / 'examples' / name, *options]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False,
                          env={**os.environ, 'GPUEMU_COMPUTE': '0'})
    if done.returncode:
        sys.exit(f'{" ".join(map(str, command))}: {done.stderr.strip()}')
    return done.stdout.splitlines()


def step_ms(gpus, name, *options):
    """Returns the median of the steps after the first."""
    times = sorted(float(line.split()[2]) for line in run(gpus, name, '--steps', '6', *options)[1:])
    return times[len(times) // 2]


def main():
    print('fifty products of 4000 x 4000 and their copies, two V100: seconds')
    print(f'  {"":56} {"emulated":>15} {"recorded":>12}')
    for line in run(2, 'overlap'):
        name, seconds = line.rsplit(': ', 1)
        print(f'  {name:56} {seconds:>15} {RECORDED.get(name, ""):>12}')

    print('\nDataParallel (scatter, replicate, gather and reduce every step), V100: ms a step; samples/s over one GPU')
    for label, hidden, batch in (('small, hidden 64', 64, 256), ('large, hidden 4096', 4096, 4096)):
        size = ['--hidden', str(hidden)]
        one = step_ms(1, 'dataparallel', *size, '--batch', str(batch))
        print(f'  {label + ", batch " + str(batch):40} 1 GPU {one:9.3f}')
        for gpus in (2, 4):
            same = step_ms(gpus, 'dataparallel', *size, '--batch', str(batch))
            more = step_ms(gpus, 'dataparallel', *size, '--batch', str(batch * gpus))
            print(f'  {"":36} {gpus:3} GPUs {same:9.3f} ({one / same:.2f} x)'
                  f'   at {gpus} x the batch {more:9.3f} ({gpus * one / more:.2f} x)')

    print('\na pipeline of two stages, hidden 4096, batch 4096, V100: ms a step')
    for gpus in (1, 2):
        times = [step_ms(gpus, 'pipeline', '--hidden', '4096', '--batch', '4096', '--parts', str(p)) for p in (1, 2, 4, 8)]
        print(f'  {gpus} GPU(s), in 1, 2, 4, 8 parts   ' + ''.join(f'{t:10.2f}' for t in times))


if __name__ == '__main__':
    main()
