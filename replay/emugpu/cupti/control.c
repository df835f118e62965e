/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cupti/cupti.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static struct {
	pthread_once_t once;
	gpuemu_observe_fn *driver, *runtime;
	uint64_t (*host_ns)(void);
	void (*pause)(void), (*resume)(void);
	int64_t since_1970_ns; /* at the zero of virtual time */
} emulated = {.once = PTHREAD_ONCE_INIT};

static uint8_t wanted[CUPTI_ACTIVITY_KIND_COUNT];

static gpuemu_observe_fn *observe_function(const char *library)
{
	void *l = dlopen(library, RTLD_NOW);

	return l ? (gpuemu_observe_fn *)dlsym(l, "gpuemu_observe") : NULL;
}

static void find_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	int64_t (*zero_ns)(void);
	struct timespec now, up;

	if (!driver)
		return;
	emulated.host_ns = (uint64_t(*)(void))dlsym(driver, "gpuemu_host_ns");
	emulated.pause = (void (*)(void))dlsym(driver, "gpuemu_clock_pause");
	emulated.resume = (void (*)(void))dlsym(driver, "gpuemu_clock_resume");
	zero_ns = (int64_t(*)(void))dlsym(driver, "gpuemu_zero_ns");
	emulated.driver = observe_function("libcuda.so.1");
	emulated.runtime = observe_function("libcudart.so.13");
	if (!emulated.host_ns || !emulated.pause || !emulated.resume || !zero_ns) {
		emulated.driver = NULL; /* not the emulated driver */
		return;
	}
	/* The clocks advance at the same rate, real or virtual. */
	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_MONOTONIC, &up);
	emulated.since_1970_ns = (now.tv_sec - up.tv_sec) * INT64_C(1000000000) + now.tv_nsec -
				 up.tv_nsec + zero_ns();
}

static int is_emulated(void)
{
	pthread_once(&emulated.once, find_driver);
	return emulated.driver != NULL;
}

int64_t cupti_now_ns(void)
{
	return (int64_t)emulated.host_ns();
}

void cupti_pause(void)
{
	emulated.pause();
}

void cupti_resume(void)
{
	emulated.resume();
}

uint64_t cupti_stamp(int64_t virtual_ns)
{
	return (uint64_t)(emulated.since_1970_ns + virtual_ns);
}

int cupti_wants(CUpti_ActivityKind kind)
{
	return wanted[kind];
}

void cupti_update(void)
{
	const struct emu_observer *o = cupti_has_callbacks() ? &cupti_observer : NULL;

	for (int i = 0; i < CUPTI_ACTIVITY_KIND_COUNT; i++)
		if (wanted[i])
			o = &cupti_observer;
	if (!is_emulated())
		return;
	emulated.driver(o);
	if (emulated.runtime)
		emulated.runtime(o);
}

CUptiResult cupti_set_wanted(CUpti_ActivityKind kind, int on)
{
	char use[64];

	switch (kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
	case CUPTI_ACTIVITY_KIND_MEMCPY:
	case CUPTI_ACTIVITY_KIND_MEMSET:
	case CUPTI_ACTIVITY_KIND_DRIVER:
	case CUPTI_ACTIVITY_KIND_RUNTIME:
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
	case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
	case CUPTI_ACTIVITY_KIND_OVERHEAD: /* emulation has no overhead to report */
		break;
	default:
		snprintf(use, sizeof(use), "cuptiActivityEnable (kind %d)", (int)kind);
		emu_refuse_use("libcupti.so.13", use);
		return CUPTI_ERROR_NOT_SUPPORTED;
	}
	if (!is_emulated())
		return CUPTI_ERROR_NOT_INITIALIZED;
	wanted[kind] = (uint8_t)on;
	cupti_update();
	return CUPTI_SUCCESS;
}

/* ---- the public functions ---- */

CUptiResult cupti_skip_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id, uint8_t enable)
{
	if (id >= CUPTI_CBIDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	cupti_skip[domain][id] = !enable;
	return CUPTI_SUCCESS;
}

EMU_API CUptiResult cuptiGetTimestamp(uint64_t *ret)
{
	if (!ret)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!is_emulated())
		return CUPTI_ERROR_NOT_INITIALIZED;
	*ret = cupti_stamp(cupti_now_ns());
	return CUPTI_SUCCESS;
}

EMU_API CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **ret)
{
	const struct cupti_cbid *found = NULL;

	if (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API)
		found = cupti_cbid_of_id(domain, id);
	if (!ret || !found)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*ret = found->name;
	return CUPTI_SUCCESS;
}

EMU_API CUptiResult cuptiFinalize(void)
{
	memset(wanted, 0, sizeof(wanted));
	cupti_drop_subscriber();
	return cuptiActivityFlushAll(0);
}

/* PyTorch stamps its own events with the processor's cycle counter, requests stamps of that counter
 * from CUPTI, and interprets any stamp as such. Virtual time has no cycles, so durations of ops
 * would be wrong. Kineto queries this exported function (libkineto::use_cupti_tsc, a reference to
 * bool), which a preloaded library can replace: it returns false. */
uint8_t *_ZN9libkineto13use_cupti_tscEv(void);

EMU_API uint8_t *_ZN9libkineto13use_cupti_tscEv(void)
{
	static __thread uint8_t no;

	no = 0;
	return &no;
}
