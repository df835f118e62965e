/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/lib/blas.h"

#include "base/host.h"
#include "replay/emugpu/math/complex_element.h"
#include "replay/emugpu/notes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int emu_type_of(cudaDataType type, enum emu_type *ret)
{
	static const struct {
		cudaDataType cuda;
		enum emu_type type;
	} types[] = {
		{CUDA_R_16F, EMU_F16}, {CUDA_R_16BF, EMU_BF16},	   {CUDA_R_32F, EMU_F32},
		{CUDA_R_64F, EMU_F64}, {CUDA_R_8F_E4M3, EMU_E4M3}, {CUDA_R_8F_E5M2, EMU_E5M2},
		{CUDA_R_8I, EMU_I8},   {CUDA_R_8U, EMU_U8},	   {CUDA_R_32I, EMU_I32},
		{CUDA_R_32U, EMU_U32}, {CUDA_R_64I, EMU_I64},	   {CUDA_R_64U, EMU_U64},
		{CUDA_C_32F, EMU_C32}, {CUDA_C_64F, EMU_C64},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].cuda == type) {
			*ret = types[i].type;
			return 0;
		}
	return -ENOTSUP;
}

enum emu_type emu_type_or_none(cudaDataType type)
{
	enum emu_type ret;

	return emu_type_of(type, &ret) < 0 ? EMU_TYPES : ret;
}

int emu_compute_of(cublasComputeType_t type, int is_complex, enum emu_type *ret)
{
	switch (type) {
	case CUBLAS_COMPUTE_16F:
	case CUBLAS_COMPUTE_16F_PEDANTIC:
	case CUBLAS_COMPUTE_32F:
	case CUBLAS_COMPUTE_32F_PEDANTIC:
	case CUBLAS_COMPUTE_32F_FAST_16F:
	case CUBLAS_COMPUTE_32F_FAST_16BF:
	case CUBLAS_COMPUTE_32F_FAST_TF32:
	case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
		*ret = is_complex ? EMU_C32 : EMU_F32;
		return 0;
	case CUBLAS_COMPUTE_64F:
	case CUBLAS_COMPUTE_64F_PEDANTIC:
	case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
		*ret = is_complex ? EMU_C64 : EMU_F64;
		return 0;
	case CUBLAS_COMPUTE_32I:
	case CUBLAS_COMPUTE_32I_PEDANTIC:
		*ret = EMU_I32;
		return is_complex ? -ENOTSUP : 0;
	default:
		return -ENOTSUP;
	}
}

int emu_uses_tensor(cublasComputeType_t type, cublasMath_t math, enum emu_type a)
{
	if (math == CUBLAS_PEDANTIC_MATH)
		return 0;
	if (a != EMU_F32 && a != EMU_C32)
		return type != CUBLAS_COMPUTE_32F_PEDANTIC && type != CUBLAS_COMPUTE_64F_PEDANTIC;
	return type == CUBLAS_COMPUTE_32F_FAST_TF32 || type == CUBLAS_COMPUTE_32F_FAST_16F ||
	       type == CUBLAS_COMPUTE_32F_FAST_16BF || math == CUBLAS_TF32_TENSOR_OP_MATH;
}

struct emu_matrix emu_matrix_of(const void *data, enum emu_type type, int64_t ld,
				cublasOperation_t op)
{
	struct emu_matrix m = {data, type, op == CUBLAS_OP_C, 1, ld};

	if (op != CUBLAS_OP_N) {
		m.row = ld;
		m.column = 1;
	}
	return m;
}

struct emu_scalar emu_scalar_of(const void *at, enum emu_type type, int on_device)
{
	struct emu_scalar s = {on_device ? at : NULL, type, {0, 0}};
	double complex v;

	if (!on_device && at) {
		v = emu_load_complex(type, at, 0);
		s.value[0] = creal(v);
		s.value[1] = cimag(v);
	}
	return s;
}

cublasStatus_t emu_blas_status(CUresult r)
{
	switch (r) {
	case CUDA_SUCCESS:
		return CUBLAS_STATUS_SUCCESS;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return CUBLAS_STATUS_ALLOC_FAILED;
	case CUDA_ERROR_NOT_INITIALIZED:
	case CUDA_ERROR_NO_DEVICE:
		return CUBLAS_STATUS_NOT_INITIALIZED;
	case CUDA_ERROR_INVALID_VALUE:
		return CUBLAS_STATUS_INVALID_VALUE;
	default:
		return CUBLAS_STATUS_EXECUTION_FAILED;
	}
}

/* Returns 0 if $GPUEMU_COMPUTE is 0: products take virtual time and compute nothing. Prints this
 * once. */
static int computes_products(void)
{
	static int known; /* 1: no, 2: yes */
	const char *value;

	if (!__atomic_load_n(&known, __ATOMIC_RELAXED)) {
		value = getenv("GPUEMU_COMPUTE");
		__atomic_store_n(&known, value && strcmp(value, "0") == 0 ? 1 : 2,
				 __ATOMIC_RELAXED);
		if (known == 1)
			fputs("gpuemu: cuBLAS takes its time and computes nothing\n", stderr);
	}
	return __atomic_load_n(&known, __ATOMIC_RELAXED) == 2;
}

/* Counts the time of large work, for a hint in the report. */
static int run_timed(const struct emu_work *w)
{
	static uint64_t *sum_ns;
	uint64_t *sum = __atomic_load_n(&sum_ns, __ATOMIC_ACQUIRE);
	int64_t before_ns;
	int r;

	if (emu_work_cost(w).operations < 1e7)
		return emu_work_run(w);
	if (!sum) {
		sum = emu_note(EMU_NOTE_ARITHMETIC, "libcublas.so.13", "products");
		__atomic_store_n(&sum_ns, sum, __ATOMIC_RELEASE);
	}
	before_ns = host_clock_ns(CLOCK_MONOTONIC);
	r = emu_work_run(w);
	__atomic_fetch_add(sum, (uint64_t)(host_clock_ns(CLOCK_MONOTONIC) - before_ns),
			   __ATOMIC_RELAXED);
	return r;
}

