#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NVML and the driver report the same about the emulated GPUs."""
import ctypes
import os

from cuda import Library, cu, structure

UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, INSUFFICIENT_SIZE, VERSION_MISMATCH = 1, 2, 3, 7, 25
SM, MEMORY, VIDEO = 1, 2, 3  # nvmlClockType_t
CLOCK_RATE, MEMORY_CLOCK_RATE, MAJOR = 13, 36, 75  # CUdevice_attribute

Fabric = structure('version I, uuid B*16, status i, clique I, state B, health_mask I, summary B')
Pci = structure('legacy c*16, domain I, bus I, device I, ids I*2, id c*32')
Memory = structure('total Q, free Q, used Q')
Process = structure('pid I, bytes Q, instance I, compute I')
OldProcess = structure('pid I, bytes Q')

nvml = Library('libnvidia-ml.so.1')
ref = ctypes.byref


def text(library, name, *args):
    """A string that the function writes to a buffer; None in `args` is the buffer."""
    buffer = ctypes.create_string_buffer(256)
    library.fails(0, name, *(buffer if arg is None else arg for arg in args))
    return buffer.value


def attribute(device, what):
    return cu.new('cuDeviceGetAttribute', ..., what, device)


def check_fabric(device, major):
    supported = 0 if major >= 9 else NOT_SUPPORTED
    fabric = Fabric(version=36 | 2 << 24, state=9)
    nvml.fails(supported, 'nvmlDeviceGetGpuFabricInfoV', device, ref(fabric))
    assert fabric.state == (0 if major >= 9 else 9)
    fabric.version = 40 | 3 << 24
    nvml.fails(supported, 'nvmlDeviceGetGpuFabricInfoV', device, ref(fabric))
    fabric.version = 7
    nvml.fails(VERSION_MISMATCH if major >= 9 else NOT_SUPPORTED, 'nvmlDeviceGetGpuFabricInfoV', device, ref(fabric))


def check_sensors(device, ordinal):
    """The emulated GPUs have clocks, but no sensors."""
    for clock, rate in (SM, CLOCK_RATE), (MEMORY, MEMORY_CLOCK_RATE):
        mhz = nvml.new('nvmlDeviceGetClockInfo', device, clock, ...)
        assert mhz > 0 and mhz == attribute(ordinal, rate) // 1000
    buffer = (ctypes.c_uint * 2)()
    nvml.fails(NOT_SUPPORTED, 'nvmlDeviceGetClockInfo', device, VIDEO, buffer)
    nvml.fails(NOT_SUPPORTED, 'nvmlDeviceGetUtilizationRates', device, buffer)
    nvml.fails(NOT_SUPPORTED, 'nvmlDeviceGetTemperature', device, 0, buffer)
    nvml.fails(NOT_SUPPORTED, 'nvmlDeviceGetPowerUsage', device, buffer)


def compare(number):
    ordinal, device = cu.new('cuDeviceGet', ..., number), nvml.new('nvmlDeviceGetHandleByIndex', number, ...)
    assert nvml.new('nvmlDeviceGetIndex', device, ...) == number
    assert text(nvml, 'nvmlDeviceGetName', device, None, 256) == text(cu, 'cuDeviceGetName', None, 256, ordinal)
    nvml.fails(INSUFFICIENT_SIZE, 'nvmlDeviceGetName', device, ctypes.create_string_buffer(2), 2)
    memory = Memory()
    nvml.nvmlDeviceGetMemoryInfo(device, ref(memory))
    assert memory.total == cu.new('cuDeviceTotalMem_v2', ..., ordinal)
    assert memory.used + memory.free == memory.total
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvml.nvmlDeviceGetCudaComputeCapability(device, ref(major), ref(minor))
    assert major.value == attribute(ordinal, MAJOR)
    check_fabric(device, major.value)
    check_sensors(device, ordinal)
    pci = Pci()
    nvml.nvmlDeviceGetPciInfo(device, ref(pci))
    bus = text(cu, 'cuDeviceGetPCIBusId', None, 32, ordinal)
    assert [int(part, 16) for part in bus.split(b'.')[0].split(b':')][1:] == [pci.bus, pci.device], bus
    assert nvml.new('nvmlDeviceGetHandleByPciBusId', bus, ...) == device
    assert nvml.new('nvmlDeviceGetHandleByUUID', text(nvml, 'nvmlDeviceGetUUID', device, None, 80), ...) == device
    nvml.new('nvmlDeviceGetBoardId', device, ..., expected=NOT_SUPPORTED)


def check_processes(device):
    """A process is listed on a GPU from its first context there."""
    def running(version, kind):
        n, found = ctypes.c_uint(2), (kind * 2)()
        getattr(nvml, f'nvmlDeviceGetComputeRunningProcesses{version}')(device, ref(n), found)
        return n.value, found

    assert running('_v3', Process)[0] == 0
    cu.cuCtxSetCurrent(cu.new('cuDevicePrimaryCtxRetain', 0))
    memory = cu.new('cuMemAlloc_v2', 1 << 20)
    n = ctypes.c_uint(0)
    nvml.fails(INSUFFICIENT_SIZE, 'nvmlDeviceGetComputeRunningProcesses_v3', device, ref(n), None)
    assert n.value == 1
    n, found = running('_v3', Process)
    assert n == 1 and found[0].pid == os.getpid() and found[0].bytes >= 1 << 20
    assert found[0].instance == found[0].compute == 0xffffffff
    n, old = running('', OldProcess)
    assert n == 1 and (old[0].pid, old[0].bytes) == (os.getpid(), found[0].bytes)
    cu.cuMemFree_v2(memory)
    cu.cuDevicePrimaryCtxRelease_v2(0)


def main():
    count = ctypes.c_int()
    nvml.new('nvmlDeviceGetCount', expected=UNINITIALIZED)
    nvml.nvmlInit()
    cu.cuInit(0)
    n = nvml.new('nvmlDeviceGetCount')
    cu.cuDeviceGetCount(ref(count))
    assert n == count.value > 0
    for i in range(n):
        compare(i)
    check_processes(nvml.new('nvmlDeviceGetHandleByIndex', 0, ...))
    nvml.new('nvmlDeviceGetHandleByIndex', n, ..., expected=INVALID_ARGUMENT)
    nvml.nvmlShutdown()
    nvml.fails(UNINITIALIZED, 'nvmlShutdown')


if __name__ == '__main__':
    main()
