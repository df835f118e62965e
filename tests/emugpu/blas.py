#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuBLAS and cuBLASLt on emulated GPUs, through the driver API.

    blas.py [CUDA]     the folder of CUDA's headers, whose version cuBLAS reports
"""
import ctypes
import re
import sys
import threading

from cuda import Library, cu, read, use_device

M, N, K = 70, 50, 90
NORMAL, UPPER, DEVICE_POINTERS, HOST_POINTERS, FLOAT = 0, 1, 1, 0, 0
COMPUTE, COMPUTE_TF32 = 68, 77
INVALID_VALUE, NOT_SUPPORTED = 7, 15
EPILOGUE, BIAS_POINTER, RELU_BIAS = 7, 8, 6

blas, lt = Library('libcublas.so.13'), Library('libcublasLt.so.13')
ref = ctypes.byref
one, zero, two, three, minus_one, minus_two = (ref(ctypes.c_float(x)) for x in (1, 0, 2, 3, -1, -2))


def floats(values):
    return (ctypes.c_float * len(values))(*values)


a = floats([(i * 7919 % 101) / 50 - 1 for i in range(M * K)])
b = floats([(i * 104729 % 97) / 48 - 1 for i in range(K * N)])
rows, columns = [a[i::M] for i in range(M)], [b[j * K:j * K + K] for j in range(N)]
wanted = [sum(x * y for x, y in zip(row, column)) for column in columns for row in rows]


def to_device(data):
    at = cu.new('cuMemAlloc_v2', ctypes.sizeof(data))
    cu.cuMemcpyHtoD_v2(at, data, ctypes.sizeof(data))
    return at


def compare(what, at, expected=None):
    worst = max(abs(x - y) for x, y in zip(read(ctypes.c_float * (M * N), at), expected or wanted))
    assert worst <= 1e-4, f'{what}: off by {worst}'


def product(h, da, db, dc, **options):
    lda = options.get('lda', M)
    blas.fails(options.get('expected', 0), 'cublasSgemm_v2', h, NORMAL, NORMAL, M, N, K, one, da, lda, db, K, zero, dc, M)


def test_products(h, da, db, dc):
    scalars = to_device(floats([1, 0]))

    def gemm(alpha, beta, compute):
        blas.cublasGemmEx(h, NORMAL, NORMAL, M, N, K, alpha, da, FLOAT, M, db, FLOAT, K, beta, dc, FLOAT, M, compute, -1)

    product(h, da, db, dc)
    compare('cublasSgemm', dc)
    cu.cuMemsetD8_v2(dc, 0, 4 * M * N)
    blas.cublasSetPointerMode_v2(h, DEVICE_POINTERS)
    gemm(scalars, scalars + 4, COMPUTE_TF32)
    blas.cublasSetPointerMode_v2(h, HOST_POINTERS)
    compare('cublasGemmEx, scalars on the device', dc)
    gemm(two, minus_one, COMPUTE)
    compare('cublasGemmEx', dc)
    product(h, da, db, dc, lda=M - 1, expected=INVALID_VALUE)
    blas.fails(NOT_SUPPORTED, 'cublasSspmv_v2', h, UPPER, 1, one, da, da, 1, zero, dc, 1)
    cu.cuMemFree_v2(scalars)


def test_local_descriptor(h, da, la, db, lb, dc, lc):
    """D = 3 A B - 2 C, with C = A B and a descriptor in memory of the program."""
    d = ctypes.create_string_buffer(256)
    lt.cublasLtMatmulDescInit_internal(d, 256, COMPUTE, FLOAT)
    for alpha, beta in (one, zero), (three, minus_two):
        lt.cublasLtMatmul(h, d, alpha, da, la, db, lb, beta, dc, lc, dc, lc, None, None, 0, None)
    compare('cublasLtMatmul, descriptor of the program', dc)


def test_matmul(h, da, db, dc):
    """D = relu(A B + bias), with an algorithm from the heuristic."""
    bias = [i / 10 - 3 for i in range(M)]
    at = to_device(floats(bias))
    la, lb, lc = (lt.new('cublasLtMatrixLayoutCreate', FLOAT, *sizes) for sizes in ((M, K, M), (K, N, K), (M, N, M)))
    d, preference = lt.new('cublasLtMatmulDescCreate', COMPUTE, FLOAT), lt.new('cublasLtMatmulPreferenceCreate')
    lt.cublasLtMatmulDescSetAttribute(d, EPILOGUE, ref(ctypes.c_int(RELU_BIAS)), 4)
    lt.cublasLtMatmulDescSetAttribute(d, BIAS_POINTER, ref(ctypes.c_uint64(at)), 8)
    found, n = (ctypes.c_int * 24)(), ctypes.c_int()  # cublasLtMatmulHeuristicResult_t: algorithm, workspace, state
    lt.cublasLtMatmulAlgoGetHeuristic(h, d, la, lb, lc, lc, preference, 1, found, ref(n))
    assert (n.value, found[18]) == (1, 0)
    lt.cublasLtMatmul(h, d, one, da, la, db, lb, zero, dc, lc, dc, lc, found, None, 0, None)
    compare('cublasLtMatmul', dc, [max(x + bias[i % M], 0) for i, x in enumerate(wanted)])
    test_local_descriptor(h, da, la, db, lb, dc, lc)
    lt.cublasLtMatmulPreferenceDestroy(preference)
    lt.cublasLtMatmulDescDestroy(d)
    for layout in la, lb, lc:
        lt.cublasLtMatrixLayoutDestroy(layout)
    cu.cuMemFree_v2(at)


def test_another_thread(h, da, db, dc):
    """A thread without a context uses a handle of another thread, as PyTorch's pool of handles does."""
    def multiply():
        assert cu.new('cuCtxGetCurrent') == 0
        product(h, da, db, dc)

    cu.cuMemsetD8_v2(dc, 0, 4 * M * N)
    blas.cublasSetStream_v2(h, 0)
    thread = threading.Thread(target=multiply)
    thread.start()
    thread.join()
    compare('cublasSgemm in a thread without a context', dc)


