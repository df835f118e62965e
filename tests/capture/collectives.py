#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""collectives.py processes|threads|group RANKS LAUNCHES [DEPTH]

Launches a graph with computation and communication many times, nested DEPTH times in other graphs. In each launch another
rank is late. Some launches run beside other communication, and the graph is replaced by one of the same form. One process
or one thread for each rank, or one thread for all ranks. Prints results that do not depend on time.
"""
import ctypes
import os
import sys
import threading

from cuda import FLOAT, SUM, Nccl, cu, load_kernel, new_stream, read, use_device
from host_kernels import parameter, register

COUNT = 4096
BYTES = 4 * COUNT
LATE_NS = 300000

nccl = Nccl()


def work(_, args):
    x = (ctypes.c_float * COUNT).from_address(parameter(args, 0))
    x[:] = [value / 2 + 1 for value in x]


def cost(_, args, ret):
    ret.contents.ns = parameter(args, 1, ctypes.c_uint32)


class Rank:
    def __init__(self, rank, n):
        self.rank, self.n, self.comm, self.other, self.graph, self.launched = rank, n, None, None, None, None
        self.context = use_device(rank)
        self.work = load_kernel('work(.param .u64 x, .param .u32 ns)')
        self.a, self.b = new_stream(), new_stream()
        self.forked, self.joined = cu.new('cuEventCreate', 0), cu.new('cuEventCreate', 0)
        self.x = cu.new('cuMemAlloc_v2', 3 * BYTES)
        self.y, self.z = self.x + BYTES, self.x + 2 * BYTES
        cu.cuMemsetD8_v2(self.x, 0, 3 * BYTES)

    def use(self):
        cu.cuCtxSetCurrent(self.context)

    def compute(self, at, ns):
        values = ctypes.c_uint64(at), ctypes.c_uint32(ns)
        self.use()
        cu.cuLaunchKernel(self.work, 1, 1, 1, 32, 1, 1, 0, self.a,
                          (ctypes.c_void_p * 2)(*map(ctypes.addressof, values)), None)

    def order(self, event, first, second):
        """The second stream waits for the first one."""
        self.use()
        cu.cuEventRecord(event, first)
        cu.cuStreamWaitEvent(second, event, 0)

    def wrap(self, depth):
        """Wraps the graph as a child of another graph, DEPTH times."""
        for _ in range(depth):
            parent = cu.new('cuGraphCreate', 0)
            first = ctypes.c_uint64(cu.new('cuGraphAddEmptyNode', parent, None, 0))
            cu.new('cuGraphAddChildGraphNode', parent, ctypes.byref(first), 1, self.graph)
            cu.cuGraphDestroy(self.graph)
            self.graph = parent

    def instantiate(self, depth):
        """Makes an executable graph, or updates it."""
        self.wrap(depth)
        self.use()
        if self.launched:
            cu.cuGraphExecUpdate_v2(self.launched, self.graph, ctypes.create_string_buffer(64))
        else:
            self.launched = cu.new('cuGraphInstantiateWithFlags', self.graph, 0)
        cu.cuGraphDestroy(self.graph)

    def print_result(self):
        self.use()
        total = sum(read(ctypes.c_float * (3 * COUNT), self.x))
        os.write(1, f'rank {self.rank}: {total:.3f}\n'.encode())  # at once, beside those of other processes


# ---- communication of all ranks of the process

def communicate(ranks, calls):
    """A group of the calls that calls(rank) yields: name and arguments."""
    nccl.ncclGroupStart()
    for rank in ranks:
        for name, *args in calls(rank):
            getattr(nccl, name)(*args)
    nccl.ncclGroupEnd()


def all_reduce(ranks, count):
    communicate(ranks, lambda r: [('ncclAllReduce', r.x, r.y, count, FLOAT, SUM, r.comm, r.a)])


def pass_on(ranks):
    communicate(ranks, lambda r: [('ncclSend', r.y, COUNT // 2, FLOAT, (r.rank + 1) % r.n, r.comm, r.a),
                                  ('ncclRecv', r.x, COUNT // 2, FLOAT, (r.rank - 1) % r.n, r.comm, r.a)])


def broadcast(ranks):
    communicate(ranks, lambda r: [('ncclBroadcast', r.z, r.z, COUNT, FLOAT, 0, r.other, r.b)])


# ---- a run

def capture(ranks, count):
    for rank in ranks:
        rank.use()
        cu.cuStreamBeginCapture_v2(rank.a, 2)
        rank.compute(rank.x, 20000)
    all_reduce(ranks, count)
    for rank in ranks:
        rank.order(rank.forked, rank.a, rank.b)
    broadcast(ranks)
    for rank in ranks:
        rank.compute(rank.y, 10000 * (1 + rank.rank))
    pass_on(ranks)
    for rank in ranks:
        rank.order(rank.joined, rank.b, rank.a)
        rank.compute(rank.z, 5000)
        rank.graph = cu.new('cuStreamEndCapture', rank.a, ...)


def launch(ranks, step):
    for rank in ranks:
        if step % rank.n == rank.rank:
            rank.compute(rank.x, LATE_NS)
        rank.use()
        cu.cuGraphLaunch(rank.launched, rank.a)
    if step % 4 == 3:
        all_reduce(ranks, COUNT)
    for rank in ranks:
        rank.use()
        cu.cuStreamSynchronize(rank.a)


def run(ranks, launches, depth):
    for half, count in enumerate((COUNT, COUNT // 2)):
        capture(ranks, count)
        for rank in ranks:
            rank.instantiate(depth)
        for step in range(half * (launches // 2), launches if half else launches // 2):
            launch(ranks, step)
    for rank in ranks:
        rank.print_result()
        cu.cuGraphExecDestroy(rank.launched)
    for rank in ranks:
        nccl.ncclCommDestroy(rank.other)
        nccl.ncclCommDestroy(rank.comm)


def run_rank(unique, number, n, *how):
    rank = Rank(number, n)
    rank.comm = nccl.new('ncclCommInitRank', n, unique, number)
    rank.other = nccl.new('ncclCommSplit', rank.comm, 0, number, ..., None)
    run([rank], *how)


def run_processes(n, *how):
    unique, children = nccl.unique_id(), []
    for number in range(n):
        children.append(os.fork())
        if children[-1] == 0:
            run_rank(unique, number, n, *how)
            sys.exit()
    sys.exit(any([os.waitpid(child, 0)[1] for child in children]))


def run_threads(n, *how):
    unique = nccl.unique_id()
    threads = [threading.Thread(target=run_rank, args=(unique, number, n, *how)) for number in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run_group(n, *how):
    ranks = [Rank(number, n) for number in range(n)]
    for rank, comm, other in zip(ranks, nccl.init_all(n), nccl.init_all(n)):
        rank.comm, rank.other = comm, other
    run(ranks, *how)


if __name__ == '__main__':
    way, n_ranks, n_launches, *nested = sys.argv[1:]
    register('work', work, cost)
    {'processes': run_processes, 'threads': run_threads, 'group': run_group}[way](
        int(n_ranks), int(n_launches), int(nested[0]) if nested else 0)
