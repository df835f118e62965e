#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""polling.py [BUILD [MAX_BYTES [ITERATIONS [RUNS]]]]: overhead of recording a program that polls.

The program has the loop of nccl-tests' all_reduce_perf -t 4 -g 1 (polling.c): four threads, each of which launches
all-reduces on an emulated GPU and then polls its stream until they are done. Runs it with and without recording in turns.
Prints the medians of the loop's real time and of the whole command's, the ratio of the medians, and the ratio of the
slowest run of either kind to the median without recording.
"""
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def run(command):
    """Returns the seconds of the loop, the number of queries, and the seconds of the command."""
    begun = time.monotonic()
    out = subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout.split()
    return float(out[0]), int(out[1]), time.monotonic() - begun


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else 'build').resolve()
    max_bytes, iterations, runs = (int(sys.argv[i]) if len(sys.argv) > i else d for i, d in ((2, 1 << 24), (3, 20), (4, 10)))
    program = [build / 'tools/gpuemu', '--gpus', 4, '--', build / 'bench/capture/bench_polling', 4, max_bytes, iterations]
    bare, recorded = [], []
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / 'trace'
        for _ in range(runs):
            bare.append(run(program))
            recorded.append(run([build / 'tools/gpucapture', '-o', trace, '--', *program]))
            shutil.rmtree(trace)
    print(f'{"":10}{"bare s":>9}{"recorded s":>12}{"ratio":>8}{"worst":>8}{"worst bare":>12}')
    for name, of in (('loop', 0), ('command', 2)):
        base, median = (statistics.median(r[of] for r in runs) for runs in (bare, recorded))
        print(f'{name:10}{base:9.3f}{median:12.3f}{median / base:8.2f}{max(r[of] for r in recorded) / base:8.2f}'
              f'{max(r[of] for r in bare) / base:12.2f}')
    print(f'queries of a run: {statistics.median(r[1] for r in bare):.0f} bare, {statistics.median(r[1] for r in recorded):.0f} recorded')


if __name__ == '__main__':
    main()
