#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Device memory that contains only zeros uses no host memory, through fills, copies, NCCL and products. Values between
absent pages arrive everywhere."""
import ctypes

from cuda import CHAR, INT, MIN, SUM, Library, Nccl, cu, read, resident_bytes, use_device

GPUS = 4
GB = 1 << 30
BYTES = 4 * GB
HALF = BYTES // 2
MOST = 128 << 20  # limit of the resident memory of this process
VALUE_AT = 3 * GB + 12345 * 4  # not at the begin of a page, and in the second half
VALUES = 3000
MESSAGE = 1 << 20  # with values

cu.cuInit(0)
contexts, memory = [], []
values = (ctypes.c_int32 * VALUES)(*range(1, VALUES + 1))


def check(at, factor):
    """[at - 4, at + 4 * VALUES + 4) has `factor` times the values, between zeros."""
    assert read(ctypes.c_int32 * (VALUES + 2), at - 4)[:] == [0, *(factor * value for value in values), 0]


def write_values(gpu, at):
    cu.cuCtxSetCurrent(contexts[gpu])
    cu.cuMemcpyHtoD_v2(at, values, 4 * VALUES)


def copy(gpu):
    contexts.append(use_device(gpu))
    here = cu.new('cuMemAlloc_v2', BYTES)
    memory.append(here)
    cu.cuMemsetD32_v2(here, 0, BYTES // 4)
    write_values(gpu, here + VALUE_AT)
    check(here + VALUE_AT, 1)
    cu.cuMemcpyDtoD_v2(here + 8, here + HALF, HALF - 8)  # other positions in pages
    check(here + VALUE_AT - HALF + 8, 1)
    host = (ctypes.c_char * (1 << 20))(*b'\1' * (1 << 20))
    cu.cuMemcpyDtoH_v2(host, here + 9 * GB // 8, len(host))
    assert host.raw == bytes(len(host))
    # A fill with zeros clears its bytes, but not the byte before and after them.
    cu.cuMemsetD8_v2(here + 100, 7, 300000)
    cu.cuMemsetD8_v2(here + 101, 0, 299998)
    assert read(ctypes.c_char * 300000, here + 100).raw == b'\7' + bytes(299998) + b'\7'
    cu.cuMemsetD8_v2(here, 0, HALF)
    if gpu > 0:
        cu.cuMemcpyPeer(here, contexts[gpu], memory[0] + HALF, contexts[0], HALF)
        check(here + VALUE_AT - HALF, 1)
        cu.cuMemsetD8_v2(here, 0, HALF)


def each_rank(nccl, calls):
    """Makes the calls of each rank in a group, and waits for them; calls(i, m) of memory m yields name and arguments."""
    nccl.ncclGroupStart()
    for i, m in enumerate(memory):
        for name, *args in calls(i, m):
            getattr(nccl, name)(*args, comms[i], 0)
    nccl.ncclGroupEnd()
    for context in contexts:
        cu.cuCtxSetCurrent(context)
        cu.cuStreamSynchronize(0)


def exchange(nccl):
    """The second half of each buffer has values; on GPU 0, the first half has them, too."""
    n, last = GB // 4, memory[GPUS - 1]
    each_rank(nccl, lambda i, m: [('ncclAllReduce', m, m, BYTES // 4, INT, SUM)])
    for m in memory:
        check(m + VALUE_AT, GPUS)
    write_values(0, memory[0] + 4096)
    each_rank(nccl, lambda i, m: [('ncclAllReduce', m, m, n, INT, MIN)])
    check(last + 4096, 0)
    write_values(0, memory[0] + 4096)
    each_rank(nccl, lambda i, m: [('ncclBroadcast', m, m, n, INT, 0)])
    check(last + 4096, 1)
    each_rank(nccl, lambda i, m: [('ncclReduceScatter', m, m + GB, n // GPUS, INT, SUM)])
    check(memory[0] + GB + 4096, GPUS)
    each_rank(nccl, lambda i, m: [('ncclAllGather', m + GB, m, n // GPUS, INT)])
    check(last + 4096, GPUS)
    each_rank(nccl, lambda i, m: [('ncclSend', m + VALUE_AT - 4, MESSAGE, CHAR, (i + 1) % GPUS),
                                  ('ncclRecv', m + GB, MESSAGE, CHAR, (i - 1) % GPUS)])
    check(memory[1] + GB + 4, GPUS)
    each_rank(nccl, lambda i, m: [('ncclSend', m + 2 * GB, GB // 8, CHAR, (i + 1) % GPUS),
                                  ('ncclRecv', m + GB, GB // 8, CHAR, (i - 1) % GPUS)])
    cu.cuCtxSetCurrent(contexts[1])
    assert not any(read(ctypes.c_int32 * VALUES, memory[1] + GB))


def sweep(nccl):
    """Operations of growing sizes at growing offsets, as in nccl-tests: zeros that small ones wrote use no memory
    elsewhere."""
    for context, m in zip(contexts, memory):
        cu.cuCtxSetCurrent(context)
        cu.cuMemsetD8_v2(m, 0, 2 * GB)
    n = 16 << 10
    while n <= GB // 32:
        for at in range(0, 16 * n, n):
            each_rank(nccl, lambda i, m, at=at, n=n: [
                ('ncclReduceScatter', m + at, m + GB + at, n // 4 // GPUS, INT, SUM),
                ('ncclAllGather', m + GB + at, m + at, n // 4 // GPUS, INT)])
        n *= 2


def multiply():
    """C = A B + C: with 8192 x 8192 elements, then with small matrices."""
    blas, n, rows = Library('libcublas.so.13'), 8192, 300001
    one, zero = ctypes.byref(ctypes.c_float(1)), ctypes.byref(ctypes.c_float(0))
    a, b, c = (memory[0] + i * GB // 2 for i in range(3))

    def put(at, *numbers):
        cu.cuMemcpyHtoD_v2(at, (ctypes.c_float * len(numbers))(*numbers), 4 * len(numbers))

    cu.cuCtxSetCurrent(contexts[0])
    cu.cuMemsetD8_v2(memory[0], 0, BYTES)
    put(c, 3, 4)
    handle = blas.new('cublasCreate_v2')
    blas.cublasSgemm_v2(handle, 0, 1, n, n, n, one, a, n, b, n, zero, c, n)
    assert read(ctypes.c_float * 2, c)[:] == [0, 0]
    put(a + 4 * 300000, 5, 0)
    put(b + 4, 5)
    blas.cublasSgemm_v2(handle, 0, 0, rows, 1, 2, one, a, rows, b, 2, zero, c, rows)
    assert read(ctypes.c_float * 2, c + 4 * 299999)[:] == [0, 0]
    blas.cublasSgemm_v2(handle, 0, 0, rows, 1, 2, one, a, rows, b + 4, 2, one, c, rows)
    assert read(ctypes.c_float * 2, c + 4 * 299999)[:] == [0, 25]
    blas.cublasDestroy_v2(handle)


if __name__ == '__main__':
    before = resident_bytes()
    for gpu in range(GPUS):
        copy(gpu)
    library = Nccl()
    comms = library.init_all(GPUS)
    exchange(library)
    sweep(library)
    for comm in comms:
        library.ncclCommDestroy(comm)
    multiply()
    assert resident_bytes() - before < MOST
