/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/driver.h"
#include "capture/library/device/chain.h"

#include <errno.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void cap_driver_began(int result)
{
	static uint32_t began; /* the generation for which all this is done */
	int kept = errno;

	if (result != 0 || !cap_process.session || !cap_is_alive())
		return;
	pthread_mutex_lock(&lock);
	__atomic_store_n(&cap_process.driver_used, true, __ATOMIC_RELAXED);
	if (began != cap_process.generation && cap_thread_ready(&cap_self)) {
		began = cap_process.generation;
		cap_facts_driver();
		cap_chain_start();
		cap_ends_driver_began();
	}
	pthread_mutex_unlock(&lock);
	errno = kept;
}
