#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""all.py [--emulated] [--build BUILD] [--seconds N] [--steps A,B,...] OUT: runs every check that needs a real GPU once.

Builds in BUILD (default build-gpu in the current folder), runs as many steps as the time allows, and prints a table
of results at the end, also to OUT/table. A failed step is a row, too. Finds missing libraries in build-deps
(made by tests/gpu/pack.sh on another machine). --emulated: runs the steps on an emulated GPU, except those that need
PyTorch, CUPTI or compute-sanitizer, to test this program.
"""
import argparse
import collections
import contextlib
import csv
import datetime
import json
import math
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
HERE = SOURCE / 'tests/gpu'
csv.field_size_limit(1 << 30)


class Failed(Exception):
    pass


class Run:
    def __init__(self, options):
        self.out = pathlib.Path(options.out).resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.build = pathlib.Path(options.build or SOURCE / 'build-gpu').resolve()
        self.emulated = options.emulated
        self.ends = math.inf if self.emulated else time.monotonic() + options.seconds
        self.limit = options.limit
        self.rows = []
        self.env = {**os.environ, 'CUBLAS_WORKSPACE_CONFIG': ':4096:8', 'TMPDIR': str(self.out)}
        self.env['PATH'] = f'{self.build}/tools:{self.env["PATH"]}:{pathlib.Path(sys.executable).parent}'

    def row(self, what, figure, command=''):
        self.rows.append((what, figure, command))
        print(f'{what}: {figure}', flush=True)

    def left(self):
        return self.ends - time.monotonic()

    def run(self, *command, limit=150, env=(), check=True):
        """Runs a command and returns (stdout, stderr). It must end with 0, and on a real GPU within
        the time limit."""
        command = [str(c) for c in command]
        seconds = None if self.emulated else max(1, min(limit, self.limit, self.left()))
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors='replace',
                                   env={**self.env, **dict(env)}, start_new_session=True)
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGABRT)  # leaves a core file where they are kept
            time.sleep(2)
            os.killpg(process.pid, signal.SIGKILL)
            raise Failed(f'{command[0]} ... {command[-1]}: took longer than {seconds:.0f} s') from None
        if check and process.returncode != 0:
            tail = ' | '.join((err or out).strip().splitlines()[-4:])
            raise Failed(f'{command[0]} ... {command[-1]}: ended with {process.returncode}: {tail}')
        return out, err

    def gpu(self, *command):
        """Returns the command, wrapped by gpuemu if GPUs are emulated."""
        emulated = 'gpuemu', '-o', self.out / 'report', '--kernels', self.build / 'examples/kernels.so', '--'
        return (*(emulated if self.emulated else ()), *command)

    def capture(self, name, options, command, **how):
        """Records the command as OUT/name. Returns (stdout, stderr)."""
        return self.run('gpucapture', '-f', '-o', self.out / name, *options, '--', *command, **how)

    def info(self, name):
        return json.loads(self.run('gputrace', 'info', '--json', self.out / name)[0])

    @contextlib.contextmanager
    def tables(self, name):
        """Exports the files that a mount of the trace shows."""
        tables = self.out / (name + '.tables')
        shutil.rmtree(tables, ignore_errors=True)
        self.run('gputrace', 'export', '--format=tsv', '-o', tables, self.out / name)
        yield tables
        shutil.rmtree(tables, ignore_errors=True)

    def calls(self, name):
        """Returns the rows of all calls in a trace."""
        with self.tables(name) as tables:
            for path in sorted(tables.glob('**/calls')):
                if 'gpus' not in path.parts:
                    yield from csv.DictReader(open(path, encoding='utf-8', errors='replace'), delimiter='\t',
                                              quoting=csv.QUOTE_NONE)


# ---- what is recorded

def python():
    return os.environ.get('GPU_PYTHON', sys.executable)


def alone(r, steps=10):
    if r.emulated:
        return r.gpu('sh', SOURCE / 'examples/launch.sh', 1, r.build / 'examples/ddp', '--steps', steps)
    return python(), HERE / 'train.py', steps


def rank(r, steps=10):
    if r.emulated:
        return alone(r, steps)
    return (python(), '-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', 1, HERE / 'train.py', steps)


def product(r):
    return python(), '-c', 'import torch; a = torch.arange(1 << 20, device="cuda").float().view(1024, 1024).cos(); ' \
        'print((a @ a).double().sum().item().hex())'


# ---- steps

def machine(r):
    """Writes the machine's properties, which apply to all rows."""
    r.row('date', datetime.date.today().isoformat())
    if not r.emulated:
        r.row('GPU', r.run('nvidia-smi', '--query-gpu=name,driver_version,memory.total', '--format=csv,noheader')[0].strip())
        r.row('PyTorch', r.run(python(), '-c', 'import torch; print(torch.__version__, torch.cuda.nccl.version())')[0].strip())
        r.row('memory file system', r.run('df', '-h', '--output=size,avail', '/dev/shm')[0].splitlines()[-1].strip())


