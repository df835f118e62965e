#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""strict.py CASE: driver calls with strict preconditions, made by a recorded program. The recorder's additional work must
neither fail nor be visible."""
import ctypes
import mmap
import sys

from cuda import access, allocation, cu, launch, load_kernel, new_stream, use_device

BYTES = 100000
NO_TIMING, GLOBAL, RELAXED, PORTABLE, IO_MEMORY, INVALID_VALUE = 2, 0, 2, 1, 4, 1


class Case:
    def __init__(self):
        self.context, self.first, self.second = use_device(0), new_stream(), new_stream()
        self.memory = cu.new('cuMemAlloc_v2', BYTES)

    def end_capture(self):
        graph = cu.new('cuStreamEndCapture', self.first, ...)
        assert cu.new('cuGraphGetNodes', graph, None, ...) == 1
        cu.cuGraphDestroy(graph)

    def launch(self, kernel, pointer):
        launch(kernel, self.first, pointer)

    def capture_joined_by_event(self):
        """A stream with a pending digest of its last copy joins a capture by waiting for an event."""
        host = cu.new('cuMemHostAlloc', BYTES, 0)
        forked, joined = cu.new('cuEventCreate', NO_TIMING), cu.new('cuEventCreate', NO_TIMING)
        cu.cuStreamBeginCapture_v2(self.first, GLOBAL)
        cu.cuMemcpyHtoDAsync_v2(self.memory, host, BYTES, self.second)
        cu.cuEventRecord(forked, self.first)
        cu.cuStreamWaitEvent(self.second, forked, 0)
        cu.cuMemsetD8Async(self.memory, 1, 10, self.second)
        nothing = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda unused: None)
        cu.cuLaunchHostFunc(new_stream(), nothing, None)
        cu.cuEventRecord(joined, self.second)
        cu.cuStreamWaitEvent(self.first, joined, 0)
        self.end_capture()
        cu.cuCtxSynchronize()

    def load_during_capture(self):
        """A kernel is launched for the first time during a capture."""
        kernel = new_kernel()
        cu.cuStreamBeginCapture_v2(self.first, GLOBAL)
        self.launch(kernel, 0)
        self.end_capture()

    def copy_without_peer_access(self):
        """Memory of another device: a copy needs no peer access, a kernel does."""
        kernel, host = new_kernel(), cu.new('cuMemHostAlloc', BYTES, PORTABLE)
        other = use_device(1)
        theirs = cu.new('cuMemAlloc_v2', BYTES - 1)
        cu.cuCtxSetCurrent(self.context)
        cu.cuMemcpyDtoHAsync_v2(host, theirs, BYTES - 2, self.first)
        self.launch(kernel, theirs)
        cu.cuCtxEnablePeerAccess(other, 0)
        cu.cuMemcpyDtoHAsync_v2(host, theirs, BYTES - 3, self.first)
        self.launch(kernel, theirs)
        cu.cuCtxSynchronize()
        cu.cuCtxDisablePeerAccess(other)
        self.launch(kernel, theirs)
        cu.cuCtxSynchronize()

    def map_for_no_device(self):
        """Memory that is mapped for one device, then for none."""
        kernel, size = new_kernel(), 2 << 20
        at, memory = cu.new('cuMemAddressReserve', size, 0, 0, 0), cu.new('cuMemCreate', size, allocation(0), 0)
        cu.cuMemMap(at, size, 0, memory, 0)
        self.launch(kernel, at)
        for device, flags in (1, 3), (0, 3), (0, 0):
            cu.cuMemSetAccess(at, size, access(device, flags), 1)
            self.launch(kernel, at)
            cu.cuCtxSynchronize()
        cu.cuMemUnmap(at, size)
        cu.cuMemRelease(memory)

    def copy_device_registers(self):
        """I/O memory must not be read."""
        kernel = new_kernel()
        with mmap.mmap(-1, 8192) as io:
            registers = (ctypes.c_char * 8192).from_buffer(io)
            at = ctypes.addressof(registers)
            cu.cuMemHostRegister_v2(at, 8192, IO_MEMORY)
            self.launch(kernel, at)
            cu.cuCtxSynchronize()
            cu.cuMemHostUnregister(at)
            del registers

    def stream_ordered_memory(self):
        """Memory allocated within a capture exists while the graph runs; stream-ordered memory exists for its stream."""
        cu.new('cuMemAllocAsync', 12345, self.second)
        cu.cuStreamBeginCapture_v2(self.first, RELAXED)
        captured = cu.new('cuMemAllocAsync', 23456, self.first)
        cu.cuMemsetD8Async(captured, 1, 10, self.first)
        cu.cuMemFreeAsync(captured, self.first)
        graph = cu.new('cuGraphInstantiateWithFlags', cu.new('cuStreamEndCapture', self.first, ...), 0)
        cu.cuGraphLaunch(graph, self.first)
        cu.cuGraphLaunch(graph, self.second)
        cu.cuCtxSynchronize()

    def copy_in_another_context(self):
        """A copy may use a stream of another context than the current one; kernels may not."""
        host = cu.new('cuMemHostAlloc', BYTES, PORTABLE)
        use_device(1)
        for _ in range(3):
            cu.cuMemcpyHtoDAsync_v2(self.memory, host, BYTES, self.first)
        cu.cuCtxSetCurrent(self.context)
        for _ in range(3):
            cu.cuMemsetD8Async(self.memory, 1, 10, self.first)
        cu.cuStreamSynchronize(self.first)

    def copy_from_unmapped_memory(self):
        """An address range without memory: the driver refuses to copy it."""
        reserved = cu.new('cuMemAddressReserve', 2 << 20, 0, 0, 0)
        cu.fails(INVALID_VALUE, 'cuMemcpyDtoDAsync_v2', self.memory, reserved, 64, self.first)
        cu.fails(INVALID_VALUE, 'cuMemcpyDtoHAsync_v2', ctypes.create_string_buffer(64), reserved, 64, self.first)
        cu.cuMemAddressFree(reserved, 2 << 20)


def new_kernel():
    """A kernel that was not launched yet, with one pointer parameter."""
    return load_kernel('noted(.param .u64 a)')


getattr(Case(), sys.argv[1])()
