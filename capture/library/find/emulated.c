/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/find/emulated.h"

#include "capture/library/attributes.h"
#include "capture/library/find/real.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static void (*begin_pause)(void), (*end_pause)(void), (*not_before)(int64_t ns);
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Open pauses of the thread: the emulated driver may be found between cap_clock_pause() and
 * cap_clock_resume(). */
static __thread unsigned depth CAP_THREAD_LOCAL;

void cap_emulated_find(void)
{
	void *from = getenv("GPUCAPTURE_DRIVER") ? cap_real_driver() : RTLD_NEXT;

	if (!cap_emulated_clock() && from)
		__atomic_store_n(&cap_emulated_host_ns,
				 (uint64_t(*)(void))cap_loader()->dlsym(from, "gpuemu_host_ns"),
				 __ATOMIC_RELEASE);
}

static void find_functions(void)
{
	begin_pause = (void (*)(void))cap_real(CAP_DRIVER, "gpuemu_clock_pause");
	end_pause = (void (*)(void))cap_real(CAP_DRIVER, "gpuemu_clock_resume");
	not_before = (void (*)(int64_t))cap_real(CAP_DRIVER, "gpuemu_thread_not_before");
}

void cap_clock_pause(void)
{
	if (depth == 0 && !cap_is_emulated())
		return;
	pthread_once(&once, find_functions);
	if (!begin_pause || !end_pause)
		return;
	depth++;
	begin_pause();
}

void cap_clock_resume(void)
{
	if (depth == 0)
		return;
	depth--;
	end_pause();
}

void cap_clock_not_before(uint64_t ns)
{
	if (ns == 0 || !cap_is_emulated())
		return;
	pthread_once(&once, find_functions);
	if (not_before)
		not_before((int64_t)ns);
}
