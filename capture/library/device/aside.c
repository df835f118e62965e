/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/device/aside.h"

#include "capture/library/device/hook.h"

#include <pthread.h>

static void (*begin)(void), (*end)(void);

/* How often the thread has called begin() and not end(): time may turn out to be virtual between
 * the two calls. */
static __thread unsigned depth __attribute__((tls_model("initial-exec")));

static void find_functions(void)
{
	begin = (void (*)(void))cap_real(CAP_DRIVER, "gpuemu_clock_pause");
	end = (void (*)(void))cap_real(CAP_DRIVER, "gpuemu_clock_resume");
}

void cap_aside_begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (depth == 0 && !cap_emulated())
		return;
	pthread_once(&once, find_functions);
	if (!begin || !end)
		return;
	depth++;
	begin();
}

void cap_aside_end(void)
{
	if (depth == 0)
		return;
	depth--;
	end();
}
