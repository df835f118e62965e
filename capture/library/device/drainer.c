/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/device/drainer.h"

#include "base/host.h"
#include "capture/library/device/aside.h"
#include "capture/library/device/cu.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#define MOST 4
#define PERIOD_NS 1000000
#define TURN_NS 10000000 /* of a look that was not held up */
#define PATIENCE_NS 10000000000
#define MOST_NS 60000000000
#define STOP_NS 200000000

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake, settled;
	unsigned (*drain[MOST])(void);
	unsigned n, turns;
	unsigned left; /* what was outstanding when it last looked */
	int running, awake;
	int looking; /* not asleep */
	int stopped; /* for good */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER,
	  .wake = PTHREAD_COND_INITIALIZER,
	  .settled = PTHREAD_COND_INITIALIZER};

static unsigned outstanding(unsigned n)
{
	unsigned left = 0;

	for (unsigned i = 0; i < n; i++)
		left += self.drain[i]();
	return left;
}

static void *run(void *unused)
{
	static const struct timespec period = {0, PERIOD_NS};
	int mode = CU_CAPTURE_RELAXED;

	prctl(PR_SET_NAME, "gpucapture");
	/* For good: nothing that this thread does is the program's work, nor spoils its captures.
	 */
	cap_aside_begin();
	cap_cu.cuThreadExchangeStreamCaptureMode(&mode);
	pthread_mutex_lock(&self.lock);
	for (;;) {
		while (self.stopped || !__atomic_load_n(&self.awake, __ATOMIC_RELAXED))
			pthread_cond_wait(&self.wake, &self.lock);
		self.looking = 1;
		/* Whoever adds work after this wakes us again. */
		__atomic_store_n(&self.awake, 0, __ATOMIC_SEQ_CST);
		unsigned n = self.n, left;

		pthread_mutex_unlock(&self.lock);
		left = outstanding(n);
		if (left > 0)
			__atomic_store_n(&self.awake, 1, __ATOMIC_SEQ_CST);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &period, NULL);
		pthread_mutex_lock(&self.lock);
		self.looking = 0;
		self.left = left;
		self.turns++;
		pthread_cond_broadcast(&self.settled);
	}
	return unused;
}

static int start(void)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attributes, run, NULL);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	self.running = r == 0;
	return -r;
}

int cap_drainer_add(unsigned (*drain)(void))
{
	int r = 0;

	pthread_mutex_lock(&self.lock);
	if (self.n == MOST)
		r = -ENOSPC;
	else if (!self.running)
		r = start();
	if (r == 0)
		self.drain[self.n++] = drain;
	pthread_mutex_unlock(&self.lock);
	return r;
}

void cap_drainer_wake(void)
{
	if (__atomic_load_n(&self.awake, __ATOMIC_SEQ_CST))
		return;
	pthread_mutex_lock(&self.lock);
	__atomic_store_n(&self.awake, 1, __ATOMIC_SEQ_CST);
	pthread_cond_signal(&self.wake);
	pthread_mutex_unlock(&self.lock);
}

/* How long it was waited for a device: since something that was outstanding came, and in all. */
struct waited {
	int64_t vain_ns, all_ns;
	unsigned left;
};

/* With the lock held: one look, or part of it, and how long that took; time in which all of us were
 * stopped, or had no processor, is none. */
static int64_t turn(void)
{
	int64_t from = host_clock_ns(CLOCK_MONOTONIC), until = from + TURN_NS, took;
	struct timespec at = {until / 1000000000, until % 1000000000};

	pthread_cond_clockwait(&self.settled, &self.lock, CLOCK_MONOTONIC, &at);
	took = host_clock_ns(CLOCK_MONOTONIC) - from;
	return took < TURN_NS ? took : TURN_NS;
}

/* The same, until the time is over: false. */
static bool await_turn(struct waited *w)
{
	int64_t took;

	if (!self.running || self.stopped)
		return false;
	if (!self.awake) {
		self.awake = 1;
		pthread_cond_signal(&self.wake);
	}
	took = turn();
	w->all_ns += took;
	w->vain_ns = self.left == w->left ? w->vain_ns + took : 0;
	w->left = self.left;
	return w->vain_ns < PATIENCE_NS && w->all_ns < MOST_NS;
}

void cap_drainer_await(bool (*is_done)(void *context), void *context)
{
	struct waited w = {0};
	bool more = true;

	while (more && !is_done(context)) {
		pthread_mutex_lock(&self.lock);
		more = await_turn(&w);
		pthread_mutex_unlock(&self.lock);
	}
}

void cap_drainer_settle(void)
{
	struct waited w = {0};

	pthread_mutex_lock(&self.lock);
	/* The look that is under way may have missed what came last; the next one does not. */
	for (unsigned before = self.turns; self.turns - before < 2 || self.left > 0;)
		if (!await_turn(&w))
			break;
	pthread_mutex_unlock(&self.lock);
}

void cap_drainer_stop(void)
{
	int64_t left_ns = STOP_NS;

	pthread_mutex_lock(&self.lock);
	self.stopped = 1;
	while (self.looking && left_ns > 0)
		left_ns -= turn();
	pthread_mutex_unlock(&self.lock);
}
