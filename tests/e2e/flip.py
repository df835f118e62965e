#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flips one bit of the stored content of a digest that an operation wrote; re-execution then restores the changed content.

    flip.py IN OUT GPU NUMBER BYTE     writes a changed copy of trace IN to OUT
"""
import os
import shutil
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from store import BLOB, CONTENTS, MANIFEST, Chunk, Reader, content_name, manifest, read_file, write_file  # noqa: E402

WRITTEN = 1


def written_by(payload, number):
    """The offsets in a list of contents of the names of those that an operation wrote."""
    data, found, event = Reader(payload), [], 0
    n, _ = data.varint(), data.varint()
    for i in range(n):
        event += data.svarint()
        data.svarint(), data.varint(), data.varint()  # allocation, offset, length
        if data.take(1)[0] == WRITTEN and event == number:
            found.append(i)
        data.varint(), data.varint()  # pages
    return [data.at + 16 * i for i in found]


def flip(chunks, listed, at, byte):
    """Adds a content with one bit flipped, and refers to it in the list."""
    name = listed.payload[at:at + 16]
    data, = [bytearray(c.payload[16:]) for c in chunks if c.kind == BLOB and c.payload[:16] == name]
    data[byte % len(data)] ^= 1
    name = content_name(bytes(data))
    chunks.append(Chunk(BLOB, name + data, slice=struct.unpack_from('<I', name)[0]))
    listed.payload, listed.frame = listed.payload[:at] + name + listed.payload[at + 16:], None


def main(source, to, gpu, number, byte):
    shutil.copytree(source, to)
    head, chunks = read_file(f'{to}/blobs.chunks')
    listed, = [c for c in chunks if c.kind == CONTENTS and c.slice == int(gpu)]
    at, = written_by(listed.payload, int(number))
    flip(chunks, listed, at, int(byte))
    root = write_file(f'{to}/blobs.chunks', head, chunks)
    head, chunks = read_file(f'{to}/trace.chunks')
    assert chunks[-1].kind == MANIFEST
    files = Reader(chunks.pop().payload)
    roots = {files.take(files.varint()).decode(): files.take(32) for _ in range(files.varint())}
    write_file(f'{to}/trace.chunks', head, chunks + [manifest(roots | {'blobs.chunks': root})])


if __name__ == '__main__':
    main(*sys.argv[1:])
