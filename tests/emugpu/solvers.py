#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuFFT, cuSOLVER and cuSPARSE against the definitions of their results."""
import array
import cmath
import ctypes
import math

from cuda import Library, cu, read, use_device

fft, solver, sparse = Library('libcufft.so.12'), Library('libcusolver.so.12'), Library('libcusparse.so.12')
ref = ctypes.byref
C2C, R2C, C2R, Z2Z = 0x29, 0x2a, 0x2c, 0x69
FORWARD, INVERSE = -1, 1


def number(i):
    """A number in [-1, 1] that depends on i."""
    return math.sin(12.9898 * i * i + 78.233 * i)


def numbers(n, start=0, imaginary=None):
    return [complex(number(start + i), number(imaginary + i)) if imaginary else number(start + i) for i in range(n)]


def on_device(kind, values):
    """Copies numbers to new memory of the device: type code 'f', 'd' or 'i'; complex ones as pairs."""
    flat = [part for v in values for part in ((v.real, v.imag) if isinstance(v, complex) else (v,))]
    data = array.array(kind, flat).tobytes()
    at = cu.new('cuMemAlloc_v2', len(data))
    cu.cuMemcpyHtoD_v2(at, data, len(data))
    return at


def get(kind, at, n):
    return list(read({'f': ctypes.c_float, 'd': ctypes.c_double, 'i': ctypes.c_int}[kind] * n, at))


def get_complex(kind, at, n):
    flat = get(kind, at, 2 * n)
    return [complex(*pair) for pair in zip(flat[::2], flat[1::2])]


# ---- cuFFT

X, Y, Z = 3, 7, 10
ALL = X * Y * Z


def defined(a, i, j, k):
    """Element (i, j, k) of the transform of a, by its definition."""
    return sum(a[(x * Y + y) * Z + z] * cmath.exp(-2j * math.pi * (i * x / X + j * y / Y + k * z / Z))
               for x in range(X) for y in range(Y) for z in range(Z))


def plan_3d(kind):
    plan = ctypes.c_int()
    fft.cufftPlan3d(ref(plan), X, Y, Z, kind)
    return plan


def test_complex():
    a = numbers(ALL, imaginary=ALL)
    data, plan = on_device('d', a), plan_3d(Z2Z)
    fft.cufftExecZ2Z(plan, data, data, FORWARD)
    got = get_complex('d', data, ALL)
    assert abs(got[0] - defined(a, 0, 0, 0)) < 1e-9
    assert abs(got[(2 * Y + 5) * Z + 3] - defined(a, 2, 5, 3)) < 1e-9
    fft.cufftExecZ2Z(plan, data, data, INVERSE)
    assert all(abs(x / ALL - wanted) < 1e-12 for x, wanted in zip(get_complex('d', data, ALL), a))
    fft.cufftDestroy(plan)
    fft.fails(1, 'cufftExecZ2Z', plan, data, data, FORWARD)


