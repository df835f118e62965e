/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/host_kernel.h"

#include "base/scope.h"
#include "replay/emugpu/driver/name.h"
#include "replay/emugpu/driver/timing.h"
#include "replay/emugpu/torch/torch.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct registered {
	const struct gpuemu_kernel *kernel;
	struct registered *next;
};

static struct {
	pthread_mutex_t lock;
	struct registered *latest;
	unsigned generation;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER, .generation = 1};

EMU_API int gpuemu_register_kernel(const struct gpuemu_kernel *k)
{
	struct registered *t = malloc(sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->kernel = k;
	pthread_mutex_lock(&registry.lock);
	t->next = registry.latest;
	registry.latest = t;
	__atomic_add_fetch(&registry.generation, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&registry.lock);
	return 0;
}

const struct gpuemu_kernel *emu_host_kernel_find(const char *symbol, struct emu_host_kernel *cache)
{
	unsigned generation = __atomic_load_n(&registry.generation, __ATOMIC_ACQUIRE);
	const struct gpuemu_kernel *found = NULL;

	if (__atomic_load_n(&cache->generation, __ATOMIC_ACQUIRE) == generation)
		return __atomic_load_n(&cache->kernel, __ATOMIC_RELAXED);
	pthread_mutex_lock(&registry.lock);
	/* Readers take no lock: `kernel` changes from the old value to the new one atomically. */
	for (struct registered *k = registry.latest; k && !found; k = k->next)
		if (emu_name_matches(k->kernel->name, symbol))
			found = k->kernel;
	if (!found && strncmp(symbol, "_Z", 2) == 0) {
		scoped(free_ptr) char *name = emu_name_plain(symbol);

		found = name ? emu_torch_kernel(symbol, name) : NULL;
	}
	__atomic_store_n(&cache->kernel, found, __ATOMIC_RELAXED);
	__atomic_store_n(&cache->generation, registry.generation, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&registry.lock);
	return found;
}

void emu_host_kernels_load(void)
{
	const char *plugins = getenv("GPUEMU_PLUGINS"), *timing = getenv("GPUEMU_TIMING");
	scoped(free_ptr) char *list = strdup(plugins ? plugins : "");
	char *rest = list, *path;

	while (list && (path = strsep(&rest, ":")))
		if (*path && !dlopen(path, RTLD_NOW | RTLD_GLOBAL))
			fprintf(stderr, "gpuemu: cannot load the host kernels in %s: %s\n", path,
				dlerror());
	if (timing && emu_timing_load(timing) < 0)
		fprintf(stderr, "gpuemu: cannot read the durations in %s\n", timing);
}
