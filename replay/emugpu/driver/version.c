/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "replay/emugpu/driver/cuda_api.h"
#include "replay/emugpu/versions.h"

#include <stddef.h>
#include <string.h>

/* The first row of `name`, or emu_n_versions. */
static unsigned first_of(const char *name)
{
	size_t low = array_bound(i, 0, emu_n_versions, strcmp(emu_versions[i].name, name) < 0);

	return low < emu_n_versions && strcmp(emu_versions[low].name, name) == 0 ? low
										 : emu_n_versions;
}

EMU_API CUresult cuGetProcAddress_v2(const char *symbol, void **ret, int version, cuuint64_t flags,
				     CUdriverProcAddressQueryResult *status)
{
	int per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
	const struct emu_version *best = NULL;
	unsigned i;

	if (!symbol || !ret || version > CUDA_VERSION + 999)
		return CUDA_ERROR_INVALID_VALUE;
	i = first_of(symbol);
	if (status)
		*status = i < emu_n_versions ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
					     : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	for (; i < emu_n_versions && strcmp(emu_versions[i].name, symbol) == 0; i++) {
		const struct emu_version *v = &emu_versions[i];

		if (v->version > version || (v->per_thread && !per_thread))
			continue;
		/* A per-thread form takes precedence. */
		if (!best || v->per_thread > best->per_thread ||
		    (v->per_thread == best->per_thread && v->version >= best->version))
			best = v;
	}
	*ret = best ? best->function : NULL;
	if (best && status)
		*status = CU_GET_PROC_ADDRESS_SUCCESS;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuGetProcAddress(const char *symbol, void **ret, int version, cuuint64_t flags)
{
	CUresult r = cuGetProcAddress_v2(symbol, ret, version, flags, NULL);

	return r || *ret ? r : CUDA_ERROR_NOT_FOUND;
}

/* Messages that differ from the name's words. */
static const struct {
	CUresult result;
	const char *text;
} texts[] = {
	{CUDA_SUCCESS, "no error"},
	{CUDA_ERROR_INVALID_VALUE, "invalid argument"},
	{CUDA_ERROR_OUT_OF_MEMORY, "out of memory"},
	{CUDA_ERROR_NOT_INITIALIZED, "initialization error"},
	{CUDA_ERROR_DEINITIALIZED, "driver shutting down"},
	{CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"},
	{CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"},
	{CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"},
	{CUDA_ERROR_INVALID_CONTEXT, "invalid device context"},
	{CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"},
	{CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"},
	{CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"},
	{CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"},
	{CUDA_ERROR_FILE_NOT_FOUND, "file not found"},
	{CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"},
	{CUDA_ERROR_NOT_FOUND, "named symbol not found"},
	{CUDA_ERROR_NOT_READY, "device not ready"},
	{CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"},
	{CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"},
	{CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"},
	{CUDA_ERROR_ASSERT, "device-side assert triggered"},
	{CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"},
	{CUDA_ERROR_NOT_PERMITTED, "operation not permitted"},
	{CUDA_ERROR_NOT_SUPPORTED, "operation not supported"},
	{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"},
	{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
	 "operation failed due to a previous error during capture"},
	{CUDA_ERROR_UNKNOWN, "unknown error"},
};

static const struct emu_name *name_of(CUresult result)
{
	for (unsigned i = 0; i < emu_n_results; i++)
		if (emu_results[i].value == (int)result)
			return &emu_results[i];
	return NULL;
}

EMU_API CUresult cuGetErrorName(CUresult result, const char **ret)
{
	const struct emu_name *n = name_of(result);

	*ret = n ? n->name : NULL;
	return n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EMU_API CUresult cuGetErrorString(CUresult result, const char **ret)
{
	const struct emu_name *n = name_of(result);

	*ret = n ? n->words : NULL;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].result == result)
			*ret = texts[i].text;
	return n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
