/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/clock.h"

#include "base/host.h"
#include "replay/emugpu/driver/run.h"
#include "replay/emugpu/notes.h"
#include "replay/emugpu/refuse.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static __thread struct emu_thread self_ __attribute__((tls_model("initial-exec")));

static struct {
	double per_ns; /* virtual nanoseconds of the host per nanosecond of its CPU */
	int pace;
	int64_t costs_ns[EMU_CALLS];
	struct emu_run_process *process;
} clock_ = {.per_ns = 1};

/* A thread that takes longer between two queries does other work, too. */
#define POLL_GAP_NS 20000

/* Used if there is no shared run (gpuemu). */
static struct emu_run_process alone;

int64_t emu_horizon_ns(void)
{
	return __atomic_load_n(&clock_.process->now_ns, __ATOMIC_RELAXED);
}

struct emu_run_process *emu_clock_process(void)
{
	return clock_.process;
}

void emu_clock_costs(const int64_t costs_ns[EMU_CALLS])
{
	memcpy(clock_.costs_ns, costs_ns, sizeof(clock_.costs_ns));
}

/* Excludes [from_ns, wall_ns) from the thread's own work. */
static void exclude_time(struct emu_thread *t, int64_t from_ns, int64_t wall_ns)
{
	t->left_ns = wall_ns;
	if (wall_ns - from_ns < EMU_SHORT_NS) {
		t->measured_ns += wall_ns - from_ns;
	} else {
		t->cpu_ns = host_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		t->measured_ns = 0;
	}
}

/* The thread's own CPU time since its last call ended. */
static int64_t own_time(struct emu_thread *t, int64_t wall_ns)
{
	int64_t gap = wall_ns - t->left_ns, cpu, own;

	if (gap < EMU_SHORT_NS) {
		t->measured_ns += gap;
		return gap;
	}
	cpu = host_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	own = cpu - t->cpu_ns - t->measured_ns;
	t->cpu_ns = cpu;
	t->measured_ns = 0;
	return own < 0 ? 0 : own < gap ? own : gap;
}

/* Starts counting the thread's own work. */
static void start_own_time(struct emu_thread *t, int64_t wall_ns)
{
	t->left_ns = wall_ns;
	t->cpu_ns = host_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	t->measured_ns = 0;
}

/* Advances the clock of a thread outside calls to the present. */
static void add_own_time(struct emu_thread *t, int64_t wall_ns)
{
	if (t->left_ns == 0) {
		start_own_time(t, wall_ns);
		emu_wait(t, emu_horizon_ns(), 0);
	}
	if (t->paused)
		exclude_time(t, t->left_ns, wall_ns);
	else if (clock_.pace)
		t->now_ns = moment_after(t->now_ns, wall_ns - t->left_ns);
	else
		t->now_ns = moment_after(t->now_ns,
					 (int64_t)((double)own_time(t, wall_ns) * clock_.per_ns));
	t->left_ns = wall_ns;
}

/* Advances the clock to the present. A thread that polls while host work is outstanding takes no
 * time: on a real machine, the work would have ended. */
static void count_time(struct emu_thread *t, int64_t wall_ns, int polls)
{
	if (polls && t->left_ns)
		exclude_time(t, t->left_ns, wall_ns);
	else
		add_own_time(t, wall_ns);
}

struct emu_thread *emu_enter(enum emu_call call)
{
	struct emu_thread *t = &self_;

	if (t->depth++ > 0)
		return t;
	t->call = call;
	if (call != EMU_CALL_QUERY)
		t->polls = t->polls_from_ns = 0;
	t->entered_ns = host_clock_ns(CLOCK_MONOTONIC);
	count_time(t, t->entered_ns, t->polls > 0);
	t->before_ns = t->now_ns;
	return t;
}

int emu_poll(struct emu_thread *t, int64_t end_ns)
{
	int64_t step_ns = (t->now_ns - t->polls_from_ns) / 8;

	if (t->paused)
		return t->now_ns >= end_ns;
	if (t->polls_from_ns == 0 || t->now_ns - t->polled_ns > POLL_GAP_NS)
		t->polls_from_ns = t->now_ns;
	else if (t->now_ns < end_ns)
		t->now_ns = end_ns - t->now_ns < step_ns ? end_ns : t->now_ns + step_ns;
	t->polled_ns = t->now_ns;
	return t->now_ns >= end_ns;
}

/* Waits until the call has taken as long in real time as in virtual time. */
static void sleep_until_due(struct emu_thread *t)
{
	int64_t until = t->entered_ns + t->now_ns - t->before_ns;
	struct timespec at = {until / 1000000000, until % 1000000000};

	while (t->left_ns < until) {
		if (until - t->left_ns > 50000)
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		t->left_ns = host_clock_ns(CLOCK_MONOTONIC);
	}
}

