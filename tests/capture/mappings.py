#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mappings.py [BYTE]: copies from the host into a range of three mappings, as PyTorch's expandable segments are, and
back: a large buffer and a small one over the border of two mappings. BYTE of the large buffer is changed."""
import ctypes
import sys

from cuda import access, allocation, cu, pattern, use_device

MAPPINGS, SMALL, UNIT = 3, 1000, 2 << 20


def map_all():
    at = cu.new('cuMemAddressReserve', (MAPPINGS + 1) * UNIT, 0, 0, 0)
    for i in range(MAPPINGS):
        memory = cu.new('cuMemCreate', UNIT, allocation(0), 0)
        cu.cuMemMap(at + i * UNIT, UNIT, 0, memory, 0)
        cu.cuMemSetAccess(at + i * UNIT, UNIT, access(0), 1)
        cu.cuMemRelease(memory)
    return at


use_device(0)
other = cu.new('cuMemAlloc_v2', 1000)
start = map_all()
host = (ctypes.c_ubyte * (MAPPINGS * UNIT - 4096))(*pattern(MAPPINGS * UNIT - 4096))
for byte in map(int, sys.argv[1:]):
    host[byte] ^= 1
cu.cuMemcpyHtoD_v2(start + 4096, host, len(host))
cu.cuMemcpyHtoD_v2(start + UNIT - SMALL // 2, host, SMALL)
cu.cuMemcpyDtoH_v2(host, start + UNIT - SMALL // 2, SMALL)
for i in range(MAPPINGS):
    cu.cuMemUnmap(start + i * UNIT, UNIT)
cu.cuMemAddressFree(start, (MAPPINGS + 1) * UNIT)
cu.cuMemFree_v2(other)
