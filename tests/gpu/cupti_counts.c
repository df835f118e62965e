/* SPDX-License-Identifier: Apache-2.0 */

/* A test oracle: counts the calls of each driver function with CUPTI. The driver loads it
 * (CUDA_INJECTION64_PATH); when the process ends, it appends lines "NAME CALLS" to the file
 * $CUPTI_COUNTS. */
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 4096 /* number of driver functions, at most */

static struct {
	const char *name;
	uint64_t calls;
} seen[MOST];

static void CUPTIAPI called(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			    const void *what)
{
	const CUpti_CallbackData *data = what;

	if (id >= MOST || data->callbackSite != CUPTI_API_ENTER)
		return;
	seen[id].name = data->functionName;
	__atomic_fetch_add(&seen[id].calls, 1, __ATOMIC_RELAXED);
}

/* A destructor runs after all exit() handlers, which may call the driver too. */
__attribute__((destructor)) static void write_counts(void)
{
	const char *path = getenv("CUPTI_COUNTS");
	FILE *f = path ? fopen(path, "a") : NULL;

	for (unsigned i = 0; f && i < MOST; i++)
		if (seen[i].calls > 0)
			fprintf(f, "%s %llu\n", seen[i].name, (unsigned long long)seen[i].calls);
	if (f)
		fclose(f);
}

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
	CUpti_SubscriberHandle subscriber;

	if (cuptiSubscribe(&subscriber, called, NULL) != CUPTI_SUCCESS ||
	    cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) != CUPTI_SUCCESS)
		return 0;
	return 1;
}
