/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "capture/library/device/collector.h"
#include "capture/library/device/contexts.h"
#include "capture/library/find/clock.h"
#include "capture/library/find/cu.h"
#include "capture/library/times/device_clock.h"
#include "tests/unit/test.h"

/* A model driver that starts work after LAG_NS and reports the end after LAG_NS more. Each probe
 * can be delayed further. */
#define LAG_NS 4000
static int64_t now_ns, came_ns;
static const int64_t *held_up_ns;
static int n_held_up, n_probes;
struct cap_cu cap_cu;

int64_t cap_now_ns(void)
{
	return now_ns;
}

int cap_cu_relax_begin(void)
{
	return 0;
}

void cap_cu_relax_end(int mode)
{
}

int cap_context_enter(void *context)
{
	return 0;
}

void cap_context_leave(int entered)
{
}

static bool (*awaited)(void *context);

/* The test's version of the library thread: everything awaited has happened. */
void cap_collector_await(bool (*is_done)(void *context), void *context)
{
	awaited = is_done;
	if (!is_done(context))
		cap_device_clock_leave();
	ck_assert(is_done(context));
}

static int push(void *context)
{
	return 0;
}

static int pop(void **ret)
{
	*ret = &now_ns;
	return 0;
}

static int make_event(void **ret, unsigned flags)
{
	*ret = &now_ns;
	return (int)flags * 0;
}

static int record_event(void *event, void *stream)
{
	came_ns = now_ns + LAG_NS;
	return 0;
}

static int wait_for(void *event)
{
	now_ns = came_ns + LAG_NS;
	if (n_probes < n_held_up)
		now_ns += held_up_ns[n_probes];
	n_probes++;
	return 0;
}

static int wait_for_stream(void *stream)
{
	now_ns = came_ns + LAG_NS;
	return 0;
}

/* Time since the first event, which was recorded at LAG_NS. */
static int elapsed(float *ret_ms, void *from, void *to)
{
	*ret_ms = (float)(came_ns - LAG_NS) / 1e6f;
	return 0;
}

static void start_clock(struct cap_device_clock *k, const int64_t *held_up, int n)
{
	now_ns = n_probes = 0;
	held_up_ns = held_up;
	n_held_up = n;
	cap_cu.cuStreamCreate = make_event;
	cap_cu.cuEventCreate = make_event;
	cap_cu.cuEventRecord = record_event;
	cap_cu.cuEventSynchronize = wait_for;
	cap_cu.cuStreamSynchronize = wait_for_stream;
	cap_cu.cuEventElapsedTime = elapsed;
	cap_device_clock_begin(k, &now_ns);
	ck_assert(cap_device_clock_has_state(k, CAP_CLOCK_LIVE));
}

/* Delayed probes are repeated until two agree. */
TEST(delayed_probes_are_repeated)
{
	static const int64_t held_up[] = {90000, 50000, 70000, 200000, 0, 30000};
	struct cap_device_clock k;

	start_clock(&k, held_up, ARRAY_SIZE(held_up));
	ck_assert_int_eq(k.lag_ns, LAG_NS);
	ck_assert_int_eq(n_probes, 7);
	start_clock(&k, held_up, 0);
	ck_assert_int_eq(k.lag_ns, LAG_NS);
	ck_assert_int_eq(n_probes, 3);
}

/* No operation starts before it was issued, whatever the device's clock reports. */
TEST(nothing_begins_before_it_was_issued)
{
	struct cap_device_clock k;
	int64_t at;

	start_clock(&k, NULL, 0);
	at = cap_drift_to_device(&k.drift, 500000);
	ck_assert_int_eq(cap_device_clock_op_start(&k, 500000, INT64_MIN, at + 90000), at + LAG_NS);
	ck_assert_int_eq(cap_device_clock_op_start(&k, 500000, at + 7000, at + 90000), at + 7000);
	ck_assert_int_eq(cap_device_clock_op_start(&k, 500000, INT64_MIN, at + 3000), at + 3000);
	ck_assert_int_eq(cap_device_clock_op_start(&k, 500000, INT64_MIN, at - 21000), at);
	ck_assert_int_eq(cap_device_clock_op_start(&k, 500000, at + 7000, at + 3000), at + 7000);
}

/* The clock of a context that is being destroyed is not read; if the destruction fails, the clock
 * continues. */
TEST(contexts_being_destroyed_are_not_read)
{
	struct cap_device_clock k, other;

	start_clock(&k, NULL, 0);
	start_clock(&other, NULL, 0);
	cap_cu.cuCtxPushCurrent_v2 = push;
	cap_cu.cuCtxPopCurrent_v2 = pop;
	ck_assert_int_eq(cap_device_clock_enter(&k), 0);
	cap_device_clock_end(&k);
	ck_assert_ptr_nonnull(awaited);
	ck_assert_int_eq(cap_device_clock_enter(&k), -EAGAIN);
	ck_assert_int_eq(cap_device_clock_enter(&other), 0);
	cap_device_clock_ended(&k, false);
	ck_assert_int_eq(cap_device_clock_enter(&k), 0);
	cap_device_clock_leave();
	cap_device_clock_end(&k);
	cap_device_clock_ended(&k, true);
	ck_assert_int_eq(cap_device_clock_enter(&k), -EIO);
}

/* An event more than 0.1 s after the base becomes the new base. */
TEST(the_base_event_is_replaced)
{
	struct cap_device_clock k;
	void *event = &came_ns, *old;

	start_clock(&k, NULL, 0);
	old = k.base;
	cap_device_clock_rebase(&k, &event, k.base_ns + 99999999);
	ck_assert_ptr_eq(k.base, old);
	cap_device_clock_rebase(&k, &event, k.base_ns + 100000000);
	ck_assert_ptr_eq(k.base, &came_ns);
	ck_assert_ptr_eq(event, old);
}
