#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls each driver function that allocates or frees memory once. Prints a line for each call: its name, the bytes and
the address that the table of allocations should show; `-` for none."""
import ctypes

from cuda import allocation, cu, new_stream, use_device


def freed(call, size, at, *args):
    getattr(cu, call)(at, *args)
    print(call, size, at)


def allocated(call, size, *args):
    at = cu.new(call, *args)
    print(call, size, at)
    return at


def of_device(stream):
    freed('cuMemFree_v2', 1000, allocated('cuMemAlloc_v2', 1000, 1000))
    freed('cuMemFree_v2', 3000, allocated('cuMemAllocManaged', 3000, 3000, 1))
    pitch = ctypes.c_uint64()
    at = cu.new('cuMemAllocPitch_v2', ctypes.byref(pitch), 100, 7, 4)
    print('cuMemAllocPitch_v2', 7 * pitch.value, at)
    freed('cuMemFree_v2', 7 * pitch.value, at)
    freed('cuMemFreeAsync', 5000, allocated('cuMemAllocAsync', 5000, 5000, stream), stream)
    pool = cu.new('cuDeviceGetDefaultMemPool', 0)
    freed('cuMemFreeAsync', 6000, allocated('cuMemAllocFromPoolAsync', 6000, 6000, pool, stream), stream)
    cu.fails(2, 'cuMemAlloc_v2', ctypes.byref(ctypes.c_uint64()), 1 << 60)
    print('cuMemAlloc_v2', 1 << 60, '-')


def of_host():
    freed('cuMemFreeHost', 7000, allocated('cuMemHostAlloc', 7000, 7000, 1))
    freed('cuMemFreeHost', 8000, allocated('cuMemAllocHost_v2', 8000, 8000))
    mine = ctypes.create_string_buffer(1 << 16)
    cu.cuMemHostRegister_v2(mine, len(mine), 0)
    print('cuMemHostRegister_v2', len(mine), ctypes.addressof(mine))
    freed('cuMemHostUnregister', len(mine), ctypes.addressof(mine))


def of_addresses():
    """Reserves addresses and creates memory separately."""
    unit = cu.new('cuMemGetAllocationGranularity', allocation(0), 0)
    at = allocated('cuMemAddressReserve', 4 * unit, 4 * unit, 0, 0, 0)
    memory = cu.new('cuMemCreate', 2 * unit, allocation(0), 0)
    print('cuMemCreate', 2 * unit, '-')
    cu.cuMemMap(at + unit, 2 * unit, 0, memory, 0)
    print('cuMemMap', 2 * unit, at + unit)
    freed('cuMemUnmap', 2 * unit, at + unit, 2 * unit)
    cu.cuMemRelease(memory)
    print('cuMemRelease', 2 * unit, '-')
    freed('cuMemAddressFree', 4 * unit, at, 4 * unit)


use_device(0)
stream = new_stream()
of_device(stream)
of_host()
of_addresses()
cu.cuStreamSynchronize(stream)
