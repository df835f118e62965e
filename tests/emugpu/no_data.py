#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpuemu --no-data: full GPUs use almost no host memory, and copies to the host write zeros. Small transfers still move
their data."""
import ctypes

from cuda import CHAR, FLOAT, INT, SUM, Library, Nccl, cu, read, resident_bytes, use_device

GPUS = 8
GB = 1 << 30
BYTES = 70 * GB
MOST = 256 << 20  # limit of the resident memory of this process

contexts, memory = [], []


def fill(gpu):
    contexts.append(use_device(gpu))
    here = cu.new('cuMemAlloc_v2', BYTES)
    memory.append(here)
    cu.cuMemsetD32_v2(here, 1, BYTES // 4)
    cu.cuMemcpyDtoD_v2(here, here + BYTES // 2, BYTES // 2)
    if gpu > 0:
        cu.cuMemcpyPeer(here, contexts[gpu], memory[0], contexts[0], BYTES)


def exchange():
    nccl = Nccl()
    comms = nccl.init_all(GPUS)
    nccl.ncclGroupStart()
    for m, comm in zip(memory, comms):
        nccl.ncclAllReduce(m, m, BYTES // 4, FLOAT, SUM, comm, 0)
    nccl.ncclGroupEnd()
    for i, m in enumerate(memory):
        cu.cuCtxSetCurrent(contexts[i])
        cu.cuMemsetD32_v2(m, 7 if i == 0 else 0, 100)
    nccl.ncclGroupStart()
    for i, (m, comm) in enumerate(zip(memory, comms)):
        nccl.ncclAllReduce(m, m, 100, INT, SUM, comm, 0)
        nccl.ncclSend(m, GB, CHAR, (i + 1) % GPUS, comm, 0)
        nccl.ncclRecv(m + GB, GB, CHAR, (i - 1) % GPUS, comm, 0)
    nccl.ncclGroupEnd()
    for m, context, comm in zip(memory, contexts, comms):
        cu.cuCtxSetCurrent(context)
        total = read(ctypes.c_int32 * 100, m)
        assert total[0] == total[99] == 7
        nccl.ncclCommDestroy(comm)


def multiply():
    blas, n, one = Library('libcublas.so.13'), 32768, ctypes.byref(ctypes.c_float(1))
    cu.cuCtxSetCurrent(contexts[0])
    handle = blas.new('cublasCreate_v2')
    blas.cublasSgemm_v2(handle, 0, 0, n, n, n, one, memory[0], n, memory[0], n, one, memory[0] + 8 * GB, n)
    cu.cuStreamSynchronize(0)
    blas.cublasDestroy_v2(handle)


if __name__ == '__main__':
    cu.cuInit(0)
    before = resident_bytes()
    for number in range(GPUS):
        fill(number)
    exchange()
    multiply()
    host = (ctypes.c_char * (1 << 20))(*b'\1' * (1 << 20))
    cu.cuMemcpyHtoD_v2(memory[0], host, len(host))
    cu.cuMemcpyDtoH_v2(host, memory[0], len(host))
    assert host.raw == bytes(len(host))
    assert resident_bytes() - before < MOST
