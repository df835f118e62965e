/* SPDX-License-Identifier: Apache-2.0 */

/* A cuBLAS handle. Used by one thread at a time, as cuBLAS requires. */
#pragma once

#include "replay/emugpu/lib/blas.h"
#include "replay/emugpu/refuse.h"

struct cublasContext {
	CUstream stream;
	cublasPointerMode_t pointers;
	cublasAtomicsMode_t atomics;
	cublasMath_t math;
	int sm_count;
	void *workspace;
	size_t workspace_bytes;
	CUdeviceptr result; /* 64 bytes, for results that go to host memory */
	cublasEmulationStrategy_t emulation;
};

static inline int emu_on_device(const struct cublasContext *h)
{
	return h->pointers == CUBLAS_POINTER_MODE_DEVICE;
}

static inline struct emu_operand emu_operand_matrix(enum emu_type type, const void *data,
						    int64_t ld, cublasOperation_t op)
{
	return (struct emu_operand){emu_matrix_of(data, type, ld, op), 0, 0, 0, 0};
}

/* Returns a vector as a matrix of one column. */
static inline struct emu_operand emu_operand_column(enum emu_type type, const void *data, int64_t n,
						    int64_t increment)
{
	struct emu_vector v = emu_vector_of(type, data, n, increment);

	return (struct emu_operand){{v.data, type, 0, v.step, 0}, 0, 0, 0, 0};
}

static inline uint8_t emu_fill_letter(cublasFillMode_t uplo)
{
	return uplo == CUBLAS_FILL_MODE_UPPER ? 'U' : 'L';
}

/* Expand M(letter, type, data type, suffix, int) for real types, complex types, or both; with
 * 32-bit sizes, and with 64-bit sizes for functions name_64. */
#define EMU_REAL(M)                                                                                \
	M(S, float, EMU_F32, , int)                                                                \
	M(D, double, EMU_F64, , int)                                                               \
	M(S, float, EMU_F32, _64, int64_t)                                                         \
	M(D, double, EMU_F64, _64, int64_t)
#define EMU_COMPLEX(M)                                                                             \
	M(C, cuComplex, EMU_C32, , int)                                                            \
	M(Z, cuDoubleComplex, EMU_C64, , int)                                                      \
	M(C, cuComplex, EMU_C32, _64, int64_t)                                                     \
	M(Z, cuDoubleComplex, EMU_C64, _64, int64_t)
#define EMU_ALL(M) EMU_REAL(M) EMU_COMPLEX(M)

/* Expand M(name, type, data type, 1 if Hermitian, suffix, int) for symmetric and Hermitian
 * matrices. */
#define EMU_SYMMETRIC(M, suffix, I)                                                                \
	M(Ssym, float, EMU_F32, 0, suffix, I)                                                      \
	M(Dsym, double, EMU_F64, 0, suffix, I)                                                     \
	M(Csym, cuComplex, EMU_C32, 0, suffix, I)                                                  \
	M(Zsym, cuDoubleComplex, EMU_C64, 0, suffix, I)                                            \
	M(Chem, cuComplex, EMU_C32, 1, suffix, I)                                                  \
	M(Zhem, cuDoubleComplex, EMU_C64, 1, suffix, I)

/* Expands M(suffix, int) for both integer types. */
#define EMU_SIZES(M) M(, int) M(_64, int64_t)
