#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three seconds of products, for the hint of gpuemu."""
import ctypes
import time

from cuda import Library, cu, use_device

N = 1024

if __name__ == '__main__':
    blas, one, zero = Library('libcublas.so.13'), ctypes.byref(ctypes.c_float(1)), ctypes.byref(ctypes.c_float(0))
    use_device(0)
    a, b, c = (cu.new('cuMemAlloc_v2', 4 * N * N) for _ in range(3))
    cu.cuMemsetD32_v2(a, 0x3f800000, N * N)  # products of zeros are not computed
    cu.cuMemsetD32_v2(b, 0x3f800000, N * N)
    handle = blas.new('cublasCreate_v2')
    while time.process_time() < 3:
        blas.cublasSgemm_v2(handle, 0, 0, N, N, N, one, a, N, b, N, zero, c, N)
    cu.cuStreamSynchronize(0)
    blas.cublasDestroy_v2(handle)
