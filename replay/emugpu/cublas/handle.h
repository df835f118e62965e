/* SPDX-License-Identifier: Apache-2.0 */

/* A cuBLAS handle. Used by one thread at a time, as cuBLAS requires. */
#pragma once

#include "replay/emugpu/lib/blas.h"

struct cublasContext {
	CUstream stream;
	cublasPointerMode_t pointers;
	cublasAtomicsMode_t atomics;
	cublasMath_t math;
	int sm_count;
	CUdeviceptr result; /* 64 bytes, for results that go to host memory */
	cublasEmulationStrategy_t emulation;
};

static inline int emu_on_device(const struct cublasContext *h)
{
	return h->pointers == CUBLAS_POINTER_MODE_DEVICE;
}

static inline uint8_t emu_fill_letter(cublasFillMode_t uplo)
{
	return uplo == CUBLAS_FILL_MODE_UPPER ? 'U' : 'L';
}
