/* SPDX-License-Identifier: Apache-2.0 */

/* Launches and attributes of kernels. */
#include "replay/emugpu/runtime/runtime.h"

#include <string.h>

/* Configurations of <<< >>>, until the next stub uses them. */
#define NESTED 16

static __thread struct {
	dim3 grid, block;
	size_t shared_bytes;
	cudaStream_t stream;
} configurations[NESTED];
static __thread int n_configurations;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
				     struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
			       size_t shared_bytes, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
				    size_t shared_bytes, cudaStream_t stream);

EMU_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
					     struct CUstream_st *stream)
{
	if (n_configurations == NESTED)
		return 1;
	configurations[n_configurations].grid = grid;
	configurations[n_configurations].block = block;
	configurations[n_configurations].shared_bytes = shared_bytes;
	configurations[n_configurations++].stream = stream;
	return 0;
}

EMU_API cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes,
					       void *stream)
{
	if (n_configurations == 0)
		return rt_error(cudaErrorMissingConfiguration);
	n_configurations--;
	*grid = configurations[n_configurations].grid;
	*block = configurations[n_configurations].block;
	*shared_bytes = configurations[n_configurations].shared_bytes;
	memcpy(stream, &configurations[n_configurations].stream, sizeof(cudaStream_t));
	return cudaSuccess;
}

/* The runtime has a specific error for an invalid launch shape. */
static cudaError_t launched(CUresult r)
{
	if (r == CUDA_ERROR_INVALID_VALUE)
		return rt_error(cudaErrorInvalidConfiguration);
	return rt_result(r);
}

static cudaError_t launch_kernel(CUkernel k, dim3 grid, dim3 block, void **args,
				 size_t shared_bytes, cudaStream_t stream)
{
	cudaError_t e = rt_ready();

	if (e)
		return e;
	if (!k)
		return rt_error(cudaErrorInvalidDeviceFunction);
	if (shared_bytes > UINT32_MAX)
		return rt_error(cudaErrorInvalidValue);
	return launched(RT_DRIVER(cuLaunchKernel)((CUfunction)k, grid.x, grid.y, grid.z, block.x,
						  block.y, block.z, (unsigned)shared_bytes,
						  rt_stream(stream), args, NULL));
}

EMU_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
				       size_t shared_bytes, cudaStream_t stream)
{
	return launch_kernel((CUkernel)kernel, grid, block, args, shared_bytes, stream);
}

EMU_API cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
					    size_t shared_bytes, cudaStream_t stream)
{
	return launch_kernel((CUkernel)kernel, grid, block, args, shared_bytes,
			     stream ? stream : cudaStreamPerThread);
}

EMU_API cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args,
				     size_t shared_bytes, cudaStream_t stream)
{
	CUkernel k;
	cudaError_t e = rt_kernel(function, &k);

	return e ? e : launch_kernel(k, grid, block, args, shared_bytes, stream);
}

EMU_API cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block,
						void **args, size_t shared_bytes,
						cudaStream_t stream)
{
	CUkernel k;
	cudaError_t e = rt_kernel(function, &k);

	if (e)
		return e;
	return launched(RT_DRIVER(cuLaunchCooperativeKernel)(
		(CUfunction)k, grid.x, grid.y, grid.z, block.x, block.y, block.z,
		(unsigned)shared_bytes, rt_stream(stream), args));
}

cudaError_t rt_launch_config(const cudaLaunchConfig_t *c, CUlaunchConfig *ret)
{
	if (!c)
		return rt_error(cudaErrorInvalidValue);
	*ret = (CUlaunchConfig){
		.gridDimX = c->gridDim.x,
		.gridDimY = c->gridDim.y,
		.gridDimZ = c->gridDim.z,
		.blockDimX = c->blockDim.x,
		.blockDimY = c->blockDim.y,
		.blockDimZ = c->blockDim.z,
		.sharedMemBytes = (unsigned)c->dynamicSmemBytes,
		.hStream = rt_stream(c->stream),
		.attrs = (CUlaunchAttribute *)c->attrs,
		.numAttrs = c->numAttrs,
	};
	return cudaSuccess;
}

EMU_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *function,
					void **args)
{
	CUlaunchConfig config;
	CUkernel k;
	cudaError_t e = rt_launch_config(c, &config);

	if (!e)
		e = rt_kernel(function, &k);
	if (e)
		return e;
	return launched(RT_DRIVER(cuLaunchKernelEx)(&config, (CUfunction)k, args, NULL));
}

static int function_attribute(CUkernel k, CUfunction_attribute what)
{
	int value = 0;

	RT_DRIVER(cuFuncGetAttribute)(&value, what, (CUfunction)k);
	return value;
}

EMU_API cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *ret, const void *function)
{
	CUkernel k;
	cudaError_t e = rt_kernel(function, &k);

	if (e)
		return e;
	*ret = (struct cudaFuncAttributes){
		.sharedSizeBytes =
			(size_t)function_attribute(k, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
		.constSizeBytes = (size_t)function_attribute(k, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES),
		.localSizeBytes = (size_t)function_attribute(k, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
		.maxThreadsPerBlock =
			function_attribute(k, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
		.numRegs = function_attribute(k, CU_FUNC_ATTRIBUTE_NUM_REGS),
		.ptxVersion = function_attribute(k, CU_FUNC_ATTRIBUTE_PTX_VERSION),
		.binaryVersion = function_attribute(k, CU_FUNC_ATTRIBUTE_BINARY_VERSION),
		.maxDynamicSharedSizeBytes =
			function_attribute(k, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
		.preferredShmemCarveout =
			function_attribute(k, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT),
	};
	return cudaSuccess;
}
