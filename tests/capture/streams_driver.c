/* SPDX-License-Identifier: Apache-2.0 */

/* A driver model with contexts, streams and events, for programs with many threads. An operation
 * takes 2 us on its stream; an event completes when all earlier work of its stream has.
 * Handles are reused at once. A call with an event of a destroyed context aborts the program. State
 * is in relaxed atomics, so that ThreadSanitizer does not see driver calls as synchronisation
 * between the program's threads; only creating and destroying a stream is ordered, as by a driver's
 * lock. */
#include "base/host.h"

#include <stdbool.h>
#include <stdlib.h>

#define API __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define OPERATION_NS 2000
#define MOST_STREAMS 256
#define MOST_CONTEXTS 1024
#define NOT_READY 600
#define INVALID_VALUE 1
#define PRIMARY (&contexts[0])

struct context {
	bool gone;
};

struct stream {
	bool used;
	struct context *context;
	unsigned flags;
	int64_t ends_ns; /* when all work put on it so far will have ended */
};

struct event {
	struct context *context;
	int64_t at_ns;
};

static struct context contexts[MOST_CONTEXTS];
static unsigned n_contexts = 1;
static struct stream streams[MOST_STREAMS];
static struct stream defaults; /* all default streams as one */

#define MOST_PUSHED 8
static __thread struct context *pushed[MOST_PUSHED] = {PRIMARY};
static __thread unsigned n_pushed;

static struct context *current(void)
{
	return pushed[n_pushed];
}

static void *check_context(struct context *c)
{
	if (__atomic_load_n(&c->gone, __ATOMIC_RELAXED))
		abort();
	return c;
}

static struct stream *stream_of(void *handle)
{
	return (uintptr_t)handle <= 2 ? &defaults : handle;
}

static int64_t now_ns(void)
{
	return host_clock_ns(CLOCK_MONOTONIC);
}

