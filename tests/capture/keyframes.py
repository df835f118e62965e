#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""keyframes.py        one thread, a buffer on each of two GPUs and one of page-locked memory. Iteration k fills page k
                    of the buffers with k + 1; first they are filled with 238.
keyframes.py waits  GPU 0 waits for a word that the thread writes after iteration 1 has begun.
"""
import ctypes
import sys

from cuda import cu, mark_iteration, new_stream, use_device

BYTES, PAGE, STEPS = 200000, 65536, 3
EQUAL = 1


def wait_for_host():
    use_device(0)
    word = ctypes.c_uint.from_address(cu.new('cuMemHostAlloc', 4, 0))
    stream = new_stream()
    buffer = cu.new('cuMemAlloc_v2', BYTES)
    cu.cuMemsetD8_v2(buffer, 1, BYTES)
    mark_iteration()
    cu.cuStreamWaitValue32_v2(stream, ctypes.addressof(word), 1, EQUAL)
    cu.cuMemsetD8Async(buffer, 2, BYTES, stream)
    mark_iteration()
    word.value = 1
    cu.cuStreamSynchronize(stream)
    mark_iteration()
    cu.cuMemsetD8_v2(buffer, 3, BYTES)


def fill_pages():
    contexts, buffers = [], []
    for device in range(2):
        contexts.append(use_device(device))
        buffers.append(cu.new('cuMemAlloc_v2', BYTES))
        cu.cuMemsetD8_v2(buffers[-1], 238, BYTES)
    host = (ctypes.c_ubyte * 1000).from_address(cu.new('cuMemHostAlloc', 1000, 0))
    ctypes.memset(host, 238, 1000)
    for k in range(STEPS):
        mark_iteration()
        for context, buffer in zip(contexts, buffers):
            cu.cuCtxSetCurrent(context)
            cu.cuMemsetD8_v2(buffer + k * PAGE, k + 1, 4096)
        host[k] = k + 1
    mark_iteration()
    for context, buffer in zip(contexts, buffers):
        cu.cuCtxSetCurrent(context)
        cu.cuMemsetD8_v2(buffer, 99, BYTES)


wait_for_host() if sys.argv[1:] else fill_pages()
