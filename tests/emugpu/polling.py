#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Threads that poll streams and events leave the processors to emulated work: while the host executes it, a query waits
briefly. No query waits for work that its own thread has yet to release."""
import ctypes
import time

from cuda import HOST_FUNCTION, INVALID_VALUE, NOT_READY, cu, new_stream, structure

WORK_MS, MOST_QUERIES = 100, 2000
WAIT_32, WRITE_32, WAIT_64, WRITE_64, EQUAL = 1, 2, 4, 5, 1
Operation = structure('kind i, address Q, value Q, flags I, more Q*2')  # CUstreamBatchMemOpParams
ref = ctypes.byref


def query(name, on):
    return cu.library[name](ctypes.c_uint64(on))


def poll_work(name, on):
    work = HOST_FUNCTION(lambda _: time.sleep(WORK_MS / 1000))
    cu.cuLaunchHostFunc(stream, work, None)
    cu.cuEventRecord(event, stream)
    queries = 0
    while (result := query(name, on)) == NOT_READY:
        queries += 1
    print(f'{queries} queries in {WORK_MS} ms')
    assert result == 0 and 0 < queries < MOST_QUERIES


def shared_words(n):
    """Words in memory that the device can access, and their address there."""
    host = cu.new('cuMemHostAlloc', 8 * n, 2)
    return (ctypes.c_uint64 * n).from_address(host), cu.new('cuMemHostGetDevicePointer_v2', host, 0)


def poll_own(name, on):
    """The polling thread itself releases the stream."""
    words, address = shared_words(1)
    words[0] = 0
    cu.cuStreamWaitValue32_v2(stream, address, 1, EQUAL)
    cu.cuEventRecord(event, stream)
    for _ in range(100):
        assert query(name, on) == NOT_READY
    words[0] = 1
    while query(name, on) == NOT_READY:
        pass
    assert query(name, on) == 0
    cu.cuMemFreeHost(ctypes.addressof(words))


def test_batch():
    """A batch of memory operations runs in order."""
    words, at = shared_words(2)
    words[:] = [0, 0]
    operations = (Operation * 4)(Operation(WAIT_32, at, 1, EQUAL), Operation(WRITE_64, at + 8, 5 << 32),
                                 Operation(WAIT_64, at + 8, 5 << 32), Operation(WRITE_32, at + 8, 9))
    cu.cuStreamBatchMemOp_v2(stream, 4, operations, 0)
    cu.fails(NOT_READY, 'cuStreamQuery', stream)
    assert words[1] == 0
    words[0] = 1
    cu.cuStreamSynchronize(stream)
    assert words[1] == 5 << 32 | 9
    # Programs that were built with an older CUDA ask for the first version.
    first = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_void_p, ctypes.c_uint)(
        cu.new('cuGetProcAddress_v2', b'cuStreamBatchMemOp', ..., 8000, 0, None))
    words[1] = 0
    assert first(stream, 1, ref(operations[3]), 0) == 0
    cu.cuStreamSynchronize(stream)
    assert words[1] == 9
    operations[0].kind = 77
    cu.fails(INVALID_VALUE, 'cuStreamBatchMemOp_v2', stream, 1, operations, 0)
    cu.cuMemFreeHost(ctypes.addressof(words))


if __name__ == '__main__':
    cu.cuInit(0)
    cu.new('cuCtxCreate_v4', None, 0, 0)
    stream, event = new_stream(), cu.new('cuEventCreate', 0)
    test_batch()
    for poll in poll_work, poll_own:
        poll('cuStreamQuery', stream)
        poll('cuEventQuery', event)
    cu.cuEventDestroy_v2(event)
    cu.cuStreamDestroy_v2(stream)
