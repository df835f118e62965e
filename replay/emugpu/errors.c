/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/versions.h"

#include <driver_types.h>

/* Common errors have NVIDIA's wording, because people search for it. The driver and the runtime
 * have the same numbers. */
static const struct {
	enum cudaError error;
	const char *text;
} texts[] = {
	{cudaSuccess, "no error"},
	{cudaErrorInvalidValue, "invalid argument"},
	{cudaErrorMemoryAllocation, "out of memory"},
	{cudaErrorInitializationError, "initialization error"},
	{cudaErrorCudartUnloading, "driver shutting down"},
	{cudaErrorInvalidConfiguration, "invalid configuration argument"},
	{cudaErrorInvalidPitchValue, "invalid pitch argument"},
	{cudaErrorInvalidSymbol, "invalid device symbol"},
	{cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"},
	{cudaErrorInsufficientDriver,
	 "CUDA driver version is insufficient for CUDA runtime version"},
	{cudaErrorInvalidDeviceFunction, "invalid device function"},
	{cudaErrorNoDevice, "no CUDA-capable device is detected"},
	{cudaErrorInvalidDevice, "invalid device ordinal"},
	{cudaErrorInvalidKernelImage, "device kernel image is invalid"},
	{cudaErrorNoKernelImageForDevice,
	 "no kernel image is available for execution on the device"},
	{cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"},
	{cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"},
	{cudaErrorInvalidResourceHandle, "invalid resource handle"},
	{cudaErrorSymbolNotFound, "named symbol not found"},
	{cudaErrorNotReady, "device not ready"},
	{cudaErrorIllegalAddress, "an illegal memory access was encountered"},
	{cudaErrorLaunchOutOfResources, "too many resources requested for launch"},
	{cudaErrorLaunchTimeout, "the launch timed out and was terminated"},
	{cudaErrorAssert, "device-side assert triggered"},
	{cudaErrorHostMemoryAlreadyRegistered,
	 "part or all of the requested memory range is already mapped"},
	{cudaErrorHostMemoryNotRegistered,
	 "pointer does not correspond to a registered memory region"},
	{cudaErrorLaunchFailure, "unspecified launch failure"},
	{cudaErrorNotPermitted, "operation not permitted"},
	{cudaErrorNotSupported, "operation not supported"},
	{cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"},
	{cudaErrorStreamCaptureInvalidated,
	 "operation failed due to a previous error during capture"},
	{cudaErrorDeviceUninitialized, "invalid device context"},
	{cudaErrorInvalidPtx, "a PTX JIT compilation failed"},
	{cudaErrorFileNotFound, "file not found"},
	{cudaErrorUnknown, "unknown error"},
};

const char *emu_result_text(int result)
{
	const struct emu_name *n = emu_result(result);

	for (size_t i = 0; n && i < sizeof(texts) / sizeof(texts[0]); i++)
		if ((int)texts[i].error == result)
			return texts[i].text;
	return n ? n->words : NULL;
}
