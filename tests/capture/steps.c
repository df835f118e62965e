/* SPDX-License-Identifier: Apache-2.0 */

/* steps NAME...: an NVTX range for each name, with another range in it. Prints the contents of the
 * only allocation when the range begins: "want NAME DIGEST". "mark" is an iteration mark of
 * <gputrace.h> instead of a range. */
#include "capture/digest/gd128.h"
#include <gputrace.h>

#include <cuda.h>
#include <inttypes.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 4096
#define OK(call)                                                                                   \
	do {                                                                                       \
		CUresult r_ = (call);                                                              \
		if (r_) {                                                                          \
			fprintf(stderr, "%s: %d\n", #call, r_);                                    \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static void print_wanted(const char *name, int byte)
{
	unsigned char data[BYTES];
	struct gd128 d;

	memset(data, byte, sizeof(data));
	d = gd128_of(data, sizeof(data));
	printf("want %016" PRIx64 "%016" PRIx64 " %s\n", d.lo, d.hi, name);
}

int main(int argc, char **argv)
{
	CUcontext context;
	CUdevice device;
	CUdeviceptr a;

	OK(cuInit(0));
	OK(cuDeviceGet(&device, 0));
	OK(cuDevicePrimaryCtxRetain(&context, device));
	OK(cuCtxSetCurrent(context));
	OK(cuMemAlloc(&a, BYTES));
	for (int i = 1; i < argc; i++) {
		OK(cuMemsetD8(a, (unsigned char)i, BYTES));
		print_wanted(argv[i], i);
		if (strcmp(argv[i], "mark") == 0)
			gputrace_mark_iteration();
		else
			nvtxRangePushA(argv[i]);
		OK(cuMemsetD8(a, 200, BYTES));
		print_wanted("inner", 200);
		nvtxRangePushA("inner step 7");
		nvtxRangePop();
		if (strcmp(argv[i], "mark") != 0)
			nvtxRangePop();
	}
	OK(cuMemFree(a));
	return 0;
}
