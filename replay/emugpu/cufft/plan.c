/* SPDX-License-Identifier: Apache-2.0 */

/* cuFFT: plans and their execution, on one GPU, in single and double precision. A transform is one
 * kernel and needs no work area. */
#include "replay/emugpu/cufft/calls.h"

#include "base/array.h"

#include <pthread.h>

struct plan {
	struct emu_fourier work;
	int made, used;
	int packed_in, packed_out; /* no layout was given: the real side of an in-place transform is
				      padded */
	cudaStream_t stream;
};

static struct {
	pthread_mutex_t lock;
	struct plan *items; /* by handle */
	size_t n, cap;
} plans = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns a plan with the lock held; the caller releases it. NULL: invalid, the lock is not
 * held. */
static struct plan *locked(cufftHandle handle)
{
	pthread_mutex_lock(&plans.lock);
	if (handle >= 0 && (size_t)handle < plans.n && plans.items[handle].used)
		return &plans.items[handle];
	pthread_mutex_unlock(&plans.lock);
	return NULL;
}

static cufftResult unlock(cufftResult r)
{
	pthread_mutex_unlock(&plans.lock);
	return r;
}

EMU_API cufftResult cufftCreate(cufftHandle *handle)
{
	size_t i = 0;

	if (!handle)
		return CUFFT_INVALID_VALUE;
	if (emu_gpu_context() != CUDA_SUCCESS)
		return CUFFT_SETUP_FAILED;
	pthread_mutex_lock(&plans.lock);
	while (i < plans.n && plans.items[i].used)
		i++;
	if (i == plans.n && array_reserve(&plans.items, plans.n + 1, &plans.cap) < 0)
		return unlock(CUFFT_ALLOC_FAILED);
	plans.n += i == plans.n;
	plans.items[i] = (struct plan){.used = 1};
	*handle = (cufftHandle)i;
	return unlock(CUFFT_SUCCESS);
}

EMU_API cufftResult cufftDestroy(cufftHandle plan)
{
	struct plan *p = locked(plan);

	if (!p)
		return CUFFT_INVALID_PLAN;
	p->used = 0;
	return unlock(CUFFT_SUCCESS);
}

EMU_API cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream)
{
	struct plan *p = locked(plan);

	if (!p)
		return CUFFT_INVALID_PLAN;
	p->stream = stream;
	return unlock(CUFFT_SUCCESS);
}

cufftResult emu_cufft_check(cufftHandle plan)
{
	return locked(plan) ? unlock(CUFFT_SUCCESS) : CUFFT_INVALID_PLAN;
}

static int is_complex(enum emu_type type)
{
	return type == EMU_C32 || type == EMU_C64;
}

/* Sets the layout of one side; its last dimension is halved if the other side is real. */
static void lay_out(struct emu_fourier_side *s, const int64_t size[3], int halved, int rank,
		    const long long *embed, long long stride, long long distance)
{
	for (int d = 0; d < 3; d++)
		s->embed[d] = size[d];
	if (halved)
		s->embed[2] = size[2] / 2 + 1;
	for (int d = 0; embed && d < rank; d++)
		s->embed[3 - rank + d] = embed[d];
	s->stride = embed ? stride : 1;
	s->distance = embed ? distance : s->embed[0] * s->embed[1] * s->embed[2];
}

static int is_supported(enum emu_type in, enum emu_type out)
{
	int single = (in == EMU_F32 || in == EMU_C32) && (out == EMU_F32 || out == EMU_C32);
	int twice = (in == EMU_F64 || in == EMU_C64) && (out == EMU_F64 || out == EMU_C64);

	return (single || twice) && (is_complex(in) || is_complex(out));
}

EMU_API cufftResult cufftXtMakePlanMany(cufftHandle plan, int rank, long long *n,
					long long *inembed, long long istride, long long idist,
					cudaDataType inputtype, long long *onembed,
					long long ostride, long long odist, cudaDataType outputtype,
					long long batch, size_t *workSize,
					cudaDataType executiontype)
{
	struct emu_fourier f = {.size = {1, 1, 1}, .batch = batch};
	struct plan *p;

	if (rank < 1 || rank > 3 || !n || batch < 1)
		return CUFFT_INVALID_SIZE;
	if (emu_type_of(inputtype, &f.in.type) < 0 || emu_type_of(outputtype, &f.out.type) < 0 ||
	    !is_supported(f.in.type, f.out.type)) {
		emu_refuse_use("libcufft.so.12", "cufftXtMakePlanMany (other types)");
		return CUFFT_NOT_SUPPORTED;
	}
	for (int d = 0; d < rank; d++) {
		if (n[d] < 1)
			return CUFFT_INVALID_SIZE;
		f.size[3 - rank + d] = n[d];
	}
	lay_out(&f.in, f.size, !is_complex(f.out.type), rank, inembed, istride, idist);
	lay_out(&f.out, f.size, !is_complex(f.in.type), rank, onembed, ostride, odist);
	p = locked(plan);
	if (!p)
		return CUFFT_INVALID_PLAN;
	p->work = f;
	p->packed_in = !inembed;
	p->packed_out = !onembed;
	p->made = 1;
	if (workSize)
		*workSize = 0;
	return unlock(CUFFT_SUCCESS);
}

