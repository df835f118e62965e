/* SPDX-License-Identifier: Apache-2.0 */

/* Launches and attributes of kernels. */
#include "base/scope.h"
#include "replay/emugpu/driver/capture.h"
#include "replay/emugpu/driver/code/kernel.h"
#include "replay/emugpu/driver/stream.h"

#include <stdlib.h>
#include <string.h>

static CUresult check_shape(const struct emu_device *d, const struct emu_function *f,
			    const struct emu_kernel_op *k)
{
	uint64_t threads = (uint64_t)k->block[0] * k->block[1] * k->block[2];

	for (int i = 0; i < 3; i++)
		if (k->grid[i] == 0 || k->block[i] == 0)
			return CUDA_ERROR_INVALID_VALUE;
	if (k->grid[0] > 0x7fffffff || k->grid[1] > 65535 || k->grid[2] > 65535 ||
	    k->block[0] > 1024 || k->block[1] > 1024 || k->block[2] > 64 || threads > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	if (threads > (uint64_t)f->entry->max_threads)
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	if (k->shared_bytes > (uint32_t)f->dynamic_shared_bytes ||
	    k->shared_bytes + (double)f->entry->shared_bytes > d->model.shared_per_block_optin)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* Converts arguments in one buffer to pointers into a copy of the buffer. */
static CUresult unpack(void **extra, struct emu_op *op)
{
	const struct emu_entry *e = op->kernel.function->entry;
	const void *buffer = NULL;
	size_t bytes = 0;

	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
			bytes = *(size_t *)extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (!buffer || e->n_params < 0)
		return CUDA_ERROR_INVALID_VALUE;
	void **args = malloc((size_t)e->n_params * sizeof(void *) + bytes);

	if (!args)
		return CUDA_ERROR_OUT_OF_MEMORY;
	uint8_t *copy = (uint8_t *)(args + e->n_params);

	memcpy(copy, buffer, bytes);
	for (int i = 0; i < e->n_params; i++) {
		if (e->params[i].offset + (size_t)e->params[i].bytes > bytes) {
			free(args);
			return CUDA_ERROR_INVALID_VALUE;
		}
		args[i] = copy + e->params[i].offset;
	}
	op->kernel.args = args;
	op->kernel.args_copy = args;
	return CUDA_SUCCESS;
}

/* The blocks of a cooperative launch wait for each other, so all must fit at once. */
static CUresult check_cooperative(struct emu_device *d, const struct emu_function *f,
				  const struct emu_kernel_op *k)
{
	uint64_t blocks = (uint64_t)k->grid[0] * k->grid[1] * k->grid[2];
	int held = emu_occupancy(d, f, (int)(k->block[0] * k->block[1] * k->block[2]),
				 k->shared_bytes + (size_t)f->entry->shared_bytes);

	return blocks > (uint64_t)held * (uint64_t)d->model.sms
		       ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
		       : CUDA_SUCCESS;
}

static CUresult launch_kernel(struct emu_thread *self, CUfunction function, CUstream stream,
			      struct emu_op *op, int is_cooperative, void **params, void **extra)
{
	struct emu_function *f = emu_function_of(function);
	struct emu_stream *s;
	CUresult r = emu_stream_of(self, stream, &s);

	if (r)
		return r;
	if (!f)
		return CUDA_ERROR_INVALID_HANDLE;
	op->type = &emu_kernel_type;
	op->kernel.function = f;
	op->kernel.args = params;
	__atomic_store_n(&f->loaded, 1, __ATOMIC_RELAXED);
	r = check_shape(s->context->device, f, &op->kernel);
	if (!r && is_cooperative)
		r = check_cooperative(s->context->device, f, &op->kernel);
	if (!r && extra)
		r = unpack(extra, op);
	else if (!r && !params && f->entry->n_params > 0)
		r = CUDA_ERROR_INVALID_VALUE;
	return r ? r : emu_submit(self, s, op);
}

EMU_API CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
				unsigned bx, unsigned by, unsigned bz, unsigned shared_bytes,
				CUstream stream, void **params, void **extra)
{
	EMU_ENTER(EMU_CALL_LAUNCH);
	struct emu_op op = {
		.kernel = {.grid = {gx, gy, gz},
			   .block = {bx, by, bz},
			   .shared_bytes = shared_bytes},
	};

	return launch_kernel(self, function, stream, &op, 0, params, extra);
}

EMU_API CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy,
					   unsigned gz, unsigned bx, unsigned by, unsigned bz,
					   unsigned shared_bytes, CUstream stream, void **params)
{
	EMU_ENTER(EMU_CALL_LAUNCH);
	struct emu_op op = {
		.kernel = {.grid = {gx, gy, gz},
			   .block = {bx, by, bz},
			   .shared_bytes = shared_bytes},
	};

	return launch_kernel(self, function, stream, &op, 1, params, NULL);
}

/* Most launch attributes are hints for the hardware. Only cooperative launches and an event
 * recorded by the launch are supported. */
