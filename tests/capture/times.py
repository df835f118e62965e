#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""times.py                 copies to a GPU, one after another on a stream that is never idle. The recorder's work on the
                         stream must not change the duration of the last copy.
times.py legacy          copies on the legacy stream and on a blocking stream in turns, then one on a non-blocking
                         stream. Each except the last waits for the one before it.
times.py SECONDS [IDLE]  a copy each second of virtual time, and the times before and after it: "between FROM TO". Does
                         the same again from second IDLE on.
"""
import ctypes
import sys

from cuda import cu, new_stream, use_device

BYTES, COPIES = 32 << 20, 3
cu.library.gpuemu_host_ns.restype = ctypes.c_uint64


def in_sequence(to, source, stream):
    for _ in range(COPIES):
        cu.cuMemcpyHtoDAsync_v2(to, source, BYTES, stream)
    cu.cuStreamSynchronize(stream)


def in_turns(to, source, independent):
    waits = new_stream(0)
    for stream in 0, 0, waits, 0, waits, waits, 0:
        cu.cuMemcpyHtoDAsync_v2(to, source, BYTES, stream)
    cu.cuCtxSynchronize()
    cu.cuMemcpyHtoDAsync_v2(to, source, BYTES, independent)
    cu.cuCtxSynchronize()
    cu.cuStreamDestroy_v2(waits)


def each_second(first, seconds, to, source, stream):
    for i in range(first, first + seconds):
        cu.library.gpuemu_thread_not_before(ctypes.c_int64(i * 10**9))
        begun = cu.library.gpuemu_host_ns()
        cu.cuMemcpyHtoDAsync_v2(to, source, 64, stream)
        cu.cuStreamSynchronize(stream)
        print('between', begun, cu.library.gpuemu_host_ns())


use_device(0)
stream = new_stream()
to, source = cu.new('cuMemAlloc_v2', BYTES), cu.new('cuMemHostAlloc', BYTES, 0)
if sys.argv[1:] == ['legacy']:
    in_turns(to, source, stream)
elif sys.argv[1:]:
    seconds = int(sys.argv[1])
    for first in 1, *map(int, sys.argv[2:]):
        each_second(first, seconds, to, source, stream)
else:
    in_sequence(to, source, stream)
cu.cuMemFreeHost(source)
cu.cuMemFree_v2(to)
cu.cuStreamDestroy_v2(stream)
