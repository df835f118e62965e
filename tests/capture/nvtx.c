/* SPDX-License-Identifier: Apache-2.0 */

/* NVTX as programs use it: through its own headers. */
#include <nvtx3/nvToolsExt.h>

#include <dlfcn.h>

/* With an argument, opens the driver first, as PyTorch does. */
int main(int argc, char **argv)
{
	if (argc > 1 && !dlopen("libcuda.so.1", RTLD_NOW))
		return 3;

	nvtxDomainHandle_t domain = nvtxDomainCreateA("loader");
	nvtxStringHandle_t batch = nvtxDomainRegisterStringA(domain, "batch");
	nvtxEventAttributes_t a = {
		.version = NVTX_VERSION,
		.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
		.category = 7,
		.messageType = NVTX_MESSAGE_TYPE_REGISTERED,
		.message.registered = batch,
	};
	nvtxRangeId_t id = nvtxRangeStartA("epoch");

	nvtxMarkA("begin");
	if (nvtxRangePushA("step 0") != 0 || nvtxRangePushW(L"f\u00fcr") != 1)
		return 1;
	nvtxDomainRangePushEx(domain, &a);
	nvtxDomainRangePop(domain);
	if (nvtxRangePop() != 1 || nvtxRangePop() != 0)
		return 2;
	nvtxRangeEnd(id);
	return 0;
}