def deps(r):
    """Adds the libraries and tools that pack.sh copied to the environment."""
    folder = SOURCE / 'build-deps/usr'
    if not folder.is_dir():
        return {}
    env = {'CPATH': f'{folder}/include', 'LIBRARY_PATH': f'{folder}/lib/x86_64-linux-gnu',
           'LDFLAGS': f'-Wl,-rpath,{folder}/lib/x86_64-linux-gnu',
           'PKG_CONFIG_PATH': f'{folder}/lib/x86_64-linux-gnu/pkgconfig:{folder}/share/pkgconfig'}
    if not shutil.which('pkg-config') and not shutil.which('pkgconf'):
        env['PKG_CONFIG'] = str(folder / 'bin/pkg-config-here')
    return env


def build(r):
    begun = time.monotonic()
    if r.emulated:
        return
    env = deps(r)
    meson = ['meson'] if shutil.which('meson', path=r.env['PATH']) else [python(), '-m', 'mesonbuild.mesonmain']
    if not (r.build / 'build.ninja').exists():
        r.run(*meson, 'setup', r.build, SOURCE, '--buildtype=release', '-Dfuse=disabled', env=env)
    r.run('ninja', '-C', r.build, limit=400, env=env)
    r.row('built', f'{time.monotonic() - begun:.0f} s')


def same(r, name, command, limit=150):
    """Point 1: a recorded program computes and prints the same as without recording."""
    bare, bare_err = r.run(*command, limit=limit)
    begun = time.monotonic()
    recorded, err = r.capture(name, (), command, limit=limit)
    took = time.monotonic() - begun
    figure = 'same output' if bare == recorded else f'OUTPUT DIFFERS: {bare.split()[-1:]} {recorded.split()[-1:]}'
    if r.emulated:  # the program prints its own virtual times
        figure = 'same number of lines' if len(bare.splitlines()) == len(recorded.splitlines()) else figure
    figure += ', no message' if err == bare_err else f', SAYS: {err.strip()[-300:]}'
    info = r.info(name)
    kept = {k: v for k, v in info['records'].items() if v}
    r.row(f'1 {name}', f'{figure}; {took:.1f} s recorded', ' '.join(map(str, command))[-60:])
    r.row(f'1 {name} holds', f'{kept}; damage {len(info["damage"])}; {of_capture(info)}')
    r.run('gputrace', 'verify', r.out / name)


def of_capture(info):
    """Returns the recorder's own statistics."""
    return {k.removeprefix('capture.'): v for k, v in info['facts'].items() if k.startswith('capture.')}


def unmodified(r):
    if not r.emulated:
        same(r, 'product', product(r))
    same(r, 'alone', alone(r))
    same(r, 'rank', rank(r))


def arguments(row):
    return dict(a.split('=', 1) for a in row['args'].split(';') if '=' in a)