/* In place, rows of real numbers have space for the complex numbers. */
static void pad(struct emu_fourier_side *s, const int64_t size[3])
{
	s->embed[2] = 2 * (size[2] / 2 + 1);
	s->distance = s->embed[0] * s->embed[1] * s->embed[2];
}

static cufftResult launch(const struct plan *p, const void *in, void *out, int inverse)
{
	struct emu_work work = {.kind = EMU_WORK_FOURIER, .fourier = p->work};
	struct emu_fourier *f = &work.fourier;

	f->in.data = in;
	f->out.data = out;
	f->inverse = inverse;
	if (in == out && p->packed_in && !is_complex(f->in.type))
		pad(&f->in, f->size);
	if (in == out && p->packed_out && !is_complex(f->out.type))
		pad(&f->out, f->size);
	return emu_blas_launch(p->stream, &work) == CUBLAS_STATUS_SUCCESS ? CUFFT_SUCCESS
									  : CUFFT_EXEC_FAILED;
}

/* A transform of real numbers is forward, one to real numbers is inverse. */
EMU_API cufftResult cufftXtExec(cufftHandle plan, void *input, void *output, int direction)
{
	struct plan *p = locked(plan), copy;

	if (!p)
		return CUFFT_INVALID_PLAN;
	copy = *p;
	unlock(CUFFT_SUCCESS);
	if (!copy.made || !input || !output)
		return copy.made ? CUFFT_INVALID_VALUE : CUFFT_INVALID_PLAN;
	return launch(&copy, input, output,
		      !is_complex(copy.work.out.type) ||
			      (is_complex(copy.work.in.type) && direction == CUFFT_INVERSE));
}

/* ---- plans of the older types, which differ in the types of numbers only ---- */

EMU_API cufftResult cufftMakePlanMany64(cufftHandle plan, int rank, long long *n,
					long long *inembed, long long istride, long long idist,
					long long *onembed, long long ostride, long long odist,
					cufftType type, long long batch, size_t *workSize)
{
	int is_double = type >= CUFFT_Z2Z;
	cudaDataType real = is_double ? CUDA_R_64F : CUDA_R_32F;
	cudaDataType whole = is_double ? CUDA_C_64F : CUDA_C_32F;
	int from_real = type == CUFFT_R2C || type == CUFFT_D2Z;
	int to_real = type == CUFFT_C2R || type == CUFFT_Z2D;

	return cufftXtMakePlanMany(plan, rank, n, inembed, istride, idist, from_real ? real : whole,
				   onembed, ostride, odist, to_real ? real : whole, batch, workSize,
				   whole);
}

static long long *widened(int rank, const int *from, long long to[3])
{
	for (int d = 0; from && d < rank && d < 3; d++)
		to[d] = from[d];
	return from ? to : NULL;
}

EMU_API cufftResult cufftMakePlanMany(cufftHandle plan, int rank, int *n, int *inembed, int istride,
				      int idist, int *onembed, int ostride, int odist,
				      cufftType type, int batch, size_t *workSize)
{
	long long size[3], in[3], out[3];

	return cufftMakePlanMany64(plan, rank, widened(rank, n, size), widened(rank, inembed, in),
				   istride, idist, widened(rank, onembed, out), ostride, odist,
				   type, batch, workSize);
}

EMU_API cufftResult cufftPlanMany(cufftHandle *plan, int rank, int *n, int *inembed, int istride,
				  int idist, int *onembed, int ostride, int odist, cufftType type,
				  int batch)
{
	cufftResult r = cufftCreate(plan);

	if (r == CUFFT_SUCCESS)
		r = cufftMakePlanMany(*plan, rank, n, inembed, istride, idist, onembed, ostride,
				      odist, type, batch, NULL);
	return r;
}
