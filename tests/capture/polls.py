#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Polls a stream, an event and the current context until the host releases the stream. Then queries the current context
ten times without polling. A second thread polls until it ends. Prints how often both threads queried streams and
events."""
import ctypes
import threading

from cuda import cu, new_stream

ROUNDS, REST, NOT_READY, EQUAL, DEVICE_MAP = 500, 10, 600, 1, 2


class Poller:
    """A stream that waits until `gate` is 1, and an event behind it."""

    def __init__(self, context):
        self.context = context
        host = cu.new('cuMemHostAlloc', 4, DEVICE_MAP)
        self.gate = ctypes.c_uint32.from_address(host)
        self.gate.value = 0
        self.stream = new_stream()
        cu.cuStreamWaitValue32_v2(self.stream, cu.new('cuMemHostGetDevicePointer_v2', host, 0), 1, EQUAL)
        self.event = cu.new('cuEventCreate', 0)
        cu.cuEventRecord(self.event, self.stream)

    def poll(self, expected):
        cu.fails(expected, 'cuStreamQuery', self.stream)
        assert cu.new('cuCtxGetCurrent') == self.context
        cu.fails(expected, 'cuEventQuery', self.event)


def poll_to_the_end(context):
    cu.cuCtxSetCurrent(context)
    poller = Poller(context)
    for _ in range(ROUNDS):
        poller.poll(NOT_READY)


cu.cuInit(0)
own = cu.new('cuCtxCreate_v4', bytes(64), 0, 0)
first = Poller(own)
for _ in range(ROUNDS):
    first.poll(NOT_READY)
first.gate.value = 1
cu.cuStreamSynchronize(first.stream)
first.poll(0)
for _ in range(REST):
    cu.new('cuCtxGetCurrent')
second = threading.Thread(target=poll_to_the_end, args=[own])
second.start()
second.join()
print(2 * (2 * ROUNDS + 1))
