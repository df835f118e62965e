#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints durations on two GPUs, one a line: name, bytes, milliseconds between events.

    durations.py [FLOATS]      size of an additional all-reduce
"""
import ctypes
import mmap
import sys

from cuda import FLOAT, SUM, Nccl, cu, new_stream

MIB = 1 << 20
BYTES, MEMORY = 8 * MIB, 32 * MIB

cu.cuInit(0)
streams, memory = [], []
for device in 1, 0:
    cu.cuCtxSetCurrent(cu.new('cuDevicePrimaryCtxRetain', device))
    streams.insert(0, new_stream())
    memory.insert(0, cu.new('cuMemAlloc_v2', MEMORY))
before, after = cu.new('cuEventCreate', 0), cu.new('cuEventCreate', 0)


def begin():
    cu.cuStreamSynchronize(streams[0])
    cu.cuEventRecord(before, streams[0])


def end(name, size):
    ms = ctypes.c_float()
    cu.cuEventRecord(after, streams[0])
    cu.cuEventSynchronize(after)
    cu.cuEventElapsedTime_v2(ctypes.byref(ms), before, after)
    print(f'{name}\t{size}\t{ms.value:.3f}')


def copy_in(name, host, size):
    begin()
    cu.cuMemcpyHtoDAsync_v2(memory[0], host, size, streams[0])
    end(name, size)


def copy_out(name, host):
    begin()
    cu.cuMemcpyDtoHAsync_v2(host, memory[0], BYTES, streams[0])
    end(name, BYTES)


def all_reduces(n):
    nccl = Nccl()
    comms = nccl.init_all(2)
    for name in 'first all_reduce', 'all_reduce':  # the first one also loads NCCL's kernels
        begin()
        nccl.ncclGroupStart()
        for at, comm, stream in zip(memory, comms, streams):
            nccl.ncclAllReduce(at, at, n, FLOAT, SUM, comm, stream)
        nccl.ncclGroupEnd()
        end(name, 4 * n)
    for comm in comms:
        nccl.ncclCommDestroy(comm)


if __name__ == '__main__':
    locked, pages = cu.new('cuMemHostAlloc', BYTES, 0), mmap.mmap(-1, BYTES, flags=mmap.MAP_PRIVATE)
    pages.madvise(mmap.MADV_NOHUGEPAGE)
    fresh = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    copy_out('untouched', fresh)
    copy_out('touched', fresh)
    for mib in 1, 2, 4:
        copy_in('in', locked, mib * MIB)
    copy_in('pageable in', fresh, MIB)
    all_reduces(1000000)
    all_reduces(int(sys.argv[1]) if len(sys.argv) > 1 else 900000)