def unseen(r):
    """Points 2 and 3: calls that were not recorded, and calls that load code."""
    raw, tables, kernels, images = (collections.Counter() for _ in range(4))
    for row in r.calls('alone' if (r.out / 'alone').exists() else 'rank'):
        a = arguments(row)
        if row['category'] == 'cuda_driver' and 'word0=' in row['args']:
            raw[row['name']] += 1
        if row['name'] == 'cuGetExportTable':
            tables[a.get('pExportTableId.in', 'id not recorded')] += 1
        if row['name'].startswith('cuLaunchKernel'):
            kernels['not seen made' if a.get('f.id', a.get('f.kernel_id', '0')) == '0' else 'seen made'] += 1
        if 'image.bytes' in a:
            images[row['name'], pathlib.Path(a.get('image.file', 'memory')).name] += 1
    r.row('2 calls without a description', dict(raw) or 'none')
    r.row('2 export tables asked for', dict(tables) or 'none')
    r.row('2 kernels of launches', dict(kernels))
    by = collections.Counter()
    for (call, file), n in images.items():
        by[f'{call} of {file}'] += n
    r.row('3 code images', ', '.join(f'{n} x {k}' for k, n in by.most_common(12)) or 'none')


def complete(r):
    """Point 2: recorded driver calls equal those that CUPTI counts."""
    oracle = r.build / 'tests/gpu/libcupti_counts.so'
    if r.emulated or not oracle.exists():
        r.row('2 completeness', 'NOT DONE: no CUPTI')
        return
    counts = r.out / 'cupti'
    counts.unlink(missing_ok=True)
    r.capture('counted', ('--device-times=off',), alone(r),
              env={'CUDA_INJECTION64_PATH': str(oracle), 'CUPTI_COUNTS': str(counts)})
    if not counts.exists():
        raise Failed('the driver did not load CUPTI ($CUDA_INJECTION64_PATH), or it does not subscribe')
    with r.tables('counted') as tables:
        r.row('2 completeness', r.run(python(), HERE / 'counts.py', tables, counts, check=False)[0].strip())


def overhead(r):
    """Point 4: overhead for launching an empty kernel, then for a training step."""
    n = 5000 if r.emulated else 200000
    program = r.gpu(r.build / 'tests/gpu/launches', n)
    levels = (('not at all', None), ('calls', ('--device-times=off',)), ('calls and times', ()),
              ('--digest=comm', ('--digest=comm',)), ('--digest=launch', ('--digest=launch',)))
    for name, options in levels:
        ns = [float((r.run(*program) if options is None else r.capture('launches', options, program))[0].split()[-1])
              for _ in range(3)]
        r.row(f'4 empty launch, {name}', f'{statistics.median(ns):.0f} ns ({min(ns):.0f} to {max(ns):.0f})')
    if r.emulated:
        return
    steps = python(), HERE / 'steps.py', 60
    profiled = python(), HERE / 'steps.py', '--profile', 60
    for name, options in levels[:4] + (('--digest=step', ('--digest=step',)), levels[4]):
        with failing(r, f'4 training step, {name}'):
            out = r.run(*steps)[0] if options is None else r.capture('steps', options, steps)[0]
            r.row(f'4 training step, {name}', f'{float(out.split()[-1]):.3f} ms')
    r.row('4 training step, torch.profiler', f'{float(r.run(*profiled)[0].split()[-1]):.3f} ms')
    r.row('4 training step, torch.profiler and recorded',
          f'{float(r.capture("profiled", (), profiled)[0].split()[-1]):.3f} ms')


def digest(r):
    """Points 5 and 10: correctness and speed of gd128, and compute-sanitizer."""
    program = r.build / 'tests/gpu/gd128'
    r.row('5 gd128 on GPU and CPU', r.run(*r.gpu(program, 'check'))[0].strip())
    sizes = (1, 4) if r.emulated else (16, 64, 256, 1024, 4096, 8192)
    for size in sizes:
        with failing(r, f'5 gd128 of {size} MiB'):
            n, ns, copy = map(float, r.run(*r.gpu(program, 'rate', size), limit=60)[0].split())
            r.row(f'5 gd128 of {size} MiB', f'{n / ns:.0f} GB/s; a copy reads and writes {2 * n / copy:.0f} GB/s: '
                  f'{copy / ns / 2:.2f} of it')
    if not r.emulated:
        for tool in 'memcheck', 'racecheck', 'initcheck':
            with failing(r, f'10 {tool}'):
                out, err = r.run('compute-sanitizer', '--tool', tool, '--error-exitcode', 9, program, 'check', limit=90)
                r.row(f'10 {tool}', re.sub('=+ *', '', (out + err).strip().splitlines()[-1]))


