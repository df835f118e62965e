/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/device/aside.h"

#include "capture/library/device/hook.h"

#include <pthread.h>

static void (*begin)(void), (*end)(void);

static void find(void)
{
	begin = (void (*)(void))cap_real(CAP_DRIVER, "gpuemu_aside_begin");
	end = (void (*)(void))cap_real(CAP_DRIVER, "gpuemu_aside_end");
}

void cap_aside_begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (cap_emulated())
		pthread_once(&once, find);
	if (begin && end)
		begin();
}

void cap_aside_end(void)
{
	if (begin && end)
		end();
}
