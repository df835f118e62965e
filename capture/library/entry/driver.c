/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "capture/library/call/chain.h"
#include "capture/library/device/allocations.h"
#include "capture/library/device/graph_memory.h"
#include "capture/library/digests/digests.h"
#include "capture/library/entry/hooks.h"
#include "capture/library/graphs/graphs.h"
#include "capture/library/process/exit.h"
#include "capture/library/process/process_facts.h"
#include "capture/library/ring/ring.h"
#include "capture/library/times/times.h"

#include <errno.h>
#include <pthread.h>

/* In the order in which they run before a call. `times` is last, so that no hook runs between its
 * event and the call. */
static const struct cap_hook *const hooks[] = {&cap_allocations, &cap_graph_memory, &cap_digests,
					       &cap_graphs, &cap_times};

static void start_hooks(void)
{
	cap_put_driver_facts();
	cap_chain_start(hooks, ARRAY_SIZE(hooks));
	cap_exit_register();
}

void cap_after_cu_init(int result)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static uint32_t begun; /* the generation for which start_hooks() was called */
	int kept = errno;

	if (result != 0 || !cap_process.session || !cap_is_alive())
		return;
	pthread_mutex_lock(&lock);
	__atomic_store_n(&cap_process.driver_used, true, __ATOMIC_RELAXED);
	if (begun != cap_process.generation && cap_ring_prepare(&cap_self)) {
		begun = cap_process.generation;
		start_hooks();
	}
	pthread_mutex_unlock(&lock);
	errno = kept;
}
