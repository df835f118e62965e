#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the real time of a training step on four emulated GPUs, beside its virtual time.

    bench/emugpu/step.py [BUILD]

A step of examples/ddp with 140 small layers: about a thousand launches and 141 collectives on each GPU, with a process
for each. Takes the difference between many and few steps. CPU time depends less on other work of the machine.
"""
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else 'build').resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
GPUS, FEW, MANY = 4, 10, 210


def run(steps):
    """Returns seconds, CPU seconds, launches on each GPU, and the virtual milliseconds of the last
    step."""
    with tempfile.NamedTemporaryFile() as report:
        command = [BUILD / 'tools/gpuemu', '--gpus', GPUS, '--like', 'H100', '--json', '-o', report.name, '--',
                   SOURCE / 'examples/launch.sh', GPUS, BUILD / 'examples/ddp', '--steps', steps, '--hidden', 8,
                   '--layers', 140, '--batch', 16]
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        out = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True).stdout
        took, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        kernels = sum(g['kernels'] for g in json.load(open(report.name))['gpus']) / GPUS
    return took, cpu, kernels, sorted(float(line.split()[2]) for line in out.splitlines())[steps // 2]


def main():
    few, many = run(FEW), run(MANY)
    took, cpu, launches = ((b - a) / (MANY - FEW) for a, b in zip(few[:3], many[:3]))
    virtual = many[3] / 1000
    print(f'a step of {launches:.0f} launches a GPU on {GPUS} GPUs, {os.cpu_count()} cores')
    print(f'  virtual  {virtual * 1e3:8.2f} ms')
    print(f'  real     {took * 1e3:8.2f} ms   {took / virtual:.2f} of virtual time')
    print(f'  CPU      {cpu * 1e3:8.2f} ms   {cpu / 2 / virtual:.2f} of virtual time on two cores that do nothing else')


if __name__ == '__main__':
    main()
