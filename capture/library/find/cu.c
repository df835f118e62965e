/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/find/cu.h"

#include "capture/library/find/real.h"

#include <errno.h>
#include <pthread.h>

struct cap_cu cap_cu;

static int missing, missing_graphs;

static void load_functions(void)
{
#define X(name, parameters)                                                                        \
	cap_cu.name = (int(*) parameters)cap_real(CAP_DRIVER, #name);                              \
	missing |= !cap_cu.name;
	CAP_CU_CALLS(X)
#undef X
#define X(name, parameters)                                                                        \
	cap_cu.name = (int(*) parameters)cap_real(CAP_DRIVER, #name);                              \
	missing_graphs |= !cap_cu.name;
	CAP_CU_GRAPH_CALLS(X)
#undef X
}

int cap_cu_load(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load_functions);
	return missing ? -ENOSYS : 0;
}

int cap_cu_load_graphs(void)
{
	int r = cap_cu_load();

	return r < 0 || !missing_graphs ? r : -ENOSYS;
}

#define NO_MODE (-1)

int cap_cu_relax_begin(void)
{
	int mode = CU_CAPTURE_RELAXED;

	cap_cu_load();
	if (!cap_cu.cuThreadExchangeStreamCaptureMode ||
	    cap_cu.cuThreadExchangeStreamCaptureMode(&mode))
		return NO_MODE;
	return mode;
}

void cap_cu_relax_end(int mode)
{
	if (mode != NO_MODE)
		cap_cu.cuThreadExchangeStreamCaptureMode(&mode);
}
