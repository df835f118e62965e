/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/clock.h"
#include "replay/emugpu/refuse.h"

#include <string.h>
#include <time.h>

static __thread struct emu_thread self_ __attribute__((tls_model("initial-exec")));

static struct {
	double per_ns; /* virtual nanoseconds of the host per nanosecond of its CPU */
	int pace;
	int64_t costs_ns[EMU_CALLS];
	int64_t horizon_ns;
} clock_ = {.per_ns = 1};

static int64_t read_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t emu_work_ns(void)
{
	return (int64_t)((double)read_ns(CLOCK_THREAD_CPUTIME_ID) * clock_.per_ns);
}

int64_t emu_horizon_ns(void)
{
	return __atomic_load_n(&clock_.horizon_ns, __ATOMIC_RELAXED);
}

void emu_clock_init(double host_speed, int pace, const int64_t costs_ns[EMU_CALLS])
{
	clock_.per_ns = 1 / host_speed;
	clock_.pace = pace;
	memcpy(clock_.costs_ns, costs_ns, sizeof(clock_.costs_ns));
}

/* The thread's own CPU time since its last call. */
static int64_t own_ns(struct emu_thread *t, int64_t wall_ns)
{
	int64_t gap = wall_ns - t->left_ns, cpu, own;

	if (gap < EMU_SHORT_NS) {
		t->measured_ns += gap;
		return gap;
	}
	cpu = read_ns(CLOCK_THREAD_CPUTIME_ID);
	own = cpu - t->settled_ns - t->measured_ns;
	t->settled_ns = cpu;
	t->measured_ns = 0;
	return own < 0 ? 0 : own < gap ? own : gap;
}

static void first_call(struct emu_thread *t, int64_t wall_ns)
{
	t->left_ns = wall_ns;
	t->settled_ns = read_ns(CLOCK_THREAD_CPUTIME_ID);
	if (!t->started)
		emu_advance_to(t, emu_horizon_ns());
}

struct emu_thread *emu_enter(enum emu_call call)
{
	struct emu_thread *t = &self_;

	if (t->depth++ > 0)
		return t;
	t->call = call;
	t->entered_ns = read_ns(CLOCK_MONOTONIC);
	if (t->left_ns == 0)
		first_call(t, t->entered_ns);
	if (clock_.pace)
		t->now_ns += t->entered_ns - t->left_ns;
	else
		t->now_ns += (int64_t)((double)own_ns(t, t->entered_ns) * clock_.per_ns);
	t->before_ns = t->now_ns;
	return t;
}

/* The call takes as long in real time as it did in virtual time. */
static void pace(struct emu_thread *t)
{
	int64_t until = t->entered_ns + t->now_ns - t->before_ns;
	struct timespec at = {until / 1000000000, until % 1000000000};

	while (t->left_ns < until) {
		if (until - t->left_ns > 50000)
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		t->left_ns = read_ns(CLOCK_MONOTONIC);
	}
}

static void publish(int64_t now_ns)
{
	int64_t seen = emu_horizon_ns();

	while (now_ns > seen + EMU_SHORT_NS &&
	       !__atomic_compare_exchange_n(&clock_.horizon_ns, &seen, now_ns, 1, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

void emu_leave(struct emu_thread **self)
{
	struct emu_thread *t = *self;

	if (--t->depth > 0)
		return;
	t->now_ns += clock_.costs_ns[t->call];
	t->left_ns = read_ns(CLOCK_MONOTONIC);
	if (clock_.pace) {
		pace(t);
	} else if (t->left_ns - t->entered_ns < EMU_SHORT_NS) {
		t->measured_ns += t->left_ns - t->entered_ns;
	} else {
		t->settled_ns = read_ns(CLOCK_THREAD_CPUTIME_ID);
		t->measured_ns = 0;
	}
	publish(t->now_ns);
}

EMU_API int64_t gpuemu_thread_clock(void)
{
	EMU_ENTER(EMU_CALL_FREE);

	return self->now_ns;
}

EMU_API void gpuemu_thread_not_before(int64_t ns)
{
	self_.started = 1;
	emu_advance_to(&self_, ns);
}
