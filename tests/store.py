# SPDX-License-Identifier: Apache-2.0
"""Writes the files of a trace byte by byte, and reads their chunks, as doc/format.md says: for traces that no writer
makes. The library of the project is not used."""
import ctypes
import hashlib
import itertools
import struct

TRACE, RANK, PACKED, BLOBS = range(4)  # kinds of files
NAMES, SLICE, DIGESTS, BLOB, CONTENTS, MANIFEST = range(1, 7)  # types of chunks
MAGIC = bytes.fromhex('572a4d18')
HEADER_BYTES, FOOTER_BYTES = 38, 53


class Hash128(ctypes.Structure):
    _fields_ = [('low', ctypes.c_uint64), ('high', ctypes.c_uint64)]


xxhash, zstd = ctypes.CDLL('libxxhash.so.0'), ctypes.CDLL('libzstd.so.1')
xxhash.XXH3_64bits.restype, xxhash.XXH3_128bits.restype = ctypes.c_uint64, Hash128
zstd.ZSTD_compressBound.restype = zstd.ZSTD_compress.restype = zstd.ZSTD_decompress.restype = ctypes.c_size_t


def hash64(data):
    return struct.pack('<Q', xxhash.XXH3_64bits(data, ctypes.c_size_t(len(data))))


def content_name(data):
    """The 128 bits that name a content."""
    name = xxhash.XXH3_128bits(data, ctypes.c_size_t(len(data)))
    return struct.pack('<QQ', name.low, name.high)


def varint(value):
    made = bytearray()
    while value >= 128:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes(made) + bytes([value])


def svarint(value):
    return varint(-2 * value - 1 if value < 0 else 2 * value)


def frame(data):
    made = ctypes.create_string_buffer(zstd.ZSTD_compressBound(ctypes.c_size_t(len(data))))
    n = zstd.ZSTD_compress(made, ctypes.c_size_t(len(made)), data, ctypes.c_size_t(len(data)), 1)
    return ctypes.string_at(made, n)


def unpack(data, size):
    made = ctypes.create_string_buffer(max(size, 1))
    got = zstd.ZSTD_decompress(made, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    assert got == size, 'invalid frame'
    return made.raw[:size]


def header(tag, body):
    made = MAGIC + struct.pack('<I', 1 + len(body) + 8) + tag + body
    return made + hash64(made)


def file_fields(kind, number, names_rank):
    return struct.pack('<5BII', 1, 0, 0, kind, 0, number, names_rank)


def file_header(kind, number=0, names_rank=0):
    return header(b'F', b'GPUTRACE' + file_fields(kind, number, names_rank))


def footer(index, root=bytes(32)):
    return header(b'E', struct.pack('<I', len(index)) + root)


def packed_block(data):
    return varint(len(data)) + frame(data)


def members(spans):
    """`spans`: name, bytes of data and bytes of the tail."""
    parts = (varint(len(name)) + name + varint(data) + varint(tail) for name, data, tail in spans)
    return header(b'M', packed_block(varint(len(spans)) + b''.join(parts)))


def merkle(leaves):
    nodes = [hashlib.sha256(b'\0' + leaf).digest() for leaf in leaves]
    while len(nodes) > 1:
        pairs = itertools.zip_longest(nodes[::2], nodes[1::2])
        nodes = [hashlib.sha256(b'\1' + a + b).digest() if b else a for a, b in pairs]
    return nodes[0]


def columns(*entries):
    """`entries`: id, kind, base and bytes."""
    heads = (varint(number) + bytes([kind | base << 4]) for number, kind, base, _ in entries)
    parts = [data for *_, data in entries]
    return varint(len(entries)) + b''.join(heads) + b''.join(varint(len(data)) for data in parts) + b''.join(parts)


class Chunk:
    """A chunk with its payload. Of a slice, `numbers` are iteration, start, duration, first number, eight counts, edges
    and digests."""

    def __init__(self, kind, payload, rank=0, slice=0, numbers=()):  # pylint: disable=redefined-builtin
        self.kind, self.payload, self.rank, self.slice, self.numbers = kind, payload, rank, slice, list(numbers)
        self.frame = None

    def fields(self):
        numbers = [(svarint if i < 3 else varint)(n) for i, n in enumerate(self.numbers)]
        return bytes([self.kind]) + varint(self.rank) + varint(self.slice) + b''.join(numbers)

    def parts(self):
        """The header, and the frame."""
        packed = self.frame or frame(self.payload)
        return header(b'C', self.fields() + varint(len(packed)) + varint(len(self.payload)) + hash64(packed)), packed


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        self.at += n
        return self.data[self.at - n:self.at]

    def varint(self):
        value, shift = 0, 0
        while (byte := self.take(1)[0]) >= 128:
            value, shift = value | (byte & 127) << shift, shift + 7
        return value | byte << shift

    def svarint(self):
        value = self.varint()
        return -(value + 1) // 2 if value & 1 else value // 2


def read_file(path):
    """Returns the chunks of a file, whose header is kept as `head`."""
    with open(path, 'rb') as f:
        data = Reader(f.read())
    head, chunks = data.take(HEADER_BYTES), []
    while data.at < len(data.data):
        body = Reader(data.take(8 + struct.unpack_from('<4xI', data.data, data.at)[0])[8:-8])
        if body.take(1) == b'C':
            kind, rank, number = body.take(1)[0], body.varint(), body.varint()
            numbers = [(body.svarint if i < 3 else body.varint)() for i in range(14)] if kind == SLICE else []
            packed = data.take(body.varint())
            chunks.append(Chunk(kind, unpack(packed, body.varint()), rank, number, numbers))
            chunks[-1].frame = packed
    return head, chunks


def index_of(head, chunks):
    """The Index of a file."""
    columns = [[len(c.parts()[0]) for c in chunks], [len(c.parts()[1]) for c in chunks], [c.slice for c in chunks]]
    columns += [list(column) for column in zip(*(c.numbers for c in chunks if c.kind == SLICE))]
    data = varint(len(chunks)) + bytes(c.kind for c in chunks)
    for column in columns:
        data += b''.join(svarint(value - before) for value, before in zip(column, [0] + column))
    return header(b'I', head[17:30] + packed_block(data))


def write_file(path, head, chunks):
    """Returns the root of the file."""
    root = merkle([head] + [c.fields() + c.payload for c in chunks])
    index = index_of(head, chunks)
    with open(path, 'wb') as f:
        f.write(head + b''.join(b''.join(c.parts()) for c in chunks) + index + footer(index, root))
    return root


def manifest(roots):
    """`roots`: of the other files, by name."""
    parts = (varint(len(name)) + name.encode() + root for name, root in roots.items())
    return Chunk(MANIFEST, varint(len(roots)) + b''.join(parts))
