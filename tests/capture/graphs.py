#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""graphs.py        captures one stream in the strictest mode while another stream copies; both are recorded. The
                 recorder's own work during the capture must neither invalidate the capture nor be captured.
graphs.py added  adds a node to the graph of a capture in progress, after the last captured one.
"""
import ctypes
import struct
import sys
import time

from cuda import cu, new_stream, use_device

COPIES, BYTES = 200, 4096
GLOBAL = 0  # capture mode
SET_DEPENDENCIES = 1


def run(stream):
    graph = cu.new('cuStreamEndCapture', stream, ...)
    cu.cuGraphLaunch(cu.new('cuGraphInstantiateWithFlags', graph, 0), stream)
    cu.cuCtxSynchronize()


def add_node(stream, at, context):
    fill = struct.pack('<QQIIQQ', at, 0, 5, 1, BYTES // 2, 1)
    status, graph, last, n = ctypes.c_int(), ctypes.c_uint64(), ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_size_t()
    cu.cuStreamGetCaptureInfo_v3(stream, ctypes.byref(status), None, ctypes.byref(graph), ctypes.byref(last), None,
                                 ctypes.byref(n))
    assert status.value == 1 and n.value == 1
    node = ctypes.c_uint64(cu.new('cuGraphAddMemsetNode', graph, last, n, fill, context))
    cu.cuStreamUpdateCaptureDependencies_v2(stream, ctypes.byref(node), None, 1, SET_DEPENDENCIES)


def added():
    context, stream = use_device(0), new_stream()
    at = cu.new('cuMemAlloc_v2', 2 * BYTES)
    cu.cuStreamBeginCapture_v2(stream, GLOBAL)
    cu.cuMemsetD8Async(at, 3, BYTES, stream)
    add_node(stream, at, context)
    cu.cuMemcpyDtoDAsync_v2(at + BYTES, at, BYTES, stream)
    run(stream)


def beside_copies():
    use_device(0)
    captured, other = new_stream(), new_stream()
    at, host = cu.new('cuMemAlloc_v2', 2 * BYTES), cu.new('cuMemHostAlloc', BYTES, 0)
    cu.cuStreamBeginCapture_v2(captured, GLOBAL)
    for i in range(COPIES):
        cu.cuMemsetD8Async(at, i, BYTES, captured)
        cu.cuMemcpyHtoDAsync_v2(at + BYTES, host, BYTES, other)
    time.sleep(0.005)  # the library's thread queries the times of earlier launches
    run(captured)


added() if sys.argv[1:] == ['added'] else beside_copies()