def test_real(padded):
    """`padded`: in place, where rows of Z numbers have space for Z / 2 + 1 complex ones."""
    half = Z // 2 + 1
    row = 2 * half if padded else Z
    whole = list(array.array('f', numbers(ALL)))
    a = [0.0] * (X * Y * 2 * half)
    for i, value in enumerate(whole):
        a[i // Z * row + i % Z] = value
    source = on_device('f', a)
    to = source if padded else on_device('f', [0] * len(a))
    forward, inverse = plan_3d(R2C), plan_3d(C2R)
    fft.cufftExecR2C(forward, source, to)
    got = get_complex('f', to, X * Y * half)
    assert abs(got[half - 1] - defined(whole, 0, 0, Z // 2)) < 1e-4
    assert abs(got[(1 * Y + 4) * half + 2] - defined(whole, 1, 4, 2)) < 1e-4
    fft.cufftExecC2R(inverse, to, source)
    back = get('f', source, len(a))
    assert all(abs(back[i // Z * row + i % Z] / ALL - value) < 1e-6 for i, value in enumerate(whole))
    fft.cufftDestroy(forward)
    fft.cufftDestroy(inverse)


def test_batch():
    """Five transforms of 12 numbers, each beginning at every second element."""
    a = [complex(value) for value in array.array('f', numbers(5 * 24))]
    data, plan, n = on_device('f', a), ctypes.c_int(), ctypes.c_int(12)
    fft.cufftPlanMany(ref(plan), 1, ref(n), ref(n), 2, 24, ref(n), 2, 24, C2C, 5)
    fft.cufftExecC2C(plan, data, data, FORWARD)
    got = get_complex('f', data, len(a))
    for b in range(0, 5 * 24, 24):
        for k in range(12):
            wanted = sum(a[b + 2 * i] * cmath.exp(-2j * math.pi * i * k / 12) for i in range(12))
            assert abs(got[b + 2 * k] - wanted) < 1e-5
            assert got[b + 2 * k + 1] == a[b + 2 * k + 1]


# ---- cuSOLVER

N, LD, RIGHT = 9, 11, 2
NORMAL, TRANSPOSED, CONJUGATE = range(3)
LOWER, UPPER = range(2)
DOUBLE_COMPLEX = 5
square = numbers(LD * N, imaginary=1000)
square[0] = 0j  # needs an exchange of rows
known = numbers(LD * RIGHT, 2000, 3000)


def element(a, i, j, op):
    value = a[i + j * LD] if op == NORMAL else a[j + i * LD]
    return value.conjugate() if op == CONJUGATE else value


def multiply(a, op):
    """Returns B = op(A) X."""
    b = [0j] * (LD * RIGHT)
    for c in range(RIGHT):
        for i in range(N):
            b[i + c * LD] = sum(element(a, i, j, op) * known[j + c * LD] for j in range(N))
    return b


def check_solution(at):
    """Compares what the library makes of B with X."""
    got = get_complex('d', at, LD * RIGHT)
    for c in range(RIGHT):
        for i in range(c * LD, c * LD + N):
            assert abs(got[i] - known[i]) < 1e-9


def test_lu(handle, op):
    a, x = on_device('d', square), on_device('d', multiply(square, op))
    pivots, info, size = on_device('i', [0] * N), on_device('i', [7]), ctypes.c_int()
    solver.cusolverDnZgetrf_bufferSize(handle, N, N, a, LD, ref(size))
    solver.cusolverDnZgetrf(handle, N, N, a, LD, None, pivots, info)
    solver.cusolverDnZgetrs(handle, op, N, RIGHT, a, LD, pivots, x, LD, info)
    assert get('i', info, 1) == [0]
    check_solution(x)


def has_lapack():
    try:
        return bool(ctypes.CDLL('liblapack.so.3'))
    except OSError:
        return False


def test_eigenvectors(handle):
    """A v = lambda v for each eigenvector on the right; invalid sizes do not reach LAPACK, which would end the
    program."""
    a, w, v = on_device('d', square), on_device('d', [0j] * N), on_device('d', [0j] * (LD * N))
    info, kind, supported = on_device('i', [7]), DOUBLE_COMPLEX, has_lapack()
    for ld in N - 1, LD:
        expected = 9 if not supported else 3 if ld < N else 0
        solver.fails(expected, 'cusolverDnXgeev', handle, None, 0, 1, N, kind, a, ld, kind, w, kind, None, 1, kind, v, ld,
                     kind, None, 0, None, 0, info)
    if not supported:
        return
    values, vectors = get_complex('d', w, N), get_complex('d', v, LD * N)
    assert get('i', info, 1) == [0]
    for c, value in enumerate(values):
        column = vectors[c * LD:c * LD + N]
        for k in range(N):
            product = sum(element(square, k, j, NORMAL) * column[j] for j in range(N))
            assert abs(product - value * column[k]) < 1e-9
        assert sum(map(abs, column)) > 0.9


def test_cholesky(handle, fill):
    positive = [0j] * (LD * N)
    for r in range(N):
        for c in range(N):
            positive[r + c * LD] = sum(element(square, r, k, NORMAL) * element(square, k, c, CONJUGATE)
                                       for k in range(N))
    b = multiply(positive, NORMAL)
    for r in range(N):  # the other triangle is not read
        for c in range(N):
            if r < c if fill == LOWER else r > c:
                positive[r + c * LD] = 1000 + 0j
    a, x, info = on_device('d', positive), on_device('d', b), on_device('i', [7])
    solver.cusolverDnZpotrf(handle, fill, N, a, LD, None, 0, info)
    solver.cusolverDnZpotrs(handle, fill, N, RIGHT, a, LD, x, LD, info)
    check_solution(x)
    positive[4 + 4 * LD] = -1 + 0j
    solver.cusolverDnZpotrf(handle, fill, N, on_device('d', positive), LD, None, 0, info)
    assert get('i', info, 1) == [5]


def test_dense():
    handle = solver.new('cusolverDnCreate')
    for op in NORMAL, TRANSPOSED, CONJUGATE:
        test_lu(handle, op)
    test_eigenvectors(handle)
    test_cholesky(handle, LOWER)
    test_cholesky(handle, UPPER)
    solver.fails(3, 'cusolverDnZgetrf', handle, N, N, on_device('d', square), N - 1, None, None, None)
    solver.cusolverDnDestroy(handle)


# ---- cuSPARSE

INT_32, FLOAT_32 = 2, 0  # cusparseIndexType_t, cudaDataType_t
BY_COLUMN, BY_ROW = 1, 2


def test_sparse(coo, op):
    """A, of 3 x 4: row 0 has two entries, row 1 none, row 2 one."""
    offsets, rows, columns = [0, 2, 2, 3], [0, 0, 2], [3, 1, 0]
    whole = [[0, 3, 0, 2], [0] * 4, [5, 0, 0, 0]]
    n = 3 if op == NORMAL else 4
    b, c = (list(array.array('f', numbers(8, start))) for start in (0, 10))
    handle, to = sparse.new('cusparseCreate'), on_device('f', c)
    by_row = on_device('i', rows if coo else offsets)
    entries = (by_row, on_device('i', columns), on_device('f', [2, 3, 5]))
    if coo:
        a = sparse.new('cusparseCreateCoo', 3, 4, 3, *entries, INT_32, 0, FLOAT_32)
    else:
        a = sparse.new('cusparseCreateCsr', 3, 4, 3, *entries, INT_32, INT_32, 0, FLOAT_32)
    matrix = sparse.new('cusparseCreateDnMat', 7 - n, 2, 2, on_device('f', b), FLOAT_32, BY_ROW)
    result = sparse.new('cusparseCreateDnMat', n, 2, n, to, FLOAT_32, BY_COLUMN)
    alpha, beta = ctypes.c_float(2), ctypes.c_float(-1)
    for error, other in (0, NORMAL), (3, TRANSPOSED):
        sparse.fails(error, 'cusparseSpMM', handle, op, other, ref(alpha), a, matrix, ref(beta), result, FLOAT_32, 0, None)
    got = get('f', to, 8)
    for i in range(n):
        for j in range(2):
            total = sum((whole[i][k] if n == 3 else whole[k][i]) * b[2 * k + j] for k in range(7 - n))
            assert abs(got[i + n * j] - (2 * total - c[i + n * j])) < 1e-6
    if coo:
        made = on_device('i', [0x09090909] * 4)
        sparse.cusparseXcoo2csr(handle, by_row, 3, 3, made, 0)
        assert get('i', made, 4) == offsets
    sparse.cusparseDestroySpMat(a)
    sparse.cusparseDestroyDnMat(matrix)
    sparse.cusparseDestroyDnMat(result)
    sparse.cusparseDestroy(handle)


if __name__ == '__main__':
    use_device(0)
    test_complex()
    test_real(False)
    test_real(True)
    test_batch()
    test_dense()
    for coordinates in False, True:
        for operation in NORMAL, TRANSPOSED:
            test_sparse(coordinates, operation)
