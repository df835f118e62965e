# SPDX-License-Identifier: Apache-2.0
"""Recordings of gpucapture that are written by hand, call by call, and what its importer makes of
them. The first argument of a test that imports this module is gputrace, the second recorded.c."""
import json
import os
import struct
import subprocess
import sys
import tempfile

from profiler import gputrace

CONTEXT, STREAM, OTHER_STREAM, KERNEL, EVENT, COMM = 0x1000, 0x2000, 0x2100, 0x3000, 0x4000, 0x5000
GRAPH, EXEC, MEMORY = 0x6000, 0x7000, 0x100000
BEFORE, AFTER, PARAMS = range(3)  # enum cap_blob_kind
NODE, LAYOUT, PARAMETERS = 12, 13, 14  # enum cap_record_kind
FLOAT = 7  # ncclFloat


class Ring:
    """The ring of one thread; numbers count over all rings of a test."""

    def __init__(self, recording, number):
        self.recording, self.number, self.ordinal, self.now = recording, number, 1, 1000000

    def command(self, *words):
        self.recording.commands.append((self.number, ' '.join(map(str, words))))

    def next_id(self):
        return self.number << 40 | self.ordinal

    def call(self, name, *words, depth=0, result=0):
        """Adds a call and returns its id."""
        ret = self.next_id()
        self.command('at', self.ordinal, self.now)
        self.command('call', name, depth, result, *words)
        self.ordinal += 1
        self.now += 2000
        return ret

    def within(self, name, *words, inner=lambda: None):
        """A call, and the calls within it that `inner` adds, whose records precede it."""
        outer = self.ordinal
        self.ordinal += 1
        ret = inner()
        following, self.ordinal = self.ordinal, outer
        self.now -= 2000
        self.call(name, *words)
        self.ordinal, self.now = following, self.now + 2000
        return ret

    def blob(self, argument, data, kind=BEFORE):
        """Memory that an argument of the next call points to."""
        self.command('at', self.ordinal, self.now)
        self.command('blob', argument, kind, data.hex())

    def out(self, argument, handle):
        self.blob(argument, struct.pack('<Q', handle), AFTER)

    def field(self, argument, call, name, data):
        self.command('at', self.ordinal, self.now)
        self.command('field', argument, call, name, data.hex())

    def raw(self, kind, flags, data, depth=0):
        data += bytes(-len(data) % 8)
        self.command('raw', (struct.pack('<IHBB', 8 + len(data), kind, depth, flags) + data).hex())

    def times(self, call, start, end):
        self.command('times', call, start, end)

    def look(self):
        self.command('look')

    def launch(self, kernel=KERNEL, stream=STREAM, params=0, extra=0, **options):
        return self.call('cuLaunchKernel', kernel, 4, 1, 1, 32, 1, 1, 0, stream, params, extra, **options)

    def begin(self, device=0, i=0):
        """Makes a context of the device, and a stream and a kernel in it."""
        self.out(0, CONTEXT + i)
        self.call('cuDevicePrimaryCtxRetain', 0x100, device)
        self.call('cuCtxSetCurrent', CONTEXT + i)
        self.out(0, STREAM + 16 * i)
        self.call('cuStreamCreate', 0x100, 1)
        self.out(0, KERNEL + i)
        self.blob(2, b'step\0')
        self.call('cuModuleGetFunction', 0x100, 0x77, 0x200)

    def second_stream(self):
        self.out(0, OTHER_STREAM)
        self.call('cuStreamCreate', 0x100, 1)

    # ---- NCCL

    def join_comm(self, n, rank, result=0):
        self.out(0, COMM)
        self.call('ncclCommInitRank', 0x100, n, *[0x5a5a5a5a5a5a5a5a] * 16, rank, result=result)

    def kernel_of_nccl(self):
        return self.call('cuLaunchKernel', KERNEL, 8, 1, 1, 512, 1, 1, 0, STREAM, 0, 0, depth=1)

    def reduce(self, start, end):
        launch = self.within('ncclAllReduce', 0x10000, 0x10000, 256, FLOAT, 0, COMM, STREAM, inner=self.kernel_of_nccl)
        self.times(launch, start, end)

    def messages(self, call, *peers):
        for peer in peers:
            self.call(call, 0x10000, 64, FLOAT, peer, COMM, STREAM)

    def end_group(self, start, end):
        self.times(self.within('ncclGroupEnd', inner=self.kernel_of_nccl), start, end)

    def exchange(self, call, peer, start, end):
        self.call('ncclGroupStart')
        self.messages(call, peer)
        self.end_group(start, end)


class Recording:
    def __init__(self):
        self.commands, self.rings = [], []

    def ring(self, command='process'):
        ring = Ring(self, len(self.rings))
        self.rings.append(ring)
        self.commands.append((None, command))
        return ring

    def processes(self, n):
        rings = [self.ring() for _ in range(n)]
        for ring in rings:
            ring.begin()
        return rings

    def script(self):
        on = None
        for ring, command in self.commands:
            if ring is not None and ring != on:
                yield f'on {ring}'
            on = len([r for r in self.rings]) if ring is None else ring
            yield command

    def run(self, trace=None):
        """Returns what was made of the records; writes a trace."""
        if not any(command == 'look' for _, command in self.commands[-len(self.rings):]):
            for ring in self.rings:
                ring.look()
        commands = list(self.script()) + ([f'write {trace}'] if trace else [])
        found = subprocess.run([sys.argv[2]], input='\n'.join(commands) + '\n', capture_output=True, text=True,
                               check=False)
        assert found.returncode == 0, found
        return json.loads(found.stderr)


def one(device=0):
    """A recording of one process with one ring."""
    recording = Recording()
    ring = recording.ring()
    ring.begin(device)
    return ring


def made_of(ring):
    """What was made of the only process."""
    return ring.recording.run()['processes'][0]


def named(process, name):
    """The arguments of the last event with that name."""
    found, = [e for e in process['events'] if e['name'] == name][-1:]
    return f' {found["args"]} '


class Trace:
    """The trace of a recording: `counts` of the writer, `info`, and the events of its timeline."""

    def __init__(self, recording):
        with tempfile.TemporaryDirectory(prefix='gputrace-recorded.') as folder:
            path = os.path.join(folder, 'trace')
            self.counts = recording.run(path)
            self.info = json.loads(gputrace('info', '--json', path).stdout)
            gputrace('export', '--format=chrome', '-o', path + '.files', path)
            self.ranks = []
            for name in sorted(os.listdir(path + '.files')):
                with open(os.path.join(path + '.files', name), encoding='utf-8') as f:
                    self.ranks.append([e for e in json.load(f)['traceEvents'] if e['ph'] == 'X'])

    def collectives(self, rank):
        return [e['args'] for e in self.ranks[rank] if 'gputrace seq' in e.get('args', {})]
