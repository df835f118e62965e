#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""contents.py [BYTE]        copies known bytes to a GPU and back by every kind of driver copy. Prints the expected
                          digests: "want NAME LENGTH DIGEST". With BYTE, that byte of the first buffer differs.
contents.py load FILE...  first loads each code image, from memory and by file name.
"""
import ctypes
import struct
import sys

from cuda import cu, new_stream, pattern, print_wanted, use_device

BYTES, LINES = 200000, 10
host, back = (ctypes.c_ubyte * BYTES)(*pattern(BYTES)), (ctypes.c_ubyte * BYTES)()


def wanted(name, start, size):
    print_wanted(name, size, data=bytes(host[start:start + size]))


def copies(stream):
    a, b = cu.new('cuMemAlloc_v2', BYTES), cu.new('cuMemAlloc_v2', BYTES)
    cu.cuMemcpyHtoD_v2(a, host, BYTES)
    wanted('whole', 0, BYTES)
    cu.cuMemcpyDtoDAsync_v2(b + 16, a + 1000, 100000, stream)
    cu.cuMemcpyDtoHAsync_v2(back, b + 16, 100000, stream)
    cu.cuStreamSynchronize(stream)
    wanted('part', 1000, 100000)
    assert back[:100000] == host[1000:101000]
    cu.cuMemFree_v2(a)
    cu.cuMemFree_v2(b)


def lines():
    """Of 100 bytes: each is a buffer; the padding between them is not digested."""
    pitch = ctypes.c_size_t()
    to = cu.new('cuMemAllocPitch_v2', ctypes.byref(pitch), 100, LINES, 4)
    cu.cuMemcpy2D_v2(struct.pack('<16Q', 0, 0, 1, ctypes.addressof(host), 0, 0, 1000,
                                 0, 0, 2, 0, to, 0, pitch.value, 100, LINES))
    for i in range(LINES):
        wanted('line', 1000 * i, 100)
    cu.cuMemFree_v2(to)


def small():
    """A few bytes of pageable memory are digested on the host."""
    managed = cu.new('cuMemAllocManaged', 5000, 1)
    cu.cuMemcpyHtoD_v2(managed, host, 5000)
    wanted('managed', 0, 5000)
    cu.cuMemcpyDtoH_v2(back, managed, 77)
    wanted('few', 0, 77)
    pinned = cu.new('cuMemHostAlloc', 300, 0)
    cu.cuMemcpyDtoH_v2(pinned, managed, 300)
    wanted('pinned', 0, 300)
    cu.cuMemFreeHost(pinned)
    cu.cuMemFree_v2(managed)


def load(path):
    """The byte after the image is unmapped; a program may keep its image so."""
    with open(path, 'rb') as f:
        image = ctypes.create_string_buffer(f.read(), 1 << 20)
    cu.cuModuleUnload(cu.new('cuModuleLoadData', image))
    cu.cuModuleUnload(cu.new('cuModuleLoad', path.encode()))


loads = sys.argv[1:2] == ['load']
if sys.argv[1:] and not loads:
    host[int(sys.argv[1])] ^= 1
use_device(0)
stream = new_stream()
for image in sys.argv[2:] if loads else []:
    load(image)
copies(stream)
lines()
small()
cu.cuStreamDestroy_v2(stream)
