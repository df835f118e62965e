#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One rank of RANK and WORLD_SIZE, started as by torchrun. Makes every kind of exchange on one stream, and one on a
second stream, without kernels of its own; rank 0 leaves the unique id in FOLDER. Prints a sum of what it holds at the
end.

    ranks.py FOLDER [ipc|split]

With `ipc`, it also reads memory of rank 0 directly; with `split`, it uses non-blocking communicators, one of them split
from the other.
"""
import ctypes
import os
import sys
import time

from cuda import FLOAT, IN_PROGRESS, MAX, MIN, SUM, Nccl, UniqueId, config, cu, new_stream, use_device

COUNT, BYTES, NO_TIMING = 1000, 4000, 2
RANK, N, DEVICE = (int(os.environ[name]) for name in ('RANK', 'WORLD_SIZE', 'LOCAL_RANK'))
nccl = Nccl()


class IpcHandle(ctypes.Structure):
    _fields_ = [('bytes', ctypes.c_char * 64)]


def share(folder, name, data):
    """Sends data of rank 0, a structure, to the other ranks through a file."""
    path = os.path.join(folder, name)
    if RANK == 0:
        with open(path + '.new', 'wb') as f:
            f.write(data)
        os.rename(path + '.new', path)
        return
    while not os.path.exists(path):
        time.sleep(0.001)
    with open(path, 'rb') as f:
        f.readinto(data)


def read_first(folder, memory, to):
    """All other ranks read memory of rank 0."""
    handle = IpcHandle()
    if RANK == 0:
        cu.cuIpcGetMemHandle(ctypes.byref(handle), memory)
    share(folder, 'handle', handle)
    if RANK != 0:
        theirs = cu.new('cuIpcOpenMemHandle_v2', handle, 1)
        cu.cuMemcpyDtoD_v2(to, theirs, BYTES)
        cu.cuIpcCloseMemHandle(theirs)


def split(unique):
    """A communicator that is split from another one."""
    settings = config(blocking=0)
    comm = nccl.new('ncclCommInitRankConfig', ..., N, unique, RANK, ctypes.byref(settings), expected=IN_PROGRESS)
    nccl.wait(comm)
    part = nccl.new('ncclCommSplit', comm, 0, RANK, ..., ctypes.byref(settings), expected=IN_PROGRESS)
    nccl.wait(comm)
    nccl.wait(part)
    return part


def exchange(comm, s, x, y, everything):
    # An in-place all-reduce after a memset on the same stream.
    cu.cuMemsetD32Async(x, 0x3f800000 + RANK * 4096, COUNT, s)
    nccl.ncclAllReduce(x, x, COUNT, FLOAT, SUM, comm, s)
    cu.cuMemcpyDtoDAsync_v2(y, x, BYTES, s)
    nccl.ncclReduce(x, x, COUNT, FLOAT, SUM, N - 1, comm, s)
    nccl.ncclBroadcast(x, x, COUNT, FLOAT, N - 1, comm, s)
    # The data arrives when the outer group has ended, in the middle of the buffer.
    nccl.ncclGroupStart()
    nccl.ncclSend(x, COUNT // 2, FLOAT, (RANK + 1) % N, comm, s)
    nccl.ncclGroupStart()
    nccl.ncclRecv(y + BYTES // 4, COUNT // 2, FLOAT, (RANK + N - 1) % N, comm, s)
    nccl.ncclGroupEnd()
    cu.cuMemsetD32Async(y, 0, COUNT, s)
    nccl.ncclGroupEnd()
    nccl.ncclAllGather(y, everything, COUNT, FLOAT, comm, s)
    nccl.ncclReduceScatter(everything, x, COUNT, FLOAT, MAX, comm, s)
    nccl.ncclAllReduce(x, y, 0, FLOAT, SUM, comm, s)


def reduce_beside(comm, s, beside, event, y):
    """On a stream without other operations."""
    cu.cuEventRecord(event, s)
    cu.cuStreamWaitEvent(beside, event, 0)
    nccl.ncclAllReduce(y, y, COUNT, FLOAT, MIN, comm, beside)
    cu.cuEventRecord(event, beside)
    cu.cuStreamWaitEvent(s, event, 0)


def main(folder, how=''):
    use_device(DEVICE)
    unique = nccl.unique_id() if RANK == 0 else UniqueId()
    share(folder, 'unique-id', unique)
    comm = split(unique) if how == 'split' else nccl.new('ncclCommInitRank', ..., N, unique, RANK)
    s, beside = new_stream(), new_stream()
    event = cu.new('cuEventCreate', NO_TIMING)
    x, y, everything = (cu.new('cuMemAlloc_v2', n * BYTES) for n in (1, 1, N))
    if how == 'ipc':
        read_first(folder, x, y)
    for _ in range(3):
        exchange(comm, s, x, y, everything)
        reduce_beside(comm, s, beside, event, y)
    held = (ctypes.c_float * COUNT)()
    cu.cuMemcpyDtoHAsync_v2(held, x, BYTES, s)
    cu.cuStreamSynchronize(s)
    print(RANK, f'{sum(held):g}')
    nccl.ncclCommDestroy(comm)


main(*sys.argv[1:])
