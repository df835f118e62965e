/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "capture/library/device/collector.h"
#include "capture/library/device/cu.h"
#include "capture/library/device/place.h"
#include "capture/library/times/device_clock.h"
#include "tests/unit/test.h"

/* A driver that needs LAG_NS to begin what it was given, and as long to say so; and how much longer
 * it takes to hear of that, by probe. */
#define LAG_NS 4000
static int64_t now_ns, came_ns;
static const int64_t *held_up_ns;
static int n_held_up, n_probes;
struct cap_cu cap_cu;

int64_t cap_now_ns(void)
{
	return now_ns;
}

int cap_relax(void)
{
	return 0;
}

void cap_unrelax(int mode)
{
	(void)mode;
}

int cap_place_enter(void *context)
{
	(void)context;
	return 0;
}

void cap_place_leave(int entered)
{
	(void)entered;
}

static bool (*awaited)(void *context);

/* The library's thread: what is waited for has happened in the end. */
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

static int make(void **ret, unsigned flags)
{
	*ret = &now_ns;
	return (int)flags * 0;
}

static int record_event(void *event, void *stream)
{
	(void)event;
	(void)stream;
	came_ns = now_ns + LAG_NS;
	return 0;
}

static int wait_for(void *event)
{
	(void)event;
	now_ns = came_ns + LAG_NS;
	if (n_probes < n_held_up)
		now_ns += held_up_ns[n_probes];
	n_probes++;
	return 0;
}

static int wait_for_stream(void *stream)
{
	(void)stream;
	now_ns = came_ns + LAG_NS;
	return 0;
}

/* Since the first event, which came at LAG_NS. */
static int elapsed(float *ret_ms, void *from, void *to)
{
	(void)from;
	(void)to;
	*ret_ms = (float)(came_ns - LAG_NS) / 1e6f;
	return 0;
}

static void begin(struct cap_device_clock *k, const int64_t *held_up, int n)
{
	now_ns = n_probes = 0;
	held_up_ns = held_up;
	n_held_up = n;
	cap_cu.cuStreamCreate = make;
	cap_cu.cuEventCreate = make;
	cap_cu.cuEventRecord = record_event;
	cap_cu.cuEventSynchronize = wait_for;
	cap_cu.cuStreamSynchronize = wait_for_stream;
	cap_cu.cuEventElapsedTime = elapsed;
	cap_device_clock_begin(k, &now_ns);
	ck_assert(cap_device_clock_is(k, CAP_CLOCK_LIVE));
}

/* Where the first probes are held up, more are taken, until two agree. */
START_TEST(what_is_held_up_does_not_count)
{
	static const int64_t held_up[] = {90000, 50000, 70000, 200000, 0, 30000};
	struct cap_device_clock k;

	begin(&k, held_up, ARRAY_SIZE(held_up));
	ck_assert_int_eq(k.lag_ns, LAG_NS);
	ck_assert_int_eq(n_probes, 7);
	begin(&k, held_up, 0);
	ck_assert_int_eq(k.lag_ns, LAG_NS);
	ck_assert_int_eq(n_probes, 3);
}
END_TEST

/* Nothing begins before it was issued, whatever the device's clock says. */
START_TEST(nothing_begins_before_it_was_issued)
{
	struct cap_device_clock k;
	int64_t at;

	begin(&k, NULL, 0);
	at = cap_drift_device(&k.drift, 500000);
	ck_assert_int_eq(cap_device_clock_begun(&k, 500000, INT64_MIN, at + 90000), at + LAG_NS);
	ck_assert_int_eq(cap_device_clock_begun(&k, 500000, at + 7000, at + 90000), at + 7000);
	ck_assert_int_eq(cap_device_clock_begun(&k, 500000, INT64_MIN, at + 3000), at + 3000);
	ck_assert_int_eq(cap_device_clock_begun(&k, 500000, INT64_MIN, at - 21000), at);
}
END_TEST

/* While a context may end, nobody reads its clock; if it did not, its clock goes on. */
START_TEST(a_context_that_ends_is_left_alone)
{
	struct cap_device_clock k, other;

	begin(&k, NULL, 0);
	begin(&other, NULL, 0);
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
END_TEST

/* A tenth of a second behind the base, an event takes its place. */
START_TEST(the_base_follows)
{
	struct cap_device_clock k;
	void *event = &came_ns, *old;

	begin(&k, NULL, 0);
	old = k.base;
	cap_device_clock_rebase(&k, &event, k.base_ns + 99999999);
	ck_assert_ptr_eq(k.base, old);
	cap_device_clock_rebase(&k, &event, k.base_ns + 100000000);
	ck_assert_ptr_eq(k.base, &came_ns);
	ck_assert_ptr_eq(event, old);
}
END_TEST

TESTS("device_clock", what_is_held_up_does_not_count, nothing_begins_before_it_was_issued,
      a_context_that_ends_is_left_alone, the_base_follows)
