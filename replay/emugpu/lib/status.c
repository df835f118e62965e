/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/lib/blas.h"
#include "replay/emugpu/versions.h"

static const struct {
	cublasStatus_t status;
	const char *text;
} texts[] = {
	{CUBLAS_STATUS_SUCCESS, "success"},
	{CUBLAS_STATUS_NOT_INITIALIZED, "the library was not initialized"},
	{CUBLAS_STATUS_ALLOC_FAILED, "the resource allocation failed"},
	{CUBLAS_STATUS_INVALID_VALUE,
	 "an unsupported value or parameter was passed to the function"},
	{CUBLAS_STATUS_ARCH_MISMATCH,
	 "the function requires a feature absent from the device architecture"},
	{CUBLAS_STATUS_MAPPING_ERROR, "an access to GPU memory space failed"},
	{CUBLAS_STATUS_EXECUTION_FAILED, "the GPU program failed to execute"},
	{CUBLAS_STATUS_INTERNAL_ERROR, "an internal operation failed"},
	{CUBLAS_STATUS_NOT_SUPPORTED, "the requested functionality is not supported"},
	{CUBLAS_STATUS_LICENSE_ERROR, "the license check failed"},
};

const char *emu_blas_status_name(cublasStatus_t status)
{
	const char *name = emu_result_name((int)status);

	return name ? name : "unknown cublasStatus_t";
}

const char *emu_blas_status_text(cublasStatus_t status)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].status == status)
			return texts[i].text;
	return "unknown cublasStatus_t";
}
