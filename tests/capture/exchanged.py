#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""exchanged.py [nonblocking]: broadcasts between two GPUs, one after another, each of which overwrites a buffer that the
one before wrote or read. "nonblocking": with non-blocking communicators. Prints the expected digests, in any order of
threads: "want LENGTH DIGEST".
"""
import ctypes
import sys
import threading

from cuda import CHAR, IN_PROGRESS, Nccl, config, cu, new_stream, print_wanted, use_device

BYTES = 100000
CONTENTS = [bytes(i * 7 & 255 for i in range(BYTES)), bytes(i * 13 + 1 & 255 for i in range(BYTES))]
nccl = Nccl()


class Rank:
    def __init__(self, rank, unique, blocking):
        self.rank, self.unique, self.blocking, self.wanted = rank, unique, blocking, []

    def run(self):
        use_device(self.rank)
        self.stream = new_stream()
        settings = config(self.blocking)
        self.comm = nccl.new('ncclCommInitRankConfig', ..., 2, self.unique, self.rank, ctypes.byref(settings),
                             expected=0 if self.blocking else IN_PROGRESS)
        nccl.wait(self.comm)
        self.exchange()
        nccl.ncclCommDestroy(self.comm)

    def copy_in(self, at, data):
        cu.cuMemcpyHtoD_v2(at, data, BYTES)
        self.wanted.append(data)
        return at

    def broadcast(self, source, to, data):
        """GPU 0 has `data` at `source`; afterwards both GPUs have it at `to`."""
        nccl.ncclBroadcast(source, to, BYTES, CHAR, 0, self.comm, self.stream)
        self.wanted += [data] * (2 if self.rank == 0 else 1)

    def exchange(self):
        one, two = CONTENTS
        a, b, to = (cu.new('cuMemAlloc_v2', BYTES) for _ in range(3))
        self.copy_in(a, one)
        self.copy_in(b, two)
        self.broadcast(a, to, one)
        self.broadcast(b, to, two)
        self.broadcast(a, b, one)
        cu.cuStreamSynchronize(self.stream)
        self.copy_in(b, two)
        nccl.ncclGroupStart()
        self.broadcast(a, to, one)
        nccl.ncclGroupEnd()
        nccl.ncclGroupStart()
        self.broadcast(b, to, two)
        self.broadcast(a, a, one)
        nccl.ncclGroupEnd()
        cu.cuStreamSynchronize(self.stream)


cu.cuInit(0)
shared = nccl.unique_id()
ranks = [Rank(i, shared, sys.argv[1:] != ['nonblocking']) for i in range(2)]
other = threading.Thread(target=ranks[1].run)
other.start()
ranks[0].run()
other.join()
for content in ranks[0].wanted + ranks[1].wanted:
    print_wanted(BYTES, data=content)