def test_vectors(h, da):
    total, result, index = sum(x * x for x in a), ctypes.c_float(), ctypes.c_int()
    blas.cublasSdot_v2(h, M * K, da, 1, da, 1, ref(result))
    assert abs(result.value - total) < 1e-3 * total
    blas.cublasSnrm2_v2(h, M * K, da, 1, ref(result))
    assert abs(result.value - total ** 0.5) < 1e-3
    blas.cublasSscal_v2(h, M * K, two, da, 1)
    blas.cublasSdot_v2(h, M * K, da, 1, da, 1, ref(result))
    assert abs(result.value - 4 * total) < 1e-3 * total
    blas.cublasIsamax_v2(h, M * K, da, 1, ref(index))
    assert index.value >= 1 and abs(a[index.value - 1]) >= 0.99


def test_copies(dc):
    """Every third element of a vector, and a part of a matrix, to the device and back."""
    c = (ctypes.c_float * (M * N))()
    cu.cuMemsetD8_v2(dc, 0, 4 * M * N)
    blas.cublasSetVector(20, 4, a, 3, dc, 2)
    got = read(ctypes.c_float * 40, dc)
    assert got[::2] == a[:60:3] and got[1::2] == [0] * 20
    blas.cublasGetVector(20, 4, dc, 2, c, 1)
    assert c[:20] == a[:60:3]
    blas.cublasSetMatrix(M, N, 4, a, M, dc, M)
    blas.cublasGetMatrix(2, 3, 4, dc + 20, M, c, 4)
    for j in range(3):
        assert c[j * 4:j * 4 + 2] == a[5 + j * M:7 + j * M]
    blas.cublasSetMatrixAsync_64(M, N, 4, b, M, dc, M, None)
    blas.cublasGetMatrixAsync(M, N, 4, dc, M, c, M, None)
    cu.cuStreamSynchronize(0)
    assert c[:] == b[:M * N]
    blas.fails(INVALID_VALUE, 'cublasSetMatrix', M, N, 4, a, M - 1, dc, M)
    blas.cublasSetVector(0, 4, a, 1, dc, 1)


def main():
    use_device(0)
    stream = cu.new('cuStreamCreate', 0)
    h, lt_handle = blas.new('cublasCreate_v2'), lt.new('cublasLtCreate')
    blas.cublasSetStream_v2(h, stream)
    version = blas.new('cublasGetVersion_v2', h, ...)
    if len(sys.argv) > 1:
        with open(sys.argv[1] + '/include/cublas_api.h', encoding='utf-8') as f:
            parts = re.findall(r'#define CUBLAS_VER_(?:MAJOR|MINOR|PATCH) (\d+)', f.read())
        assert version == int('{:0>2}{:0>2}{:0>2}'.format(*parts)), version
    da, db, dc = to_device(a), to_device(b), to_device(floats([0] * (M * N)))
    test_products(h, da, db, dc)
    test_matmul(lt_handle, da, db, dc)
    test_another_thread(h, da, db, dc)
    test_vectors(h, da)
    test_copies(dc)
    blas.cublasDestroy_v2(h)
    lt.cublasLtDestroy(lt_handle)
    for at in da, db, dc:
        cu.cuMemFree_v2(at)


if __name__ == '__main__':
    main()
