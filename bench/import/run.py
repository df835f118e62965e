#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed and memory of gputrace import, beside other readers of the same files.

    bench/import/run.py [--build DIR] [--large] [--no-hta] [--only-runs] [--runs DIR]

Generates a file of 200 MB and reads it with gputrace import, json.load and HolisticTraceAnalysis
(from PyPI, in a virtual environment in the build folder) in turn. Then imports each published run
in ../shared/traces, all its ranks at once, beside the time for decompressing and parsing alone, and
imports larger files with gputrace only. Rates are JSON bytes in a CPU second, because other
processes would disturb elapsed time.
"""
import argparse
import gzip
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]

JSON_LOAD = '''
import gzip, json, sys
for name in sys.argv[1:]:
    json.load((gzip.open if name.endswith('.gz') else open)(name))
'''
HTA = '''
import logging, sys
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
TraceAnalysis(trace_files=dict(enumerate(sys.argv[1:])), trace_dir="")
'''


def measure(*command):
    """Returns (CPU seconds, seconds, largest resident bytes), or None if the command failed."""
    start = os.times().elapsed
    null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
    # Not fork(): the copy of this Python would count towards the command's memory.
    pid = os.posix_spawnp(command[0], [str(c) for c in command], os.environ, file_actions=null)
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        return None
    return usage.ru_utime + usage.ru_stime, os.times().elapsed - start, usage.ru_maxrss * 1024


def best(times, command):
    """Returns the fastest of several runs of command(), which also removes earlier output."""
    runs = [measure(*command()) for _ in range(times)]
    return None if None in runs else min(runs)


def report(what, size, run, than=None):
    if run is None:
        print(f'{what:28} failed')
        return
    cpu, clock, memory = run
    ratio = f'   {cpu / than[0]:6.1f} times the CPU of gputrace import' if than else ''
    print(f'{what:28} {cpu:7.2f} s CPU {clock:7.2f} s  {size / cpu / 1e6:7.1f} MB/s a core'
          f'  {memory / 1e6:7.0f} MB resident{ratio}', flush=True)


def hta_python(build):
    venv = build / 'bench-hta'
    python = venv / 'bin/python'
    if not (venv / 'ready').exists():
        try:
            subprocess.run([sys.executable, '-m', 'venv', venv], check=True, capture_output=True)
            subprocess.run([python, '-m', 'pip', 'install', '-q', 'HolisticTraceAnalysis', 'setuptools'],
                           check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as e:
            print(f'HolisticTraceAnalysis could not be installed, and is left out: {e}')
            return None
        (venv / 'ready').touch()
    return python


def generate(build, folder, size):
    path = folder / f'{size // 1000000}MB.json'
    with open(path, 'wb') as file:
        subprocess.run([build / 'bench/import/generate', str(size)], stdout=file, check=True)
    return path, path.stat().st_size


def gputrace(build, folder, *paths):
    shutil.rmtree(folder / 'trace', ignore_errors=True)
    return build / 'tools/gputrace', 'import', '-o', folder / 'trace', *paths


def compare(build, folder, python):
    path, size = generate(build, folder, 200_000_000)
    packed = path.with_suffix('.json.gz')
    with open(packed, 'wb') as file:
        subprocess.run(['gzip', '-6c', path], stdout=file, check=True)
    ours = best(3, lambda: gputrace(build, folder, path))
    report('gputrace import', size, ours)
    report('gputrace import, gzip', size, best(3, lambda: gputrace(build, folder, packed)))
    report('python3 -c json.load', size, measure(sys.executable, '-c', JSON_LOAD, path), ours)
    if python:
        report('HolisticTraceAnalysis', size, measure(python, '-c', HTA, path), ours)
    packed.unlink()
    path.unlink()


def limits(build, paths):
    """Seconds of CPU that unpacking the files takes, and unpacking and reading their JSON."""
    runs = [subprocess.run([build / 'bench/import/limit', *paths], check=True, capture_output=True,
                           text=True).stdout.split() for _ in range(5)]
    return [min(float(r[i]) for r in runs) for i in range(2)]


def times(run, than):
    return f'{run[0] / than[0]:7.1f}' if run else ' failed'


def compare_runs(build, folder, python, runs):
    print(f'\n{"published runs":34} {"MB":>6} {"ms CPU":>7} {"MB/s":>5}   {"unpack":>7} {"JSON":>6}'
          f'   {"json.load":>9} {"HTA":>7}\n{"":59}{"ms, alone":>11} {"times our CPU":>19}')
    idle = best(5, lambda: (build / 'tools/gputrace', '--version'))[0]
    for run in sorted(runs.iterdir()) if runs.is_dir() else []:
        paths = sorted(run.glob('rank-*.json.gz'))
        if not paths:
            continue
        size = 0
        for path in paths:
            with gzip.open(path) as file:
                size += len(file.read())
        ours = best(7, lambda: gputrace(build, folder, *paths))
        unpacking, parsing = limits(build, paths)
        loaded = measure(sys.executable, '-c', JSON_LOAD, *paths)
        analysed = measure(python, '-c', HTA, *paths) if python else None
        print(f'{run.name:34} {size / 1e6:6.2f} {ours[0] * 1e3:7.1f} {size / ours[0] / 1e6:5.0f}   '
              f'{unpacking * 1e3:7.1f} {parsing * 1e3:6.1f}     {times(loaded, ours)} '
              f'{times(analysed, ours) if python else "      -"}', flush=True)
    print(f'a process that does nothing (gputrace --version): {idle * 1e3:.1f} ms')


def grow(build, folder, sizes):
    print('\nmemory over size:')
    for size in sizes:
        if shutil.disk_usage(folder).free < size * 1.3:
            print(f'{size / 1e9:.1f} GB: not enough disk space')
            continue
        path, size = generate(build, folder, size)
        report(f'{size / 1e6:,.0f} MB', size, measure(*gputrace(build, folder, path)))
        stored = sum(f.stat().st_size for f in (folder / 'trace').rglob('*') if f.is_file())
        print(f'{"":28} {stored / 1e6:.1f} MB stored')
        path.unlink()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument('--build', type=pathlib.Path, default=TOP / 'build')
    options.add_argument('--folder', type=pathlib.Path, help='for files; a temporary one')
    options.add_argument('--large', action='store_true', help='a file of 10 GB too')
    options.add_argument('--no-hta', action='store_true')
    options.add_argument('--runs', type=pathlib.Path, default=TOP.parent / 'shared/traces',
                         help='folders of rank-N.json.gz')
    options.add_argument('--only-runs', action='store_true')
    options = options.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        folder = pathlib.Path(folder)
        python = None if options.no_hta else hta_python(options.build)
        if not options.only_runs:
            compare(options.build, folder, python)
        compare_runs(options.build, folder, python, options.runs)
        if options.only_runs:
            return
        grow(options.build, folder, [100_000_000, 1_000_000_000] + [10_000_000_000] * options.large)


if __name__ == '__main__':
    main()
