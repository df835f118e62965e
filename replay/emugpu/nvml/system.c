/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/nvml/system.h"

#include <stdio.h>
#include <string.h>

static int uses; /* calls of nvmlInit minus calls of nvmlShutdown */

const struct emu_gpu *emu_nvml(void)
{
	return __atomic_load_n(&uses, __ATOMIC_ACQUIRE) > 0 ? emu_gpu() : NULL;
}

nvmlReturn_t emu_nvml_text(const char *text, char *buffer, unsigned int length)
{
	if (!buffer)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (strlen(text) >= length)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	strcpy(buffer, text);
	return NVML_SUCCESS;
}

EMU_API nvmlReturn_t nvmlInit_v2(void)
{
	if (!emu_gpu())
		return NVML_ERROR_DRIVER_NOT_LOADED;
	__atomic_add_fetch(&uses, 1, __ATOMIC_ACQ_REL);
	return NVML_SUCCESS;
}

EMU_API nvmlReturn_t nvmlShutdown(void)
{
	if (!emu_nvml())
		return NVML_ERROR_UNINITIALIZED;
	__atomic_sub_fetch(&uses, 1, __ATOMIC_ACQ_REL);
	return NVML_SUCCESS;
}

EMU_API const char *nvmlErrorString(nvmlReturn_t result)
{
	switch (result) {
	case NVML_SUCCESS:
		return "Success";
	case NVML_ERROR_UNINITIALIZED:
		return "Uninitialized";
	case NVML_ERROR_INVALID_ARGUMENT:
		return "Invalid Argument";
	case NVML_ERROR_NOT_SUPPORTED:
		return "Not Supported";
	case NVML_ERROR_NOT_FOUND:
		return "Not Found";
	case NVML_ERROR_INSUFFICIENT_SIZE:
		return "Insufficient Size";
	case NVML_ERROR_DRIVER_NOT_LOADED:
		return "Driver Not Loaded";
	default:
		return "Unknown Error";
	}
}

/* Returns the CUDA version, with a suffix that no NVIDIA driver has. */
EMU_API nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	char text[32];
	int cuda = 0;

	if (!emu_nvml())
		return NVML_ERROR_UNINITIALIZED;
	emu_gpu()->cuDriverGetVersion(&cuda);
	snprintf(text, sizeof(text), "0.0.%d", cuda);
	return emu_nvml_text(text, version, length);
}

EMU_API nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
	char text[32];

	snprintf(text, sizeof(text), "%d.0.0", NVML_API_VERSION);
	return emu_nvml_text(text, version, length);
}
