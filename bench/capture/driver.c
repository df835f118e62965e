/* SPDX-License-Identifier: Apache-2.0 */

/* A driver that does nothing, so that what a recorder adds to a call can be seen. A kernel has four
 * parameters. */
#include "bench/capture/driver.h"

int cuInit(unsigned flags)
{
	return 0;
}

int cuDriverGetVersion(int *ret)
{
	*ret = 13000;
	return 0;
}

int cuCtxGetCurrent(void **ret)
{
	*ret = 0;
	return 0;
}

int cuCtxGetFlags(unsigned *ret)
{
	return 0;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared_bytes, void *stream, void **params, void **extra)
{
	return 0;
}

int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *bytes)
{
	if (index >= 4)
		return 1;
	*offset = 8 * index;
	*bytes = index < 2 ? 4 : 8;
	return 0;
}
