/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/times/timed.h"

#include "capture/library/device/hook.h"
#include "capture/library/times/nodes.h"

#include <errno.h>

#define FIRST_AHEAD_NS INT64_C(1000000)
#define MOST_AHEAD 32 /* doublings: 50 days */
#define MOST_OVER 16

static struct cap_timed_op *waiting, **waiting_last = &waiting; /* oldest first */

/* Start and end in device time: 1, 0 not yet, -EIO. */
static int times_of(const struct cap_timed_op *o, int64_t *ret_start, int64_t *ret_end)
{
	int64_t from = INT64_MIN;
	int r = 1;

	if (o->to)
		r = cap_stamp_ns(o->clock, o->to, ret_end);
	else
		*ret_end = cap_drift_device(&o->clock->drift, o->done_ns);
	if (r == 1 && o->from)
		r = cap_stamp_ns(o->clock, o->from, &from);
	if (r == 1)
		*ret_start = cap_clock_begun(o->clock, o->issued_ns, from, *ret_end);
	return r;
}

/* With the lock held. */
static void release(struct cap_timed_op *o)
{
	struct cap_stamp *old = NULL;

	if (o->came && o->to && cap_clock_rebase(o->clock, o->to, o->end_ns, &old)) {
		o->to->refs++;
		cap_stamp_drop(o->clock, old);
	}
	cap_timed.untimed += o->untimed;
	cap_stamp_drop(o->clock, o->from);
	cap_stamp_drop(o->clock, o->to);
	cap_timed.n_ops--;
	o->clock->n_ops--;
	o->next = cap_timed.unused;
	cap_timed.unused = o;
}

/* What is over and not released yet, the oldest first: the lock is taken for many at once, since
 * threads that launch need it. */
struct over {
	struct cap_timed_op *ops[MOST_OVER];
	unsigned n;
};

static void release_all(struct over *over)
{
	for (unsigned i = 0; i < over->n; i++)
		cap_node_events_release(over->ops[i]->nodes);
	pthread_mutex_lock(&cap_timed.lock);
	for (unsigned i = 0; i < over->n; i++)
		release(over->ops[i]);
	pthread_mutex_unlock(&cap_timed.lock);
	over->n = 0;
}

/* The drainer's thread sees on an emulated GPU what the program's threads can see by now; when they
 * end, further ahead with each look: not much further than there is something to be seen. */
static void catch_up(int64_t now_ns, unsigned ending)
{
	static void (*not_before)(int64_t);

	if (!cap_emulated())
		return;
	if (!not_before)
		not_before = (void (*)(int64_t))cap_real(CAP_DRIVER, "gpuemu_thread_not_before");
	if (not_before)
		not_before(ending ? now_ns + (FIRST_AHEAD_NS << ending) : now_ns);
}

static void take_new(void)
{
	int64_t now_ns;
	unsigned ending;

	pthread_mutex_lock(&cap_timed.lock);
	*waiting_last = cap_timed.first;
	if (cap_timed.first)
		waiting_last = cap_timed.last;
	cap_timed.first = NULL;
	cap_timed.last = &cap_timed.first;
	now_ns = cap_timed.now_ns;
	ending = cap_timed.ending;
	cap_timed.ending += ending > 0 && ending < MOST_AHEAD;
	pthread_mutex_unlock(&cap_timed.lock);
	catch_up(now_ns, ending);
}

/* Keeps the clock of the operation at hand. */
static void follow(struct cap_device_clock *k, int64_t issued_ns, int64_t now_ns)
{
	if (cap_clock_is_stale(k, issued_ns)) {
		pthread_mutex_lock(&cap_timed.lock);
		cap_clock_renew(k);
		pthread_mutex_unlock(&cap_timed.lock);
	}
	cap_clock_follow(k, now_ns);
}

unsigned cap_timed_drain(void)
{
	struct cap_timed_op **at = &waiting, *o;
	struct over over = {.n = 0};
	unsigned left = 0;
	int64_t now_ns;

	take_new();
	now_ns = cap_now_ns();
	while ((o = *at)) {
		int64_t start, end = 0;
		unsigned untimed = 0;
		int r = o->clock->broken ? -EIO : cap_clock_enter(o->clock);

		if (r == 0 && cap_clock_is_stale(o->clock, o->issued_ns))
			release_all(&over); /* with the clock that they had */
		if (r == 0)
			follow(o->clock, o->issued_ns, now_ns);
		r = r < 0 ? r : times_of(o, &start, &end);
		if (r == 0) {
			if (++left > 64)
				break;
			at = &o->next;
			continue;
		}
		*at = o->next;
		if (r == 1 && o->nodes)
			untimed = cap_node_events_put(o->nodes, o->id, now_ns);
		else if (r == 1)
			cap_put_times(o->id, 0, cap_clock_host(o->clock, start),
				      cap_clock_host(o->clock, end > start ? end : start));
		o->end_ns = end;
		o->came = r == 1;
		o->untimed = r == 1 ? untimed : 1;
		over.ops[over.n++] = o;
		if (over.n == MOST_OVER)
			release_all(&over);
	}
	release_all(&over);
	for (at = &waiting; *at; at = &(*at)->next)
		;
	waiting_last = at;
	return __atomic_load_n(&cap_timed.n_ops, __ATOMIC_RELAXED);
}
