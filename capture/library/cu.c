/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/cu.h"

#include "capture/library/hook.h"

#include <errno.h>
#include <pthread.h>

struct cap_cu cap_cu;

static int missing;

static void load(void)
{
#define X(name, parameters)                                                                        \
	cap_cu.name = (int(*) parameters)cap_real(CAP_DRIVER, #name);                              \
	missing |= !cap_cu.name;
	CAP_CU_CALLS(X)
#undef X
}

int cap_cu_load(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	return missing ? -ENOSYS : 0;
}