static void publish_time(int64_t now_ns, int64_t slack_ns)
{
	int64_t *at = &clock_.process->now_ns, seen = emu_horizon_ns();

	while (now_ns > seen + slack_ns &&
	       !__atomic_compare_exchange_n(at, &seen, now_ns, 1, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

void emu_leave(struct emu_thread **self)
{
	struct emu_thread *t = *self;

	if (--t->depth > 0)
		return;
	if (t->polls == 0)
		t->now_ns = moment_after(t->now_ns, clock_.costs_ns[t->call]);
	t->polled = t->polls > 0;
	t->left_ns = host_clock_ns(CLOCK_MONOTONIC);
	if (clock_.pace)
		sleep_until_due(t);
	else
		exclude_time(t, t->entered_ns, t->left_ns);
	if (!__atomic_load_n(&clock_.process->calls, __ATOMIC_RELAXED))
		__atomic_store_n(&clock_.process->calls, 1, __ATOMIC_RELAXED);
	if (!t->paused)
		publish_time(t->now_ns, EMU_SHORT_NS);
}

EMU_API uint64_t gpuemu_host_ns(void)
{
	struct emu_thread *t = &self_;

	/* Only the first reading after a query, so that a thread can wait for a later time. */
	if (t->depth == 0 && !t->paused && clock_.process)
		count_time(t, host_clock_ns(CLOCK_MONOTONIC), t->polled);
	t->polled = 0;
	return (uint64_t)t->now_ns;
}

EMU_API void gpuemu_clock_pause(void)
{
	gpuemu_host_ns();
	self_.paused++;
}

EMU_API void gpuemu_clock_resume(void)
{
	struct emu_thread *t = &self_;

	if (t->depth == 0)
		exclude_time(t, t->left_ns, host_clock_ns(CLOCK_MONOTONIC));
	if (t->paused > 0)
		t->paused--;
}

EMU_API void gpuemu_thread_not_before(int64_t ns)
{
	if (self_.left_ns == 0)
		start_own_time(&self_, host_clock_ns(CLOCK_MONOTONIC));
	gpuemu_host_ns(); /* adds the time until now to the thread's work, or all of it with --pace
			   */
	emu_wait(&self_, ns, 0);
}

EMU_API void gpuemu_thread_hands_on(void)
{
	publish_time((int64_t)gpuemu_host_ns(), 0);
	if (!clock_.process->calls)
		emu_run_mark(clock_.process);
}

EMU_API int64_t gpuemu_horizon_ns(void)
{
	int64_t latest = clock_.process->driver_ns ? emu_horizon_ns() : 0;
	const struct emu_run *run = emu_run_map();

	for (uint32_t i = 0; run && i < run->n_processes && i < EMU_RUN_PROCESSES; i++) {
		const struct emu_run_process *p = &run->processes[i];
		int64_t now = __atomic_load_n(&p->now_ns, __ATOMIC_RELAXED);

		if (p->driver_ns && p->end == EMU_RUN_GOING && now > latest)
			latest = now;
	}
	return latest;
}

enum { NUMBER_SHIFT = 48 };

/* Returns the latest clock of a collective call, after adding one. 0 if a later call has taken its
 * slot. */
static int64_t join_collective(uint64_t number, int64_t now_ns)
{
	struct emu_run *run = emu_run_map();
	uint64_t round = number / EMU_RUN_COLLECTIVES & 0xffff;
	uint64_t mine = round << NUMBER_SHIFT | (uint64_t)now_ns, *slot, seen;

	if (!run)
		return 0;
	slot = &run->collectives[number % EMU_RUN_COLLECTIVES];
	seen = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
	do {
		if ((int16_t)((seen >> NUMBER_SHIFT) - round) > 0)
			return 0;
		if (seen >> NUMBER_SHIFT == round && seen >= mine)
			return (int64_t)(seen & ((UINT64_C(1) << NUMBER_SHIFT) - 1));
	} while (!__atomic_compare_exchange_n(slot, &seen, mine, 1, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return now_ns;
}

EMU_API uint64_t gpuemu_collective_enter(void)
{
	static uint64_t calls;
	uint64_t number = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);

	gpuemu_clock_pause();
	join_collective(number, self_.now_ns);
	return number;
}

EMU_API void gpuemu_collective_leave(uint64_t number)
{
	gpuemu_clock_resume();
	emu_wait(&self_, join_collective(number, self_.now_ns), 0);
}

EMU_API int64_t gpuemu_zero_ns(void)
{
	static int64_t first_ns; /* without gpuemu, the first call */
	struct emu_run *run = emu_run_map();

	if (run)
		return run->zero_ns;
	if (!first_ns)
		first_ns = host_clock_ns(CLOCK_MONOTONIC);
	return first_ns;
}

/* ---- begin and end of a process ---- */

static void start_in_child(void)
{
	struct emu_run_process *p = emu_run_join_at(self_.now_ns);

	if (!p) {
		alone.now_ns = self_.now_ns;
		p = &alone;
	}
	clock_.process = p;
	start_own_time(&self_, host_clock_ns(CLOCK_MONOTONIC));
}

/* Not reached in a killed process, whose row then still shows it as running. */
__attribute__((destructor)) static void write_end(void)
{
	publish_time((int64_t)gpuemu_host_ns(), 0);
	clock_.process->ended_ns = host_clock_ns(CLOCK_MONOTONIC);
	clock_.process->end = EMU_RUN_EXITED;
}

/* Runs when the driver is loaded, so that the program's start-up counts as its work. */
__attribute__((constructor)) static void start_clock(void)
{
	const char *speed = getenv("GPUEMU_HOST_SPEED"), *paced = getenv("GPUEMU_PACE");
	double x = speed ? strtod(speed, NULL) : 1;

	clock_.per_ns = x > 0 ? 1 / x : 1;
	clock_.pace = paced && strcmp(paced, "1") == 0;
	clock_.process = emu_run_join(clock_.per_ns);
	if (!clock_.process)
		clock_.process = &alone;
	start_own_time(&self_, host_clock_ns(CLOCK_MONOTONIC));
	emu_wait(&self_, emu_horizon_ns(), 0);
	pthread_atfork(gpuemu_thread_hands_on, NULL, start_in_child);
}