EMU_API CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction function, void **params,
				  void **extra)
{
	EMU_ENTER(EMU_CALL_LAUNCH);
	int is_cooperative = 0;
	CUresult r;

	if (!c || (c->numAttrs && !c->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	struct emu_op op = {
		.kernel = {.grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
			   .block = {c->blockDimX, c->blockDimY, c->blockDimZ},
			   .shared_bytes = c->sharedMemBytes},
	};

	for (unsigned i = 0; i < c->numAttrs; i++)
		is_cooperative |= c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
				  c->attrs[i].value.cooperative;
	r = launch_kernel(self, function, c->hStream, &op, is_cooperative, params, extra);
	for (unsigned i = 0; !r && i < c->numAttrs; i++) {
		const CUlaunchAttribute *a = &c->attrs[i];
		struct emu_stream *s;

		if (a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT) {
			if (!emu_is_event(a->value.programmaticEvent.event))
				return CUDA_ERROR_INVALID_HANDLE;
			r = emu_stream_of(self, c->hStream, &s);
			if (!r)
				r = emu_event_record(
					self, (struct emu_event *)a->value.programmaticEvent.event,
					s);
		}
	}
	return r;
}

EMU_API CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
	EMU_ENTER(EMU_CALL_EVENT);
	struct emu_op op = {.type = &emu_host_type, .host = {.function = function, .data = data}};
	struct emu_stream *s;
	CUresult r = emu_stream_of(self, stream, &s);

	if (r)
		return r;
	return function ? emu_submit(self, s, &op) : CUDA_ERROR_INVALID_VALUE;
}

EMU_API CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *data,
				     unsigned flags)
{
	EMU_ENTER(EMU_CALL_EVENT);
	struct emu_op op = {
		.type = &emu_host_type,
		.host = {.callback = callback, .stream = stream, .data = data},
	};
	struct emu_stream *s;
	CUresult r = emu_stream_of(self, stream, &s);

	if (r)
		return r;
	return callback && !flags ? emu_submit(self, s, &op) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- attributes of kernels ---- */

EMU_API CUresult cuFuncGetAttribute(int *ret, CUfunction_attribute what, CUfunction function)
{
	const struct emu_function *f = emu_function_of(function);
	int arch;

	if (!f)
		return CUDA_ERROR_INVALID_HANDLE;
	arch = f->module->image.arch;
	switch (what) {
#define CASE(name, value)                                                                          \
	case CU_FUNC_ATTRIBUTE_##name:                                                             \
		*ret = (value);                                                                    \
		return CUDA_SUCCESS;
		CASE(MAX_THREADS_PER_BLOCK, f->entry->max_threads)
		CASE(SHARED_SIZE_BYTES, f->entry->shared_bytes)
		CASE(CONST_SIZE_BYTES, f->entry->const_bytes)
		CASE(LOCAL_SIZE_BYTES, f->entry->local_bytes)
		CASE(NUM_REGS, f->entry->registers)
		CASE(PTX_VERSION, arch)
		CASE(BINARY_VERSION, arch)
		CASE(MAX_DYNAMIC_SHARED_SIZE_BYTES, f->dynamic_shared_bytes)
		CASE(PREFERRED_SHARED_MEMORY_CARVEOUT, f->carveout)
#undef CASE
	default:
		if (what < 0 || what >= CU_FUNC_ATTRIBUTE_MAX)
			return CUDA_ERROR_INVALID_VALUE;
		*ret = 0;
		return CUDA_SUCCESS;
	}
}

EMU_API CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute what, int value)
{
	struct emu_function *f = emu_function_of(function);

	if (!f)
		return CUDA_ERROR_INVALID_HANDLE;
	if (what == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
		if (value < 0 || value + (double)f->entry->shared_bytes >
					 emu.devices[0].model.shared_per_block_optin)
			return CUDA_ERROR_INVALID_VALUE;
		f->dynamic_shared_bytes = value;
	} else if (what == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
		f->carveout = value;
	}
	return CUDA_SUCCESS;
}

static int is_loaded(const struct emu_function *f)
{
	return __atomic_load_n(&f->loaded, __ATOMIC_RELAXED);
}

/* Code is loaded when first needed; during a capture, only launches may load it. */
static CUresult load_function(struct emu_thread *self, struct emu_function *f)
{
	CUresult r = is_loaded(f) ? CUDA_SUCCESS : emu_capture_check(self);

	if (!r)
		__atomic_store_n(&f->loaded, 1, __ATOMIC_RELAXED);
	return r;
}

EMU_API CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset,
				    size_t *bytes)
{
	EMU_ENTER(EMU_CALL_FREE);
	struct emu_function *f = emu_function_of(function);
	CUresult r = f ? load_function(self, f) : CUDA_ERROR_INVALID_HANDLE;

	if (r)
		return r;
	if (f->entry->n_params < 0 || index >= (size_t)f->entry->n_params)
		return CUDA_ERROR_INVALID_VALUE;
	if (offset)
		*offset = f->entry->params[index].offset;
	if (bytes)
		*bytes = f->entry->params[index].bytes;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuFuncIsLoaded(CUfunctionLoadingState *ret, CUfunction function)
{
	const struct emu_function *f = emu_function_of(function);

	*ret = f && is_loaded(f) ? CU_FUNCTION_LOADING_STATE_LOADED
				 : CU_FUNCTION_LOADING_STATE_UNLOADED;
	return f ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

EMU_API CUresult cuFuncLoad(CUfunction function)
{
	EMU_ENTER(EMU_CALL_FREE);
	struct emu_function *f = emu_function_of(function);

	return f ? load_function(self, f) : CUDA_ERROR_INVALID_HANDLE;
}
