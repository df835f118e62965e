#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces of unknown origin, with facts and times that no recorder of ours writes: every report must be valid.

    written.py GPUTRACE
"""
import json
import os
import sys
import tempfile

from profiler import gputrace, run_tests

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from store import (NAMES, RANK, SLICE, TRACE, Chunk, columns, file_header, manifest, svarint, varint,  # noqa: E402
                   write_file)

CALL, KERNEL, COLLECTIVE, RANGE = 0, 1, 4, 6
INTEGER, STRING, JSON, CORRELATION = range(4)
BYTE, VARINT, SVARINT = range(3)


class Names:
    def __init__(self):
        self.strings = []

    def string(self, text):
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text) + 1

    def facts(self, facts):
        return varint(len(facts)) + b''.join(varint(self.string(key)) + varint(self.string(value)) for key, value in facts)

    def rank(self, number, facts):
        """A rank with a thread and a stream."""
        tracks = b''.join(bytes([kind, 0]) + svarint(number) + svarint(7) + bytes(3) for kind in (0, 1))
        device = svarint(number) + varint(self.string('H100')) + b'\0'
        return varint(number) + varint(2) + tracks + b'\0' + varint(1) + device + self.facts(facts)

    def shape(self, kind, args):
        """`args`: key, type, and the value of a constant."""
        return bytes([kind]) + b'\0' + varint(len(args)) + b''.join(
            varint(self.string(key)) + bytes([type_of, not value]) for key, type_of, *value in args)

    def payload(self, templates, facts, ranks):
        """`templates`: kind, name and arguments of each."""
        shapes = b''.join(self.shape(kind, args) for kind, _, args in templates)
        constants = sorted((16 + self.string(key), SVARINT, 0, svarint(value[0])) for _, _, args in templates
                           for key, type_of, *value in args if value and type_of != CORRELATION)
        names = b''.join(varint(self.string(name)) for _, name, _ in templates)
        of = columns((0, BYTE, 0, bytes(range(len(templates)))), (1, VARINT, 0, names), *constants)
        rest = (varint(len(templates)) + shapes + varint(len(templates)) + varint(len(of)) + of + b'\0' + b'\0' +
                self.facts(facts) + varint(len(ranks)) + b''.join(self.rank(*rank) for rank in enumerate(ranks)))
        return varint(len(self.strings)) + b''.join(text.encode() + b'\0' for text in self.strings) + rest


def write(folder, names, slices=()):
    """Writes a trace with the names, and with these slices of each of three ranks."""
    roots = {}
    for number in range(3):
        name = f'rank-0000{number}.chunks'
        chunks = [Chunk(SLICE, payload, number, i, numbers) for i, (payload, numbers) in enumerate(slices)]
        roots[name] = write_file(os.path.join(folder, name), file_header(RANK, number, number), chunks)
    write_file(os.path.join(folder, 'trace.chunks'), file_header(TRACE), [Chunk(NAMES, names), manifest(roots)])


def shown(*args, status=0):
    """The output of `gputrace`, which ends with this status; a sanitizer changes it."""
    result = gputrace(*args)
    assert result.returncode == status, (args, result)
    return result.stdout


def test_losses():
    """Counts agree in number with their nouns, lines name the processes, and bytes of a trace are escaped."""
    whole = [('capture.calls_missing', '2000'), ('capture.stopped', '"\x1b[31mfull"'),
             ('capture.processes_killed', '3'), ('capture.unknown_handles', '1')]
    by_signal = [('process_ending', '"killed by SIGSEGV"'), ('process', '4710'), ('shared_process', '1')]
    ranks = [by_signal + [('process_in_call', '"cuStreamSynchronize"')], by_signal,
             [('process_ending', '"killed"'), ('process_last_call', '"cuLaunchKernel"'), ('process', '4711')]]
    with tempfile.TemporaryDirectory(prefix='gputrace-written.') as folder:
        write(folder, Names().payload([], whole, ranks))
        found = [line for line in shown('info', folder).splitlines() if line.startswith('  missing')]
    assert found == [
        '  missing   3 processes killed or aborted, so their unfinished calls have no end: pid 4710 (ranks 0, 1) killed by '
        'SIGSEGV in cuStreamSynchronize, pid 4711 (rank 2) killed after cuLaunchKernel and 1 more',
        '  missing   2,000 calls begun but not recorded: \\x1b[31mfull',
        '  missing   1 handle whose creation was not recorded'], found


LEAST, MOST = -(1 << 63), (1 << 63) - 1
TIMES = (LEAST, 0), (LEAST, MOST), (-1, 1), (0, 0), (0, MOST), (1, MOST), (MOST, 0), (MOST, MOST)


def wrap(value):
    return (value - LEAST) % (1 << 64) + LEAST


def extreme_slice(names, text):
    """An event of each kind at each of the times; `text`: the string of an argument, by number."""
    tracks = (CALL, RANGE), (KERNEL, COLLECTIVE)
    order = CALL, KERNEL, COLLECTIVE, RANGE
    begins, ends = {kind: b'' for kind in order}, {kind: b'' for kind in order}
    items, correlations, of_ranges = b'', b'', b''
    for kinds in tracks:
        now = LEAST  # the iteration's start
        for at, (start, duration) in enumerate(TIMES):
            for kind in kinds:
                begins[kind] += svarint(wrap(start - now))
                ends[kind] += svarint(wrap(duration))
                now = wrap(start + duration)
                items += bytes([order.index(kind)])
                correlation = varint((1 << 64) - 1 if at % 2 else 0)
                correlations += correlation if kind != RANGE else b''
                of_ranges += correlation if kind == RANGE else b''
    first = b''.join(svarint(MOST * (at % 2)) for at in range(len(TIMES)))
    second = svarint(MOST) * len(TIMES)
    values = sorted((16 + names.string(key), SVARINT, 0, data) for key, data in (
        ('comm', first), ('seq', second), ('External id', first), ('Input', svarint(text) * len(TIMES))))
    flat = b'\0' + b'\1' * (2 * len(TIMES) - 1)  # each item of a track ends before the next one begins
    structure = columns((0, BYTE, 0, 2 * flat), (1, VARINT, 0, correlations), (2, VARINT, 0, of_ranges),
                        (8, BYTE, 0, b'\1'), (9, BYTE, 0, b'\0\1'), (10, BYTE, 0, 2 * bytes([2 * len(TIMES)])),
                        (11, BYTE, 0, items), *values)
    times = b''.join(begins.values()) + b''.join(ends.values())
    payload = varint(0) + varint(len(structure)) + bytes([SVARINT]) + varint(len(times)) + structure + times
    counts = [len(TIMES) if kind in order else 0 for kind in range(8)]
    return payload, [MOST, LEAST, MOST, 0, *counts, 0, 0]


def test_extreme_times():
    """Times may be any 64 bits. The sanitizer builds detect overflows."""
    names = Names()
    collective = [('comm', INTEGER), ('seq', INTEGER), ('collective', STRING, names.string('all_reduce')),
                  ('dtype', STRING, 0), ('message_bytes', INTEGER, -1), ('correlation', CORRELATION, 0)]
    templates = [(CALL, 'cudaLaunchKernel', []), (KERNEL, 'void gemm<128>(float*)', []),
                 (COLLECTIVE, 'ncclDevKernel_AllReduce', collective),
                 (RANGE, 'aten::mm', [('External id', INTEGER), ('Input', JSON)])]
    payload = names.payload(templates, [], [[]] * 3)
    with tempfile.TemporaryDirectory(prefix='gputrace-written.') as folder:
        for text in 1, MOST:
            write(folder, payload, [extreme_slice(names, text)])
            assert gputrace('verify', folder).returncode == (text == MOST), gputrace('verify', folder)
            for part in (), ('--iteration', str(MOST)), ('--iteration', str(MOST), '--gpu', '2'), ('--gpu', '0'):
                check_reports(folder, part, 0 if text == MOST else 1 if '--gpu' in part else 3)


def check_reports(trace, part, slices):
    status = int(slices == 0)
    assert shown('info', *part, trace, status=status)
    json.loads(shown('info', '--json', *part, trace, status=status))
    exported = shown('export', *part, trace, status=status)
    picture = shown('export', '--format=svg', *part, trace, status=status)
    events = json.loads(exported)['traceEvents']
    assert sum(e['ph'] == 'X' for e in events) == 4 * len(TIMES) * slices, events
    assert '</svg>' in picture and 'nan' not in picture and 'inf' not in picture, picture


if __name__ == '__main__':
    run_tests(globals())
