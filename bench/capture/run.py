#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py [BUILD]: overhead of recording, beside other recorders of the same program.

First, nanoseconds a call of a driver that does nothing: the median over the rounds minus that of the unrecorded program.
Measured for single calls, within the resolution of the counter, and for the mean of BATCH calls. A launch is also
measured unrecorded with an event after it: device times need this event, so only the rest is the recorder's cost.
Second, the steps of two examples on emulated GPUs, in virtual time without host time, which is equal on every machine:
the cost of the recorder's driver calls and kernels. Then the memory for a run that is ten times as long. Last, how fast
a raw recording is imported.
"""
import contextlib
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else 'build').resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
CALLS, ROUNDS, BATCH = 100000, 5, 200


def output(command, **env):
    done = subprocess.run([str(c) for c in command], env={**os.environ, **env}, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    return done.stdout


@contextlib.contextmanager
def lttng(folder):
    """An LTTng session that records the benchmark's events. Yields False if LTTng is missing."""
    if not (BUILD / 'bench/capture/bench_capture_lttng').exists() or not shutil.which('lttng-sessiond'):
        yield False
        return
    env = {'LTTNG_HOME': str(folder), 'HOME': str(folder)}
    daemon = subprocess.Popen(['lttng-sessiond', '--no-kernel'], env={**os.environ, **env},
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(50):
            if subprocess.run(['lttng', 'list'], env={**os.environ, **env}, capture_output=True, check=False).returncode == 0:
                break
        output(['lttng', 'create', 'bench', '--output', folder / 'lttng'], **env)
        output(['lttng', 'enable-channel', '--userspace', '--subbuf-size=1M', '--num-subbuf=8', 'c'], **env)
        output(['lttng', 'enable-event', '--userspace', '--channel=c', 'gpureplay_bench:*'], **env)
        output(['lttng', 'start'], **env)
        yield env
        output(['lttng', 'destroy', 'bench'], **env)
    finally:
        daemon.terminate()
        daemon.wait()


@contextlib.contextmanager
def uprobes(kind):
    """Uprobes at the start and end of the call that record its registers. Yields False if uprobes
    are unavailable."""
    tracing = next((p for p in map(pathlib.Path, ('/sys/kernel/tracing', '/sys/kernel/debug/tracing'))
                    if os.access(p / 'uprobe_events', os.W_OK)), None)
    if not tracing or platform.machine() != 'x86_64':
        yield False
        return
    library = BUILD / 'bench/capture/libcuda.so.1'
    call = {'empty': 'cuCtxGetFlags', 'launch': 'cuLaunchKernel'}[kind]
    at = next(line.split()[0] for line in output(['nm', '-D', library]).splitlines() if line.split()[-1] == call)
    probes = os.open(tracing / 'uprobe_events', os.O_WRONLY | os.O_APPEND)
    on = tracing / 'events/gpureplay_bench/enable'
    os.write(probes, f'p:gpureplay_bench/enter {library}:0x{at} %di %si %dx %cx %r8 %r9\n'.encode())
    os.write(probes, f'r:gpureplay_bench/leave {library}:0x{at} $retval\n'.encode())
    try:
        on.write_text('1')
        yield True
    finally:
        on.write_text('0')
        os.write(probes, b'-:gpureplay_bench/enter\n-:gpureplay_bench/leave\n')
        os.close(probes)


def size(path):
    return sum(f.stat().st_size for f in path.rglob('*') if f.is_file())


def calls(folder):
    driver = {'LD_LIBRARY_PATH': str(BUILD / 'bench/capture')}
    bare = BUILD / 'bench/capture/bench_capture'
    recorded = [BUILD / 'tools/gpucapture', '-o', folder / 'trace']
    print(f'{"call":8}{"threads":>8}  {"recorder":12}{"median ns":>10}{"p99.9 ns":>12}{"added ns":>10}{"of a mean":>11}  bytes a call')
    with lttng(folder) as session:
        for kind in 'empty', 'launch':
            for threads in 1, 8:
                n = CALLS // threads
                plain = contextlib.nullcontext(True)
                ways = {'none': (kind, [bare], [], driver, plain)}
                if kind == 'launch':
                    ways['an event'] = ('event', [bare], [], driver, plain)
                ways['no times'] = (kind, [*recorded, '--device-times=off', '--', bare], [], driver, plain)
                if kind == 'launch':
                    ways['and times'] = (kind, [*recorded, '--', bare], [], driver, plain)
                if session:
                    ways['LTTng-UST'] = (kind, [BUILD / 'bench/capture/bench_capture_lttng'], ['lttng'], {**driver, **session}, plain)
                ways['uprobes'] = (kind, [bare], [], driver, None)
                figures = {name: {1: [], BATCH: []} for name in ways}
                stored = {}
                for _ in range(ROUNDS):
                    for batch in 1, BATCH:
                        for name, (what, before, after, env, context) in ways.items():
                            with context or uprobes(kind) as ready:
                                if not ready:
                                    continue
                                some = n if context else max(n // 20, BATCH)  # a probe takes a hundred times as long
                                line = output([*before, what, threads, some, batch, *after], **env)
                            figures[name][batch].append([float(x) for x in line.split()])
                            if (folder / 'trace').exists() and batch == 1:
                                stored[name] = size(folder / 'trace') / (3 * n) / threads
                            shutil.rmtree(folder / 'trace', ignore_errors=True)
                base = None
                for name, of in figures.items():
                    if not of[1]:
                        continue
                    median, late = (statistics.median(x[i] for x in of[1]) for i in (0, 1))
                    mean = statistics.median(x[0] for x in of[BATCH])
                    base = base or (median, mean)
                    tail = f'{stored[name]:.1f}' if name in stored else ''
                    print(f'{kind:8}{threads:8}  {name:12}{median:10.1f}{late:12.1f}{median - base[0]:10.1f}{mean - base[1]:11.1f}  {tail}')
    if not (BUILD / 'bench/capture/bench_capture_lttng').exists():
        print('LTTng-UST: left out: no liblttng-ust-dev when this was built')
    if shutil.which('ltrace'):
        ltrace(bare, driver)


def ltrace(program, env):
    """ltrace stops the program at each call and has no percentiles: divides the total time by the
    number of calls."""
    n, begun = 5000, time.monotonic()
    subprocess.run(['ltrace', '-c', '-e', 'cuCtxGetFlags', '-o', '/dev/null', program, 'empty', '1', str(n)],
                   check=False, capture_output=True, env={**os.environ, **env}, timeout=120)
    each = (time.monotonic() - begun) / (n + 1000) * 1e9
    print(f'{"empty":8}{1:8}  {"ltrace -c":12}{each:10.1f}')


def step_ms(gpus, command, options, folder):
    launcher = ['sh', SOURCE / 'examples/launch.sh', gpus] if command[0] == 'ddp' else []
    run = [BUILD / 'tools/gpuemu', '--gpus', gpus, '--host-speed', '1000', '-o', folder / 'report', '--', *launcher,
           BUILD / 'examples' / command[0], *command[1:]]
    if options is not None:
        run = [BUILD / 'tools/gpucapture', *options, '-o', folder / 'trace', '--', *run]
    lines = output(run, GPUEMU_COMPUTE='0').splitlines()
    times = [float(line.split()[2]) for line in lines if re.match(r'\d+ [\d.]+ [\d.]+$', line)]
    return statistics.median(times[2:])


def steps(folder):
    if not (BUILD / 'examples/ddp').exists():
        print('steps: left out: no nvcc when this was built')
        return
    print(f'\n{"step of":56}{"GPUs":>5}  {"recorded":24}{"ms":>9}{"longer":>9}')
    middling = ['--steps', '5', '--batch', '512', '--hidden', '1024', '--layers', '8']
    large = ['--steps', '5', '--batch', '2048', '--hidden', '2048', '--layers', '4']
    for command, counts in ((['ddp', '--steps', '8'], (1, 2)), (['ddp', *middling], (1, 2)), (['ddp', *large], (1, 2)),
                            (['dataparallel', '--steps', '8'], (4,)), (['dataparallel', *middling], (4,)),
                            (['dataparallel', *large], (4,))):
        for gpus in counts:
            base = None
            for name, options in (('not at all', None), ('calls', ['--device-times=off']), ('calls and times', []),
                                  ('comm, no times', ['--digest=comm', '--device-times=off']),
                                  ('comm and times', ['--digest=comm']), ('launch and times', ['--digest=launch'])):
                ms = step_ms(gpus, command, options, pathlib.Path(tempfile.mkdtemp(dir=folder)))
                base = base or ms
                print(f'{" ".join(command):56}{gpus:5}  {name:24}{ms:9.4f}{100 * (ms / base - 1):8.2f}%')


def peak_mib(command):
    """Returns the peak memory of a single process of the command, in a new Python without other
    children."""
    ask = 'import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); ' \
          'print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)'
    return int(output([sys.executable, '-c', ask, *command])) / 1024


def memory(folder):
    program = BUILD / 'tests/capture/capture_ends'
    if not program.exists():
        print('memory: left out: no CUDA headers when this was built')
        return
    print(f'\n{"largest process, of five runs each":48}{"events":>9}{"MiB":>15}{"of 1/10":>9}')
    for how in '', '--digest=launch', '--digest=comm --payloads=0-1', '--iterations=3-4':
        base = None
        for n_events in 600000, 6000000:
            peaks = []
            for _ in range(5):
                at = pathlib.Path(tempfile.mkdtemp(dir=folder))
                peaks.append(peak_mib([BUILD / 'tools/gpucapture', *how.split(), '-o', at / 'trace', '--',
                                       BUILD / 'tools/gpuemu', '-o', at / 'report', '--', program, str(n_events // 4)]))
                shutil.rmtree(at)
            median = statistics.median(peaks)
            base = base or median
            print(f'{how:48}{n_events:9}{min(peaks):7.0f} to {max(peaks):.0f}{median / base:8.1f}')


def conversion(folder):
    """Imports made-up raw recordings (recording.c): EVENTS=100000000 for the large one."""
    print(f'\n{"import of a raw recording":40}{"events":>10}{"M events/s":>12}{"CPU ns":>8}{"MB":>6}{"raw B/event":>13}')
    for processes, gpus in (1, 1), (1, 4), (4, 1):
        raw, trace = folder / 'run.raw', folder / 'run'
        output([BUILD / 'bench/capture/bench_recording', raw, processes, gpus, os.environ.get('EVENTS', '10000000')])
        events, speed, cpu, peak = map(float, output([BUILD / 'bench/capture/bench_import_recording', raw, trace]).split())
        name = f'{processes} {"process" if processes == 1 else "processes"} of {gpus} {"GPU" if gpus == 1 else "GPUs"}'
        print(f'{name:40}{events:10.0f}{speed:12.2f}{cpu:8.0f}{peak:6.0f}{raw.stat().st_size / events:13.1f}')
        raw.unlink()
        shutil.rmtree(trace)


def main():
    with tempfile.TemporaryDirectory() as folder:
        calls(pathlib.Path(folder))
        steps(pathlib.Path(folder))
        memory(pathlib.Path(folder))
        conversion(pathlib.Path(folder))


if __name__ == '__main__':
    main()
