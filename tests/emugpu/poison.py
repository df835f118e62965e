#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpuemu --poison: a kernel without a host kernel fills its output with NaN, and neither its inputs nor other buffers."""
import ctypes
import math

from cuda import cu, load_kernel, read, unload, use_device

N, THREADS = 1000, 128


def scale(n, x, y):
    """void scale(int n, const float *x, float *y)"""
    values = ctypes.c_int(n), ctypes.c_uint64(x), ctypes.c_uint64(y)
    params = (ctypes.c_void_p * 3)(*map(ctypes.addressof, values))
    cu.cuLaunchKernel(kernel, -(-N // THREADS), 1, 1, THREADS, 1, 1, 0, 0, params, None)


def nans(at, n):
    """Returns how many of n numbers are NaN."""
    return sum(map(math.isnan, read(ctypes.c_float * n, at)))


if __name__ == '__main__':
    ctypes.CDLL('libstdc++.so.6', ctypes.RTLD_GLOBAL)  # the demangler
    use_device(0)
    kernel = load_kernel('_Z5scaleiPKfPf(.param .u32 n, .param .u64 x, .param .u64 y)')
    source, to = cu.new('cuMemAlloc_v2', 4 * N), cu.new('cuMemAlloc_v2', 4 * N)
    cu.cuMemsetD32_v2(source, 0, N)
    cu.cuMemsetD32_v2(to, 0, N)
    scale(N, source, to)
    assert (nans(source, N), nans(to, N)) == (0, N)

    # Two tensors of 256 numbers in one allocation.
    both = cu.new('cuMemAlloc_v2', 1 << 20)
    cu.cuMemsetD32_v2(both + 1024, 0, 256)
    scale(256, source, both)
    assert (nans(both, 256), nans(both + 1024, 256)) == (256, 0)
    unload(kernel)
