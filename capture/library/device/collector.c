/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/device/collector.h"

#include "base/host.h"
#include "capture/library/find/cu.h"
#include "capture/library/find/emulated.h"
#include "capture/library/find/real.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#define MOST 4
#define BUSY_NS 1000000	 /* between rounds while something is outstanding */
#define IDLE_NS 10000000 /* else */
#define TURN_NS 10000000 /* longest wait for a round */
#define PATIENCE_NS 10000000000
#define MOST_NS 60000000000
#define STOP_NS 200000000
#define FIRST_AHEAD_NS INT64_C(1000000)
#define MOST_AHEAD 32 /* doublings: 50 days */

/* With the lock. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake, round_ended;
	unsigned (*collect[MOST])(void);
	unsigned n, rounds;
	unsigned left;	  /* outstanding after the last round */
	unsigned waiting; /* number of threads that wait for rounds */
	bool running;
	bool in_round;
	bool idle;    /* sleeps for IDLE_NS */
	bool stopped; /* for good */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER,
	  .wake = PTHREAD_COND_INITIALIZER,
	  .round_ended = PTHREAD_COND_INITIALIZER};

/* With the lock held: sleeps until `cond` is signalled, at most for `ns`. */
static void sleep_on(pthread_cond_t *cond, int64_t ns)
{
	int64_t until = host_clock_ns(CLOCK_MONOTONIC) + ns;
	struct timespec at = {until / 1000000000, until % 1000000000};

	pthread_cond_clockwait(cond, &self.lock, CLOCK_MONOTONIC, &at);
}

/* On an emulated GPU, sets the clock of the library's thread to that of the program's threads: the
 * thread sees what the devices have finished by then. While a thread waits for outstanding results,
 * which takes no virtual time, the clock advances further with each round. */
static void advance_virtual_clock(bool is_awaited)
{
	static int64_t (*horizon)(void);
	static unsigned rounds; /* since a thread waits */

	if (!cap_is_emulated())
		return;
	if (!horizon)
		horizon = (int64_t(*)(void))cap_real(CAP_DRIVER, "gpuemu_horizon_ns");
	rounds = is_awaited ? rounds + (rounds < MOST_AHEAD) : 0;
	if (horizon)
		cap_clock_not_before(
			(uint64_t)(horizon() + (rounds ? FIRST_AHEAD_NS << rounds : 0)));
}

/* With the lock held on entry and return; releases it while collecting. */
static void round_of_all(void)
{
	unsigned n = self.n, left = 0;
	bool is_awaited = self.waiting > 0;

	self.in_round = true;
	pthread_mutex_unlock(&self.lock);
	advance_virtual_clock(is_awaited);
	for (unsigned i = 0; i < n; i++)
		left += self.collect[i]();
	pthread_mutex_lock(&self.lock);
	self.in_round = false;
	self.left = left;
	self.rounds++;
	pthread_cond_broadcast(&self.round_ended);
}

static void *run_thread(void *run)
{
	int mode = CU_CAPTURE_RELAXED;

	prctl(PR_SET_NAME, "gpucapture");
	/* Never resumed, so that this thread does not advance the program's virtual time or
	 * invalidate its captures. */
	cap_clock_pause();
	cap_cu.cuThreadExchangeStreamCaptureMode(&mode);
	((void (*)(void))run)();
	return NULL;
}

static void run_rounds(void)
{
	pthread_mutex_lock(&self.lock);
	for (;;) {
		while (self.stopped)
			pthread_cond_wait(&self.wake, &self.lock);
		round_of_all();
		self.idle = self.left == 0 && self.waiting == 0;
		sleep_on(&self.wake, self.idle ? IDLE_NS : BUSY_NS);
	}
}

int cap_start_thread(void (*run)(void))
{
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attributes, run_thread, (void *)run);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}

int cap_collector_add(unsigned (*collect)(void))
{
	int r = 0;

	pthread_mutex_lock(&self.lock);
	if (self.n == MOST)
		r = -ENOSPC;
	else if (!self.running)
		r = cap_start_thread(run_rounds);
	self.running |= r == 0;
	if (r == 0)
		self.collect[self.n++] = collect;
	pthread_mutex_unlock(&self.lock);
	return r;
}

/* Time that a thread has waited for a device: since the last progress, and in total. */
struct waited {
	int64_t vain_ns, all_ns;
	unsigned left;
};

/* With the lock held: waits for the end of a round, at most for a turn. Returns the time waited;
 * excludes time in which the whole process was stopped or had no processor. */
static int64_t await_round(void)
{
	int64_t from = host_clock_ns(CLOCK_MONOTONIC), took;

	sleep_on(&self.round_ended, TURN_NS);
	took = host_clock_ns(CLOCK_MONOTONIC) - from;
	return took < TURN_NS ? took : TURN_NS;
}

/* With the lock held: the same, until the limit is reached; then returns false. */
static bool await_turn(struct waited *w)
{
	int64_t took;

	if (!self.running || self.stopped)
		return false;
	if (self.idle)
		pthread_cond_signal(&self.wake);
	self.idle = false;
	took = await_round();
	w->all_ns += took;
	w->vain_ns = self.left == w->left ? w->vain_ns + took : 0;
	w->left = self.left;
	return w->vain_ns < PATIENCE_NS && w->all_ns < MOST_NS;
}

void cap_collector_await(bool (*is_done)(void *context), void *context)
{
	struct waited w = {0};

	pthread_mutex_lock(&self.lock);
	self.waiting++;
	for (bool more = true; more;) {
		pthread_mutex_unlock(&self.lock);
		more = !is_done(context);
		pthread_mutex_lock(&self.lock);
		more = more && await_turn(&w);
	}
	self.waiting--;
	pthread_mutex_unlock(&self.lock);
}

void cap_collector_finish(void)
{
	struct waited w = {0};

	pthread_mutex_lock(&self.lock);
	self.waiting++;
	/* The current round may have missed the latest operation; the next one does not. */
	for (unsigned before = self.rounds; self.rounds - before < 2 || self.left > 0;)
		if (!await_turn(&w))
			break;
	self.waiting--;
	pthread_mutex_unlock(&self.lock);
}

void cap_collector_stop(void)
{
	int64_t left_ns = STOP_NS;

	pthread_mutex_lock(&self.lock);
	self.stopped = true;
	while (self.in_round && left_ns > 0)
		left_ns -= await_round();
	pthread_mutex_unlock(&self.lock);
}