def addresses(r):
    """Point 6: which wanted addresses the driver follows."""
    out = r.run(*r.gpu(r.build / 'tests/gpu/addresses'))[0]
    (r.out / 'addresses').write_text(out, encoding='utf-8')
    tried = [line for line in out.splitlines() if ': want ' in line]
    same = [line.split(':')[0] for line in tried if line.endswith('the same')]
    r.row('6 wanted addresses', f'{len(same)} of {len(tried)} followed: {", ".join(same) or "none"}')
    fixed = {re.search('^allocated.*', r.run('setarch', '-R', *r.gpu(r.build / 'tests/gpu/addresses'))[0], re.M)[0] for _ in range(3)}
    r.row('6 addresses in a fixed layout', f'{"the same" if len(fixed) == 1 else "others"} in three processes')


def repeats(r):
    """A deterministic run has the same digests each time."""
    taken = []
    for name in 'digests1', 'digests2':
        r.capture(name, ('--digest=comm',), alone(r))
        with r.tables(name) as tables:
            taken.append([line.split('\t', 1)[1] for path in sorted(tables.glob('iterations/*/gpu0/digests'))
                          for line in open(path, encoding='utf-8')])
    apart = sum(a != b for a, b in zip(*taken)) + abs(len(taken[0]) - len(taken[1]))
    r.row('5 digests of two runs', f'{len(taken[0])}, {apart} differ; {of_capture(r.info("digests1"))}')


def device_times(r, name):
    """Returns the error of the device times as the recorder states it."""
    with r.tables(name) as tables:
        text = (tables / 'gpus/gpu0/device.json').read_text(encoding='utf-8')
    return ' '.join(re.findall(r'"(?:residual_ns|drift_ppb|untimed)": *-?[0-9]+', text)) or 'not said'


def emulation(r):
    """Point 8: recorded steps against emulated ones."""
    for name, command in ('alone', alone(r, 30)), ('rank', rank(r, 30)):
        r.capture('emulated', (), command)
        report = json.loads(r.run('gpureplay', '--emulate', '--json', r.out / 'emulated')[0])
        r.row(f'8 emulated, {name}', f'{len(report["iterations"])} steps, {100 * report["mean_abs_error"]:.2f} % off on '
              f'average, {100 * report["max_abs_error"]:.2f} % at most; device {100 * report["device_mean_abs_error"]:.2f} %')
        r.row(f'8 device times, {name}', device_times(r, 'emulated'))


def wheels():
    """Returns the folders of NVIDIA's libraries that came with PyTorch: $LD_LIBRARY_PATH for programs in C."""
    found = subprocess.run([python(), '-c', 'import nvidia; print(*nvidia.__path__, sep="\\n")'], capture_output=True,
                           text=True, check=False).stdout
    folders = [str(lib) for top in found.split() for lib in sorted(pathlib.Path(top).glob('*/lib'))]
    return {'LD_LIBRARY_PATH': ':'.join(folders + [os.environ.get('LD_LIBRARY_PATH', '')]).strip(':')}


def replay(r):
    """Points 6 and 7: recorded runs are executed again, and digest after digest compared."""
    ddp = ('sh', SOURCE / 'examples/launch.sh', 1, r.build / 'examples/ddp', '--steps', 5)
    programs = {'launches': (r.build / 'tests/gpu/launches', 1000),
                'overlap': (r.build / 'examples/overlap', '--size', 500, '--count', 3), 'ddp': ddp}
    if r.emulated:
        programs = {name: r.gpu(*p) for name, p in programs.items()}
    else:
        programs |= {'alone': alone(r, 3), 'rank': rank(r, 3)}
    for name, program in programs.items():
        with failing(r, f'7 replay of {name}'):
            r.capture('executed', ('--replayable',), program, env=wheels())
            out, err = r.run(*r.gpu('gpureplay', '--json', '-f', '-o', r.out / 'again', r.out / 'executed'), env=wheels(), check=False)
            r.row(f'7 replay of {name}', ' '.join(out.split())[:1500] or f'FAILED: {err.strip()[-800:]}')