static void run_work(struct gpuemu_launch *launch, void *const *args)
{
	int r = computes_products() ? run_timed(args[0]) : 0;

	launch->skipped = r > 0;
	if (r == -ENOMEM)
		launch->error = CUDA_ERROR_OUT_OF_MEMORY;
	else if (r < 0)
		launch->error = CUDA_ERROR_LAUNCH_FAILED;
}

static void cost(const struct gpuemu_launch *launch, void *const *args, struct gpuemu_cost *ret)
{
	struct emu_work_cost c = emu_work_cost(args[0]);

	ret->product = emu_work_product(args[0]);
	ret->flops = c.operations;
	ret->bytes = c.bytes;
	ret->math = emu_gpu_math(c.type, c.tensor);
}

static const size_t param_bytes[] = {sizeof(struct emu_work)};

#define KERNEL(name)                                                                               \
	{                                                                                          \
		name, 0, run_work, cost, NULL, param_bytes, 1                                      \
	}

/* Products by the type of A; then the other kinds. */
static const struct gpuemu_kernel kernels[] = {
	[EMU_F16] = KERNEL("gpuemu_gemm_f16"),
	[EMU_BF16] = KERNEL("gpuemu_gemm_bf16"),
	[EMU_F32] = KERNEL("gpuemu_gemm_f32"),
	[EMU_F64] = KERNEL("gpuemu_gemm_f64"),
	[EMU_E4M3] = KERNEL("gpuemu_gemm_f8e4m3"),
	[EMU_E5M2] = KERNEL("gpuemu_gemm_f8e5m2"),
	[EMU_I8] = KERNEL("gpuemu_gemm_i8"),
	[EMU_U8] = KERNEL("gpuemu_gemm_u8"),
	[EMU_I32] = KERNEL("gpuemu_gemm_i32"),
	[EMU_U32] = KERNEL("gpuemu_gemm_u32"),
	[EMU_I64] = KERNEL("gpuemu_gemm_i64"),
	[EMU_U64] = KERNEL("gpuemu_gemm_u64"),
	[EMU_C32] = KERNEL("gpuemu_gemm_c32"),
	[EMU_C64] = KERNEL("gpuemu_gemm_c64"),
	[EMU_I16] = KERNEL("gpuemu_gemm_i16"),
	[EMU_TYPES + EMU_WORK_GEMM] = KERNEL("gpuemu_gemm"),
	[EMU_TYPES + EMU_WORK_GEAM] = KERNEL("gpuemu_geam"),
	[EMU_TYPES + EMU_WORK_DGMM] = KERNEL("gpuemu_dgmm"),
	[EMU_TYPES + EMU_WORK_MAP] = KERNEL("gpuemu_blas_map"),
	[EMU_TYPES + EMU_WORK_FOLD] = KERNEL("gpuemu_blas_reduce"),
	[EMU_TYPES + EMU_WORK_TRSM] = KERNEL("gpuemu_trsm"),
	[EMU_TYPES + EMU_WORK_TRMM] = KERNEL("gpuemu_trmm"),
	[EMU_TYPES + EMU_WORK_FACTOR] = KERNEL("gpuemu_factor"),
	[EMU_TYPES + EMU_WORK_SOLVE] = KERNEL("gpuemu_solve"),
	[EMU_TYPES + EMU_WORK_SPARSE] = KERNEL("gpuemu_sparse"),
	[EMU_TYPES + EMU_WORK_OFFSETS] = KERNEL("gpuemu_sparse_offsets"),
	[EMU_TYPES + EMU_WORK_FOURIER] = KERNEL("gpuemu_fourier"),
	[EMU_TYPES + EMU_WORK_LAPACK] = KERNEL("gpuemu_lapack"),
};

enum { N_KERNELS = sizeof(kernels) / sizeof(kernels[0]) };

/* For programs that launch these kernels without cuBLAS, such as gpureplay. */
__attribute__((constructor)) static void register_kernels(void)
{
	for (size_t i = 0; i < N_KERNELS; i++)
		gpuemu_register(&kernels[i]);
}

/* One block for each 128 x 128 elements of the result, or for 1024 elements of a vector. Other work
 * divides its operations. */
static unsigned blocks_of(const struct emu_work *w)
{
	int64_t blocks = 1;

	if (w->kind <= EMU_WORK_DGMM)
		blocks = ((w->gemm.m + 127) / 128) * ((w->gemm.n + 127) / 128) * w->gemm.batch;
	else if (w->kind <= EMU_WORK_FOLD)
		blocks = (w->vector.n + 1023) / 1024;
	else if (w->kind >= EMU_WORK_FACTOR)
		blocks = (int64_t)(emu_work_cost(w).operations / 65536);
	return blocks < 1 ? 1 : blocks > INT32_MAX ? INT32_MAX : (unsigned)blocks;
}

cublasStatus_t emu_blas_launch(CUstream stream, const struct emu_work *work)
{
	static CUkernel loaded[N_KERNELS];
	static struct emu_kernels all = {kernels, N_KERNELS, sizeof(struct emu_work), loaded, 0};
	unsigned number = work->kind == EMU_WORK_GEMM ? (unsigned)work->gemm.a.m.type
						      : (unsigned)EMU_TYPES + work->kind;

	return emu_blas_status(emu_gpu_launch(&all, number, stream, work, blocks_of(work), 256));
}
