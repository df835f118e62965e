#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One thread drives several GPUs, as nccl-tests do with -g. Each step fills a buffer on every GPU and calls a group of
all-reduces and a group of all-gathers.

    devices.py all|ranks|null|alone|only|peers GPUS STEPS

    all    ncclCommInitAll(); the last GPU stays current during a group
    ranks  a group of ncclCommInitRank(); each GPU is made current for its calls
    null   like all, on default streams
    alone  without NCCL: the first GPU computes, the others fill buffers
    only   without NCCL: only GPU number GPUS computes
    peers  each GPU copies from the next one, between contexts of the program
"""
import ctypes
import sys

from cuda import FLOAT, INT, SUM, Nccl, cu, launch, load_kernel, new_stream

COUNT = 4096


class Gpu:
    def __init__(self, device, n, with_stream):
        self.context = cu.new('cuDevicePrimaryCtxRetain', device)
        cu.cuCtxSetCurrent(self.context)
        self.work = load_kernel('work(.param .u64 x)')
        self.source, self.to = cu.new('cuMemAlloc_v2', 4 * COUNT), cu.new('cuMemAlloc_v2', 4 * n * COUNT)
        self.stream = new_stream() if with_stream else 0
        self.comm = None

    def compute(self, step):
        cu.cuCtxSetCurrent(self.context)
        cu.cuMemsetD8Async(self.source, step, 4 * COUNT, self.stream)
        launch(self.work, self.stream, self.source, block=32)

    def communicate(self, nccl, sets, name, *args):
        if sets:
            cu.cuCtxSetCurrent(self.context)
        getattr(nccl, name)(self.source, self.to, COUNT, *args, self.comm, self.stream)

    def synchronize(self):
        cu.cuCtxSetCurrent(self.context)
        cu.cuStreamSynchronize(self.stream)


def init_ranks(nccl, gpus):
    unique, comms = nccl.unique_id(), [ctypes.c_void_p() for _ in gpus]
    nccl.ncclGroupStart()
    for i, gpu in enumerate(gpus):
        cu.cuCtxSetCurrent(gpu.context)
        nccl.ncclCommInitRank(ctypes.byref(comms[i]), len(gpus), unique, i)
    nccl.ncclGroupEnd()
    return [comm.value for comm in comms]


def run_together(how, gpus, steps):
    nccl, sets = Nccl(), how == 'ranks'
    for gpu, comm in zip(gpus, init_ranks(nccl, gpus) if sets else nccl.init_all(len(gpus))):
        gpu.comm = comm
    for step in range(steps):
        for gpu in gpus:
            gpu.compute(step)
        for name, *args in ('ncclAllReduce', FLOAT, SUM), ('ncclAllGather', INT):
            nccl.ncclGroupStart()
            for gpu in gpus:
                gpu.communicate(nccl, sets, name, *args)
            nccl.ncclGroupEnd()
        for gpu in gpus:
            gpu.synchronize()
    for gpu in gpus:
        nccl.ncclCommDestroy(gpu.comm)


def run_alone(gpus, steps):
    for step in range(steps):
        gpus[0].compute(step)
        for gpu in gpus[1:]:
            cu.cuCtxSetCurrent(gpu.context)
            cu.cuMemsetD8Async(gpu.source, 1, COUNT, gpu.stream)
        for gpu in gpus:
            gpu.synchronize()


def copy_from_peers(n, steps):
    contexts, memory = [], []
    for i in range(n):
        contexts.append(cu.new('cuCtxCreate_v4', bytes(64), 0, i))
        memory.append(cu.new('cuMemAlloc_v2', COUNT))
        cu.cuMemsetD8_v2(memory[i], i, COUNT)
    for i in range(n * steps):
        own, peer = i % n, (i + 1) % n
        cu.cuCtxSetCurrent(contexts[own])
        if i < n:
            cu.cuCtxEnablePeerAccess(contexts[peer], 0)
        cu.cuMemcpyPeerAsync(memory[own], contexts[own], memory[peer], contexts[peer], COUNT // 2, None)
        cu.cuCtxSynchronize()


def main(how, n, steps):
    cu.cuInit(0)
    if how == 'peers':
        copy_from_peers(n, steps)
    elif how == 'only':
        run_alone([Gpu(n, 1, True)], steps)
    else:
        gpus = [Gpu(i, n, how != 'null') for i in range(n)]
        if how == 'alone':
            run_alone(gpus, steps)
        else:
            run_together(how, gpus, steps)


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
