# SPDX-License-Identifier: Apache-2.0
"""Profiler files made of events, the traces that become of them, and a training run. The first
argument of a test that imports this module is gputrace."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

GPUTRACE = sys.argv[1]


def compact(value):
    return json.dumps(value, separators=(',', ':'), ensure_ascii=False)


def X(cat, name, pid, tid, ts, dur, **args):
    event = {'ph': 'X', 'cat': cat, 'name': name, 'pid': pid, 'tid': tid, 'ts': ts, 'dur': dur}
    return compact(event | {'args': args} if args else event)


def step(number, ts, dur):
    return X('user_annotation', f'ProfilerStep#{number}', 1, 2, ts, dur)


def launch(correlation, ts):
    return X('cuda_runtime', 'cudaLaunchKernel', 1, 2, ts, 1, correlation=correlation)


def kernel(name, correlation, ts, dur=1, **args):
    return X('kernel', name, 0, 7, ts, dur, correlation=correlation, **args)


def pairs(*names):
    """Launches and kernels, one a microsecond, ten microseconds apart after every three."""
    for i, name in enumerate(names):
        ts = 10 + i // 3 * 10 + i % 3
        yield from (launch(i + 1, ts), kernel(name, i + 1, ts))


def gputrace(*args):
    return subprocess.run([GPUTRACE, *args], capture_output=True, text=True, errors='surrogateescape', check=False)


class Run:
    """Files in a temporary folder that are imported to one trace."""

    def __init__(self, files):
        self.folder = tempfile.mkdtemp(prefix='gputrace-kineto.')
        self.trace = os.path.join(self.folder, 'trace')
        paths = []
        for name, text in files.items():
            paths.append(os.path.join(self.folder, name))
            os.makedirs(os.path.dirname(paths[-1]), exist_ok=True)
            with open(paths[-1], 'wb') as f:
                f.write(text if isinstance(text, bytes) else text.encode(errors='surrogateescape'))
        self.imported = gputrace('import', '--json', '-o', self.trace, *paths)
        assert self.imported.returncode in (0, 3), self.imported
        self.error = self.imported.stderr if self.imported.returncode else None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        shutil.rmtree(self.folder)

    def report(self):
        return json.loads(self.imported.stdout)

    def rank(self):
        return self.report()['ranks'][0]

    def info(self):
        return json.loads(gputrace('info', '--json', self.trace).stdout)

    def events(self, *part):
        """The exported events, one a line, without flows."""
        lines = gputrace('export', *part, self.trace).stdout.splitlines()
        return ''.join(line.removesuffix(',') + '\n' for line in lines if re.match('{"(?!ph":"[Msf]")', line))

    def flows(self):
        return re.findall(r'"ph":"[sf]".*?"id":(\d+)', gputrace('export', self.trace).stdout)

    def text(self):
        """Counts of records, iterations with their events, and all events as they were in the files."""
        info = self.info()
        text = ' '.join(f'{n} {kind}' for kind, n in info['records'].items() if n) + '\n'
        for part in info['outside']:
            text += f'{part["where"]}: {part["gpus"][0]["records"]} records\n'
        for iteration in info['iterations']:
            gpu = iteration['gpus'][0]
            text += f'iteration {iteration["iteration"]}: {gpu["start_ns"]}+{gpu["duration_ns"]}\n'
            text += self.events('--iteration', str(iteration['iteration']))
        return text + 'all\n' + re.sub(r'"gputrace \w+":("\w*"|-?\d+),', '', self.events())


def document(*events):
    return '{"traceEvents":[' + ','.join(events) + ']}'


def run_tests(module):
    for name, test in list(module.items()):
        if name.startswith('test_'):
            print(name, flush=True)
            test()


# ---- a training run

HOSTILE = 'void k<"a\\b">(&amp;\x01\x1b[31m\udcff\udcc3) ]]>\n\t€'
KERNELS = ['void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>(Params)',
           'void at::native::vectorized_elementwise_kernel<4, at::native::GeluFunctor>(int)',
           'flash_fwd_kernel', HOSTILE]
TRANSFER_NS = 90000


class Rank:
    def __init__(self, number):
        self.number, self.events, self.sequence, self.correlation = number, [], 0, 0
        self.host = self.compute = self.comm = 1234567

    def add(self, cat, name, tid, start, duration, **args):
        pid = self.number if tid in (7, 20) else 4000 + self.number
        self.events.append(X(cat, name, pid, tid, round(start / 1000, 3), round(duration / 1000, 3), **args))

    def launch(self, call):
        """Adds a call. Returns the earliest start of its operation, and the arguments of both."""
        self.correlation += 1
        self.host += 3000
        self.add('cuda_runtime', call, 4000 + self.number, self.host, 4000, correlation=self.correlation)
        self.host += 4000
        return self.host + 2000, {'correlation': self.correlation}


class Training:
    """Each iteration of each rank launches layers of kernels with an all-reduce after each layer, copies the loss, and
    waits. The last rank is slower, so the other ranks wait in the collectives.

    overlaps: collectives may overlap each other; ahead: the host does not wait for the loss, so iterations overlap;
    root: bytes of rank 0's collectives; members: of the files, beside the events; grouped: the collectives name their
    process group.
    """

    def __init__(self, ranks=4, iterations=3, layers=8, *, overlaps=False, ahead=False, late_ns=30000, root=16 << 20,
                 members='', world_size=None, grouped=True):
        self.overlaps, self.ahead, self.late_ns, self.root = overlaps, ahead, late_ns, root
        self.members, self.world_size, self.grouped = members, world_size or ranks, grouped
        self.ranks = [Rank(i) for i in range(ranks)]
        for iteration in range(4, 4 + iterations):
            starts = [rank.host for rank in self.ranks]
            for layer in range(layers):
                self.layer(layer)
            for rank, start in zip(self.ranks, starts):
                self.end(rank, iteration, start)

    def layer(self, layer):
        starts, args = [], []
        for rank in self.ranks:
            for k, name in enumerate(KERNELS):
                start, arg = rank.launch('cudaLaunchKernel')
                start = max(start, rank.compute)
                duration = (4 - k) * 40000 + (rank.correlation * 7919 + rank.number * 104729) % 30000
                duration += self.late_ns if rank is self.ranks[-1] else 0
                rank.add('kernel', name, 7, start, duration, **arg)
                rank.compute = start + duration + 1500
            start, arg = rank.launch('cudaLaunchKernel')
            starts.append(max(start, rank.compute, 0 if self.overlaps else rank.comm))
            args.append(arg)
        for rank, start, arg in zip(self.ranks, starts, args):
            size = (self.root if rank.number == 0 else 16 << 20) // 2
            if self.grouped:
                arg |= {'Group size': len(self.ranks), 'Process Group Name': 'tp', 'Seq': rank.sequence,
                        'Process Group Ranks': str([r.number for r in self.ranks])}
            rank.add('kernel', 'ncclDevKernel_AllReduce_Sum_bf16', 20, start, max(starts) + TRANSFER_NS - start, **arg,
                     **{'Collective name': 'allreduce', 'dtype': 'BFloat16', 'In msg nelems': size,
                        'Out msg nelems': size})
            rank.sequence += 1
            rank.comm = max(starts) + TRANSFER_NS + 1000
            if layer % 4 == 3 and not self.ahead:
                rank.compute = rank.comm

    def end(self, rank, iteration, begin):
        thread = 4000 + rank.number
        start, arg = rank.launch('cudaMemcpyAsync')
        start = max(start, rank.compute, 0 if self.ahead else rank.comm)
        rank.add('gpu_memcpy', 'Memcpy DtoH (Device -> Pageable)', 7, start, 2500, bytes=4096, **arg,
                 **{'memory bandwidth (GB/s)': 1.6384})
        duration = 1000 if self.ahead else start + 3000 - rank.host
        rank.add('cuda_runtime', 'cudaStreamSynchronize', thread, rank.host + 1000, duration)
        rank.host += 1000 + duration
        if self.ahead:
            rank.compute = start + 2500
        else:
            rank.compute = rank.comm = rank.host
        rank.events.append(compact({'ph': 'i', 'name': '[memory]', 'pid': thread, 'tid': thread,
                                    'ts': round(rank.host / 1000, 3), 's': 't',
                                    'args': {'Total Allocated': -5, 'note': HOSTILE, 'shape': [[2, 3], []]}}))
        rank.add('user_annotation', f'ProfilerStep#{iteration}', thread, begin, rank.host - begin)
        rank.host += 20000

    def files(self):
        device = '"deviceProperties":[' + ','.join(
            f'{{"id":{i},"name":"NVIDIA H100 80GB HBM3"}}' for i in range(len(self.ranks))) + ']'
        info = '"distributedInfo":{"rank":%d,"world_size":%d}'
        return {f'rank-{r.number}.json': f'{{{device},{info % (r.number, self.world_size)},'
                                         f'"hostile \\"\\u0002\udcff":"] broken",{self.members}'
                                         f'"traceEvents":[{",".join(r.events)}]}}' for r in self.ranks}
