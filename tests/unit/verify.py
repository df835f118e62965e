#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces with correct checksums whose contents are inconsistent: verify reports whatever a renderer would fail on.

    verify.py GPUTRACE
"""
import json
import os
import struct
import sys

from profiler import Run, Training, gputrace, run_tests

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from store import (BLOB, BLOBS, CONTENTS, MANIFEST, NAMES, SLICE, Chunk, Reader, content_name,  # noqa: E402
                   file_header, manifest, read_file, svarint, varint, write_file)

FIRST, CALLS, KERNELS, DIGESTS = 3, 4, 5, 13  # numbers in the header of a slice
RANK_FILE = 'rank-00000.chunks'


def write(folder, rank, whole, blobs=None):
    """Writes the files of a trace, each its header and its chunks; a manifest replaces the last chunk of `whole`."""
    roots = {RANK_FILE: write_file(os.path.join(folder, RANK_FILE), *rank)}
    if blobs:
        roots['blobs.chunks'] = write_file(os.path.join(folder, 'blobs.chunks'), *blobs)
    assert whole[1][-1].kind == MANIFEST
    write_file(os.path.join(folder, 'trace.chunks'), whole[0], whole[1][:-1] + [manifest(roots)])


def reported(trace, what):
    """`what`: of a problem; None: there is none."""
    found = gputrace('verify', trace)
    assert found.returncode == (what is not None) and (what or '') in found.stdout + found.stderr, f'{what}: {found}'


class Slices:
    """The slices of a rank, to be changed."""

    def __init__(self, chunks):
        self.chunks = chunks

    def at(self, number):
        found, = [i for i, c in enumerate(self.chunks) if c.kind == SLICE and c.slice == number]
        return found

    def last(self):
        return max(c.slice for c in self.chunks if c.kind == SLICE)

    def drop(self, number):
        del self.chunks[self.at(number)]

    def repeat(self, number):
        self.chunks.insert(self.at(number), self.chunks[self.at(number)])

    def add(self, number, field, more):
        self.chunks[self.at(number)].numbers[field] += more


CHANGES = [
    (lambda s: None, None),
    (lambda s: s.drop(1), 'slice 1 is missing'),
    (lambda s: s.drop(s.last()), None),  # a consistent index without the last slice: a shorter run
    (lambda s: s.repeat(2), 'another chunk of slice 2'),
    (lambda s: s.add(2, FIRST, 5), 'does not follow the slice before it'),
    (lambda s: (s.add(2, CALLS, -1), s.add(2, KERNELS, 1)), 'invalid slice'),
    (lambda s: s.add(2, DIGESTS, 1), 'the digests of slice 2 were lost'),
]


def new_run():
    return Run(Training(1, 4, 2).files())


def files_of(run):
    return [read_file(os.path.join(run.trace, name)) for name in (RANK_FILE, 'trace.chunks')]


def test_inconsistent_slices():
    for change, what in CHANGES:
        with new_run() as run:
            rank, whole = files_of(run)
            change(Slices(rank[1]))
            write(run.trace, rank, whole)
            reported(run.trace, what)


def check_contents(what, more=0, more_of_image=0, other_name=0):
    """A trace with a code image and a buffer. `more` is added to the buffer's length in its list, `more_of_image` to the
    image's length in the fact, and `other_name` changes the list's name."""
    image, buffer = b'.version 8.0\0', b'what a buffer held\0'
    low, high = struct.unpack('<QQ', content_name(image))
    images = json.dumps([{'kind': 'ptx', 'bytes': len(image) + more_of_image, 'content': f'{high:016x}{low:016x}'}])
    with new_run() as run:
        rank, whole = files_of(run)
        n = sum(Reader(c.payload).varint() for c in whole[1] if c.kind == NAMES)
        # Two strings, no templates, communicators and rules, a fact, and no ranks.
        fact = varint(2) + b'images\0' + images.encode() + b'\0' + bytes([0, 0, 1, 0, 0, 0, 1])
        whole[1].insert(-1, Chunk(NAMES, fact + varint(n + 1) + varint(n + 2) + b'\0'))
        chunks = [Chunk(BLOB, content_name(data) + data, slice=struct.unpack_from('<I', content_name(data))[0])
                  for data in (image, buffer)]
        low, high = struct.unpack('<QQ', content_name(buffer))
        listed = bytes([1, 0]) + svarint(0) + svarint(0) + varint(0) + varint(len(buffer) + more) + bytes(3)
        # The index is sorted by the other half of the name.
        chunks.append(Chunk(CONTENTS, listed + struct.pack('<QQ', low, high ^ other_name)))
        write(run.trace, rank, whole, (file_header(BLOBS), chunks))
        reported(run.trace, what)


def test_contents_of_wrong_length():
    check_contents(None)
    check_contents('the length of a content differs from its list', more=3)
    check_contents('the length of an image differs from its content', more_of_image=-2)
    check_contents('a listed content is missing', other_name=1)


if __name__ == '__main__':
    run_tests(globals())