static int operate(void *handle)
{
	struct stream *s = stream_of(handle);
	int64_t before = __atomic_load_n(&s->ends_ns, __ATOMIC_RELAXED), from;

	do {
		from = now_ns();
		from = from > before ? from : before;
	} while (!__atomic_compare_exchange_n(&s->ends_ns, &before, from + OPERATION_NS, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return 0;
}

static void await(int64_t ns)
{
	const struct timespec at = {ns / 1000000000, ns % 1000000000};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* Counts of the calling thread: queries of the current context or of a stream's context, and events
 * recorded. */
static __thread unsigned n_asked, n_recorded;

API unsigned streams_driver_contexts(void)
{
	return n_asked;
}

API unsigned streams_driver_events(void)
{
	return n_recorded;
}

/* While set, cuEventQuery() reports that no event has completed. */
static bool holds;

API void streams_driver_hold(int hold)
{
	__atomic_store_n(&holds, hold, __ATOMIC_RELAXED);
}

/* ---- contexts */

API int cuInit(unsigned flags)
{
	return 0;
}

API int cuDriverGetVersion(int *ret)
{
	*ret = 13000;
	return 0;
}

API int cuCtxGetCurrent(void **ret)
{
	n_asked++;
	*ret = current();
	return 0;
}

API int cuCtxPushCurrent_v2(struct context *c)
{
	check_context(c);
	if (n_pushed + 1 == MOST_PUSHED)
		return INVALID_VALUE;
	pushed[++n_pushed] = c;
	return 0;
}

API int cuCtxPopCurrent_v2(void **ret)
{
	if (n_pushed == 0)
		return INVALID_VALUE;
	*ret = pushed[n_pushed--];
	return 0;
}

API int cuCtxCreate_v2(struct context **ret, unsigned flags, int device)
{
	unsigned n = __atomic_fetch_add(&n_contexts, 1, __ATOMIC_RELAXED);

	if (n >= MOST_CONTEXTS)
		return INVALID_VALUE;
	*ret = &contexts[n];
	return cuCtxPushCurrent_v2(*ret);
}

API int cuCtxDestroy_v2(struct context *c)
{
	void *was;

	check_context(c);
	if (c == current())
		cuCtxPopCurrent_v2(&was);
	__atomic_store_n(&c->gone, true, __ATOMIC_RELAXED);
	return 0;
}

API int cuCtxSynchronize(void)
{
	return 0;
}

/* Each returns 0, and a 0 in its last argument. */
API int cuCtxGetDevice(int *ret)
{
	*ret = 0;
	return 0;
}

API int cuDeviceGetAttribute(int *ret, int attribute, int device)
{
	return cuCtxGetDevice(ret);
}

API int cuDevicePrimaryCtxGetState(int device, unsigned *ret_flags, int *ret_active)
{
	*ret_flags = 0;
	*ret_active = 1;
	return 0;
}

API int cuDevicePrimaryCtxRetain(void **ret, int device)
{
	*ret = PRIMARY;
	return 0;
}

API int cuDevicePrimaryCtxRelease_v2(int device)
{
	return 0;
}

API int cuThreadExchangeStreamCaptureMode(int *mode)
{
	return 0;
}

/* ---- streams */

API int cuStreamCreate(void **ret, unsigned flags)
{
	for (struct stream *s = streams; s < streams + MOST_STREAMS; s++) {
		bool used = false;

		if (!__atomic_compare_exchange_n(&s->used, &used, true, false, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		s->context = check_context(current());
		s->flags = flags;
		*ret = s;
		return 0;
	}
	return 2;
}

API int cuStreamDestroy_v2(struct stream *s)
{
	__atomic_store_n(&s->used, false, __ATOMIC_RELEASE);
	return 0;
}

API int cuStreamGetCtx(void *handle, void **ret)
{
	n_asked++;
	*ret = (uintptr_t)handle <= 2 ? current() : stream_of(handle)->context;
	return 0;
}

API int cuStreamGetFlags(void *handle, unsigned *ret)
{
	*ret = stream_of(handle)->flags;
	return 0;
}

API int cuStreamIsCapturing(void *handle, int *ret)
{
	*ret = 0;
	return 0;
}

API int cuStreamSynchronize(void *handle)
{
	await(__atomic_load_n(&stream_of(handle)->ends_ns, __ATOMIC_RELAXED));
	return 0;
}

/* ---- events */

API int cuEventCreate(struct event **ret, unsigned flags)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return 2;
	(*ret)->context = check_context(current());
	return 0;
}

API int cuEventDestroy_v2(struct event *e)
{
	check_context(e->context);
	free(e);
	return 0;
}

API int cuEventRecord(struct event *e, void *stream)
{
	int64_t ends_ns = __atomic_load_n(&stream_of(stream)->ends_ns, __ATOMIC_RELAXED);
	int64_t now = now_ns();

	check_context(e->context);
	n_recorded++;
	__atomic_store_n(&e->at_ns, now > ends_ns ? now : ends_ns, __ATOMIC_RELAXED);
	return 0;
}

static bool is_reached(const struct event *e)
{
	check_context(e->context);
	return now_ns() >= __atomic_load_n(&e->at_ns, __ATOMIC_RELAXED);
}

API int cuEventQuery(struct event *e)
{
	return __atomic_load_n(&holds, __ATOMIC_RELAXED) || !is_reached(e) ? NOT_READY : 0;
}

API int cuEventSynchronize(struct event *e)
{
	check_context(e->context);
	await(__atomic_load_n(&e->at_ns, __ATOMIC_RELAXED));
	return 0;
}

API int cuEventElapsedTime(float *ret_ms, struct event *from, struct event *to)
{
	if (!is_reached(from) || !is_reached(to))
		return NOT_READY;
	*ret_ms = (float)(__atomic_load_n(&to->at_ns, __ATOMIC_RELAXED) -
			  __atomic_load_n(&from->at_ns, __ATOMIC_RELAXED)) /
		  1e6f;
	return 0;
}

API int cuStreamWaitEvent(void *stream, struct event *e, unsigned flags)
{
	return 0;
}

/* ---- operations */

API int cuModuleLoadData(void **ret, const void *image)
{
	*ret = (void *)0x1000;
	return 0;
}

API int cuModuleUnload(void *module)
{
	return 0;
}

API int cuModuleGetFunction(void **ret, void *module, const char *name)
{
	*ret = (void *)0x2000;
	return 0;
}

/* Each function has an int at offset 0 and a pointer at offset 8. */
API int cuFuncGetParamInfo(uint64_t function, size_t i, size_t *offset, size_t *bytes)
{
	if (i > 1)
		return INVALID_VALUE;
	*offset = i * 8;
	*bytes = i == 0 ? 4 : 8;
	return 0;
}

API int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		       unsigned bz, unsigned shared, void *stream, void **params, void **extra)
{
	return operate(stream);
}

API int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream)
{
	return operate(stream);
}

API int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes)
{
	return operate(NULL);
}

API int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
	return operate(stream);
}

API int cuMemHostAlloc(void **ret, size_t bytes, unsigned flags)
{
	*ret = calloc(1, bytes);
	return *ret ? 0 : 2;
}

API int cuMemFreeHost(void *at)
{
	free(at);
	return 0;
}

API int cuMemGetAddressRange_v2(uint64_t *ret_base, size_t *ret_bytes, uint64_t address)
{
	return INVALID_VALUE;
}

API int cuPointerGetAttribute(void *ret, int attribute, uint64_t address)
{
	return INVALID_VALUE;
}
