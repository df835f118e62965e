#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a small packed trace that declares very large contents: bomb.py KIND FILE. All checksums are correct."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from store import (MAGIC, NAMES, PACKED, RANK, SLICE, TRACE, Chunk, columns, file_fields, file_header, footer,  # noqa: E402
                   frame, header, members, packed_block, varint)

CALL = 0


def chunk(*args, **options):
    return b''.join(Chunk(*args, **options).parts())


def names(payload):
    return file_header(TRACE) + chunk(NAMES, payload) + file_header(RANK)


def strings():
    """100 million empty strings."""
    return names(varint(100000000) + bytes(100000000))


def templates():
    """Templates with many varying arguments and different names; each takes a few bytes."""
    n, n_args = 50000, 2000
    of = columns((0, 0, 0, bytes(n)), (1, 0, 1, b'\0' + b'\1' * (n - 1)))  # shape 0, and each string in turn
    return names(varint(n) + b''.join(b'%d\0' % i for i in range(n)) + varint(1) + bytes([CALL, 0]) + varint(n_args) +
                 bytes([1, 0, 1]) * n_args + varint(n) + varint(len(of)) + of + bytes(4))


def calls():
    """Identical calls, a million in each slice."""
    n = 1 << 20
    template = columns((0, 0, 0, b'\0'), (1, 0, 0, b'\1'))
    of_rank = bytes([1, 0, 1, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0])  # a thread
    made = [names(bytes([1]) + b'call\0' + bytes([1, CALL, 0, 0, 1]) + varint(len(template)) + template + bytes(3) +
                  of_rank)]
    # Each call starts one unit after the one before, and takes no time.
    structure = columns((0, 0, 0, b'\0' + b'\1' * (n - 1)), (8, 0, 0, b'\1'), (9, 0, 0, b'\0'), (10, 1, 0, varint(n)),
                        (11, 0, 0, bytes(n)))
    times = b'\0' + b'\1' * (n - 1) + bytes(n)
    payload = varint(0) + varint(len(structure)) + b'\0' + varint(len(times)) + structure + times
    same = Chunk(SLICE, payload)
    same.frame = frame(payload)
    for same.slice in range(1000):
        same.numbers = [0, 0, 0, same.slice * n, n, *[0] * 9]
        made += same.parts()
    return b''.join(made)


def last_rank():
    """The highest rank number that the format allows."""
    return file_header(RANK, 0, (1 << 24) - 1)


def chunks():
    """A file without chunks, followed by a footer and an index of very many chunks."""
    n, head = 20000000, file_header(RANK)
    index = header(b'I', file_fields(RANK, 0, 0) + packed_block(varint(n) + bytes(4 * n)))
    tail = index + footer(index)
    listed = members([(b'rank-00000.chunks', len(head), len(tail))])
    return head + tail + listed + footer(listed)


def headers():
    """A file in which every offset may begin an index that extends to the end of the file."""
    return b''.join(MAGIC + struct.pack('<I', 9 * i - 8) + b'I' for i in range(200000, 0, -1))


def gaps():
    """Gaps with lost bytes between complete headers."""
    empty = header(b'C', bytes([200]) + bytes(4) + bytes(8))
    return file_header(RANK) + (b'x' + empty) * 20000


if __name__ == '__main__':
    kind, path = sys.argv[1:]
    with open(path, 'wb') as f:
        f.write(file_header(PACKED) + globals()[kind.replace('-', '_')]())
