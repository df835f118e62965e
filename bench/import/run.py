#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast gputrace import is, and how much memory it takes, beside what else reads these files.

    bench/import/run.py [--build DIR] [--large] [--no-hta]

A file of 200 MB is generated and read by gputrace import, by json.load of this Python, and by
HolisticTraceAnalysis (from PyPI, in a virtual environment in the build folder), in turn; then
larger files by gputrace import alone. CPU seconds count, since what runs beside it would count in
seconds by the clock; rates are of JSON bytes a second of one core.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]

JSON_LOAD = 'import json, sys; json.load(open(sys.argv[1]))'
HTA = '''
import logging, sys
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="")
'''


def measure(*command):
    """(seconds of CPU, seconds, largest resident bytes), or None when it failed."""
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        try:
            os.execvp(command[0], [str(c) for c in command])
        finally:
            os._exit(127)
    start = os.times().elapsed
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        return None
    return usage.ru_utime + usage.ru_stime, os.times().elapsed - start, usage.ru_maxrss * 1024


def best(times, *command):
    runs = [measure(*command) for _ in range(times)]
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


def gputrace(build, folder, path):
    return build / 'tools/gputrace', 'import', '--force', '-o', folder / 'trace', path


def compare(build, folder, with_hta):
    path, size = generate(build, folder, 200_000_000)
    packed = path.with_suffix('.json.gz')
    with open(packed, 'wb') as file:
        subprocess.run(['gzip', '-6c', path], stdout=file, check=True)
    ours = best(3, *gputrace(build, folder, path))
    report('gputrace import', size, ours)
    report('gputrace import, gzip', size, best(3, *gputrace(build, folder, packed)))
    report('python3 -c json.load', size, best(1, sys.executable, '-c', JSON_LOAD, path), ours)
    python = hta_python(build) if with_hta else None
    if python:
        report('HolisticTraceAnalysis', size, best(1, python, '-c', HTA, path), ours)
    packed.unlink()
    path.unlink()


def grow(build, folder, sizes):
    print('\nmemory over size:')
    for size in sizes:
        if shutil.disk_usage(folder).free < size * 1.3:
            print(f'{size / 1e9:.1f} GB: there is no room for it')
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
    options = options.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        folder = pathlib.Path(folder)
        compare(options.build, folder, not options.no_hta)
        grow(options.build, folder, [100_000_000, 1_000_000_000] + [10_000_000_000] * options.large)


if __name__ == '__main__':
    main()
