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

EMU_API CUresult cuGetErrorName(CUresult result, const char **ret)
{
	*ret = emu_result_name((int)result);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EMU_API CUresult cuGetErrorString(CUresult result, const char **ret)
{
	*ret = emu_result_text((int)result);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