def operators(r):
    """Times of operators and models, to compare with those of an emulated GPU of this model."""
    if r.emulated:
        return
    out, err = r.run(python(), HERE / 'operators.py', limit=200, check=False)
    (r.out / 'operators.tsv').write_text(out, encoding='utf-8')
    r.row('11 operators', f'{len(out.splitlines())} timed; {err.strip()[-300:] or "no message"}')


def batch(r):
    """Point 8: a step with half the batch is recorded, twice the batch is emulated, and measured."""
    if r.emulated:
        return
    steps = python(), HERE / 'steps.py'
    r.capture('half', (), (*steps, '--batch=64', 20))
    measured = [float(r.run(*steps, f'--batch={n}', 20)[0].split()[-1]) for n in (64, 128)]
    out, err = r.run('gpureplay', '--emulate', '--json', '--what-if', 'batch=2x', r.out / 'half', check=False)
    said = json.loads(out)['what_if'][0]['mean_step_ns'] if out else err.strip()[-300:]
    r.row('8 batch 64 to 128', f'measured {measured[0]:.2f} and {measured[1]:.2f} ms; {said}')


def sample(r):
    """Point 9: a small trace to keep."""
    r.capture('sample', ('--digest=comm',), rank(r, 3))
    packed = r.out / 'sample.gputrace'
    packed.unlink(missing_ok=True)
    r.run('gputrace', 'pack', '-o', packed, r.out / 'sample')
    r.row('9 sample', f'{packed.stat().st_size / 1e6:.2f} MB packed, {r.info("sample")["records_total"]} records')


# Steps in order of importance, because later ones may not be reached, each with the seconds it needs at least.
STEPS = {'machine': (machine, 5), 'build': (build, 30), 'unmodified': (unmodified, 30), 'unseen': (unseen, 10),
         'complete': (complete, 20), 'digest': (digest, 20), 'addresses': (addresses, 5), 'repeats': (repeats, 30), 'emulation': (emulation, 30),
         'overhead': (overhead, 30), 'sample': (sample, 15), 'replay': (replay, 30), 'batch': (batch, 30), 'operators': (operators, 60)}


@contextlib.contextmanager
def failing(r, name):
    """Runs the steps; a failure is a row of the table, and the next step runs."""
    try:
        yield
    except (Failed, OSError, ValueError, KeyError, IndexError, subprocess.SubprocessError) as e:
        r.row(name, f'FAILED: {type(e).__name__} {e}'[:900])


def finish(r):
    width = max(len(row[0]) for row in r.rows)
    table = ''.join(f'{what:{width}}  {figure}{"   " + command if command else ""}\n' for what, figure, command in r.rows)
    (r.out / 'table').write_text(table, encoding='utf-8')
    for name in os.listdir(r.out):  # keep only the table and the sample
        if (r.out / name).is_dir():
            shutil.rmtree(r.out / name, ignore_errors=True)
    print('\n' + table, end='', flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('--emulated', action='store_true')
    parser.add_argument('--build')
    parser.add_argument('--seconds', type=float, default=570)
    parser.add_argument('--limit', type=float, default=150, help='seconds that one command may take')
    parser.add_argument('--steps', default=','.join(STEPS))
    parser.add_argument('out')
    options = parser.parse_args()
    r = Run(options)
    for name in options.steps.split(','):
        step, least = STEPS[name]
        if r.left() < least:
            r.row(name, 'NOT DONE: no time left')
            continue
        begun = time.monotonic()
        with failing(r, name):
            step(r)
        print(f'({name}: {time.monotonic() - begun:.0f} s, {r.left():.0f} s left)', flush=True)
    finish(r)
    return any('FAILED' in str(row[1]) or 'DIFFERS' in str(row[1]) for row in r.rows)


if __name__ == '__main__':
    sys.exit(main())
