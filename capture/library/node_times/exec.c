/* SPDX-License-Identifier: Apache-2.0 */

#include "capture/library/node_times/exec.h"

#include "base/array.h"
#include "base/scope.h"
#include "capture/library/call/chain.h"
#include "capture/library/device/contexts.h"
#include "capture/library/find/cu.h"
#include "capture/library/ring/put.h"
#include "capture/library/ring/ticks.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 256
#define AT_ONCE 256 /* times in a record */

static struct {
	pthread_mutex_t lock;
	struct cap_exec *buckets[BUCKETS];
	uint64_t awaited; /* events */
	bool any;	  /* there were executable graphs with events */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns false in a forked child, where a thread of the parent may hold the lock. */
static bool is_on(void)
{
	return __atomic_load_n(&self.any, __ATOMIC_RELAXED) && cap_is_alive();
}

static struct cap_exec **bucket_of(const void *handle)
{
	return &self.buckets[((uintptr_t)handle >> 4) % BUCKETS];
}

/* With the lock held: returns the link to the executable graph, or to NULL at the end of its
 * bucket. */
static struct cap_exec **find_link(const void *handle)
{
	struct cap_exec **at = bucket_of(handle);

	while (*at && (*at)->handle != handle)
		at = &(*at)->next;
	return at;
}

/* Events are gone if their context is. */
static void events_free(const struct cap_exec *x, struct cap_node_events *e)
{
	bool are_gone = cap_device_clock_has_state(x->clock, CAP_CLOCK_ENDED);

	for (uint32_t i = 0; e && i < x->n_events && !are_gone; i++)
		if (e->events[i])
			cap_cu.cuEventDestroy_v2(e->events[i]);
	free(e);
}

static unsigned put_parts(const struct cap_timed_parts *parts, uint64_t id);
static void release_parts(struct cap_timed_parts *parts);

struct cap_node_events *cap_node_events_new(struct cap_exec *x)
{
	struct cap_node_events *e = calloc(1, sizeof(*e) + x->n_events * sizeof(*e->events));
	int entered = cap_context_enter(x->context), r = 0;

	for (uint32_t i = 0; e && i < x->n_events && r == 0; i++)
		r = cap_cu.cuEventCreate(&e->events[i], 0);
	cap_context_leave(entered);
	if (r) {
		events_free(x, e);
		return NULL;
	}
	if (e) {
		e->parts = (struct cap_timed_parts){put_parts, release_parts};
		e->exec = x;
	}
	return e;
}

void cap_exec_free(struct cap_exec *x)
{
	if (!x)
		return;
	if (x->clone)
		cap_cu.cuGraphDestroy(x->clone);
	while (x->idle) {
		struct cap_node_events *e = x->idle;

		x->idle = e->next;
		events_free(x, e);
	}
	events_free(x, x->now);
	free(x->steps);
	free(x->deps);
	free(x->event_of);
	free(x->pairs);
	free(x->leaves);
	free(x);
}

void cap_exec_add(struct cap_exec *x)
{
	pthread_mutex_lock(&self.lock);
	x->next = *bucket_of(x->handle);
	*bucket_of(x->handle) = x;
	__atomic_store_n(&self.any, true, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&self.lock);
}

struct cap_exec *cap_exec_find(uint64_t exec)
{
	struct cap_exec *x;

	if (!is_on())
		return NULL;
	pthread_mutex_lock(&self.lock);
	x = *find_link((void *)exec);
	pthread_mutex_unlock(&self.lock);
	return x;
}

/* ---- events of a launch */

/* With the lock held: returns events that no launch waits for; NULL: too many are outstanding. */
static struct cap_node_events *free_events(struct cap_exec *x)
{
	struct cap_node_events *e = x->idle;

	if (self.awaited + x->n_events > cap_control()->device_times)
		return NULL;
	if (!e)
		return cap_node_events_new(x);
	x->idle = e->next;
	return e;
}

static void give_back(struct cap_exec *x, struct cap_node_events *e)
{
	e->next = x->idle;
	x->idle = e;
}

struct cap_node_events *cap_node_events_take(struct cap_exec *x)
{
	struct cap_node_events *e;

	pthread_mutex_lock(&self.lock);
	e = x->broken ? NULL : free_events(x);
	pthread_mutex_unlock(&self.lock);
	return e;
}

void cap_node_events_set(struct cap_exec *x, struct cap_node_events *e, bool set)
{
	pthread_mutex_lock(&self.lock);
	if (!set)
		give_back(x, e);
	else if (!x->now->awaited)
		give_back(x, x->now);
	if (set)
		x->now = e;
	pthread_mutex_unlock(&self.lock);
}

/* Assigns unused events to the next launch. */
static void exchange_events(struct cap_exec *x)
{
	struct cap_node_events *e = x->broken ? NULL : free_events(x);
	int r = e ? 0 : -1;

	for (uint32_t i = 0; i < x->n_events && r == 0; i++) {
		r = cap_cu.cuGraphExecEventRecordNodeSetEvent(x->handle, x->leaves[i],
							      e->events[i]);
		x->broken |= r != 0;
	}
	if (r) {
		__atomic_store_n(&x->now->spoiled, true, __ATOMIC_RELAXED);
		if (e)
			give_back(x, e);
		return;
	}
	x->now = e;
}

/* Replaces the times of a launch whose events are not available. */
static unsigned put_lost(const struct cap_timed_parts *parts, uint64_t id)
{
	return 1;
}

static void release_lost(struct cap_timed_parts *parts)
{
}

static struct cap_timed_parts lost_parts = {put_lost, release_lost};

static void begin_launch(struct cap_call *call, struct cap_exec *x)
{
	x->broken |= cap_device_clock_has_state(x->clock, CAP_CLOCK_ENDED);
	if (x->now->awaited)
		exchange_events(x);
	if (!call || !call->hooks || !call->notes.stream)
		return;
	call->notes.timed_parts = &lost_parts;
	if (x->broken || x->now->awaited)
		return;
	x->now->awaited = true;
	x->refs++;
	self.awaited += x->n_events;
	call->notes.timed_parts = &x->now->parts;
}

void cap_node_launch(struct cap_call *call, uint64_t exec)
{
	int kept = errno, mode;
	struct cap_exec *x;

	if (!is_on())
		return;
	mode = cap_chain_enter();
	pthread_mutex_lock(&self.lock);
	x = *find_link((void *)exec);
	if (x)
		begin_launch(call, x);
	pthread_mutex_unlock(&self.lock);
	cap_chain_leave(mode);
	if (x && call)
		call->start = cap_ticks(&cap_self); /* after the work above */
	errno = kept;
}

static void release_parts(struct cap_timed_parts *parts)
{
	struct cap_node_events *e = (struct cap_node_events *)parts;
	struct cap_exec *x = e->exec;
	bool gone;

	pthread_mutex_lock(&self.lock);
	self.awaited -= x->n_events;
	e->awaited = false;
	__atomic_store_n(&e->spoiled, false, __ATOMIC_RELAXED);
	if (e != x->now)
		give_back(x, e);
	gone = --x->refs == 0;
	pthread_mutex_unlock(&self.lock);
	if (gone)
		cap_exec_free(x);
}

/* ---- executable graphs and their nodes */

struct cap_exec *cap_before_exec_destroy(uint64_t exec)
{
	struct cap_exec **at, *x;

	if (!is_on())
		return NULL;
	pthread_mutex_lock(&self.lock);
	at = find_link((void *)exec);
	x = *at;
	if (x)
		*at = x->next;
	pthread_mutex_unlock(&self.lock);
	return x;
}

void cap_after_exec_destroy(struct cap_exec *x, int result)
{
	int kept = errno, mode;
	bool gone;

	if (!x)
		return;
	mode = cap_chain_enter();
	pthread_mutex_lock(&self.lock);
	if (result != 0) { /* not destroyed */
		x->next = *bucket_of(x->handle);
		*bucket_of(x->handle) = x;
	}
	gone = result == 0 && --x->refs == 0;
	pthread_mutex_unlock(&self.lock);
	if (gone)
		cap_exec_free(x);
	cap_chain_leave(mode);
	errno = kept;
}

int cap_node_pair_order(const void *a, const void *b)
{
	const struct cap_node_pair *x = a, *y = b;

	return array_order((uintptr_t)x->of, (uintptr_t)y->of);
}

const struct cap_node_pair *cap_exec_pair(const struct cap_exec *x, uint64_t node)
{
	const struct cap_node_pair of = {.of = (void *)node};

	return bsearch(&of, x->pairs, x->n_steps, sizeof(of), cap_node_pair_order);
}

uint64_t cap_node_in_clone(uint64_t exec, uint64_t node)
{
	const struct cap_node_pair *found;
	const struct cap_exec *x;

	if (!is_on())
		return node;
	pthread_mutex_lock(&self.lock);
	x = *find_link((void *)exec);
	found = x ? cap_exec_pair(x, node) : NULL;
	if (found)
		node = (uintptr_t)found->is;
	pthread_mutex_unlock(&self.lock);
	return node;
}

/* ---- times */

struct moment {
	int64_t start_ns, end_ns;
};

/* Computes device times of each step: a step starts when its last dependency has ended.
 * steps[n_steps] ends when all steps have. */
static int read_steps(const struct cap_node_events *e, struct moment *steps)
{
	const struct cap_exec *x = e->exec;
	int64_t begin_ns, last_ns;

	if (cap_device_clock_read_reached(x->clock, e->events[0], &begin_ns) != 1)
		return -EIO;
	last_ns = begin_ns;
	for (uint32_t k = 0; k < x->n_steps; k++) {
		const struct cap_node_step *s = &x->steps[k];
		struct moment *m = &steps[k];

		m->start_ns = begin_ns;
		for (uint32_t d = 0; d < s->n; d++)
			if (steps[x->deps[s->first + d]].end_ns > m->start_ns)
				m->start_ns = steps[x->deps[s->first + d]].end_ns;
		m->end_ns = m->start_ns;
		if (s->event != CAP_NO_STEP &&
		    cap_device_clock_read_reached(x->clock, e->events[s->event], &m->end_ns) != 1)
			return -EIO;
		if (m->end_ns < m->start_ns)
			m->end_ns = m->start_ns;
		if (m->end_ns > last_ns)
			last_ns = m->end_ns;
	}
	steps[x->n_steps] = (struct moment){last_ns, last_ns};
	return 0;
}

static int put_times(uint64_t id, const struct moment *ops, uint32_t n_ops)
{
	for (uint32_t first = 0; first < n_ops; first += AT_ONCE) {
		uint32_t n = n_ops - first < AT_ONCE ? n_ops - first : AT_ONCE;
		uint32_t bytes = (uint32_t)(sizeof(struct cap_nodes_record) + n * sizeof(*ops));
		struct cap_nodes_record *r = cap_reserve(bytes, CAP_NODES);

		if (!r)
			return -ENOSPC;
		r->first = first;
		r->n = n;
		r->id = id;
		memcpy(r->times, ops + first, n * sizeof(*ops));
		cap_publish();
	}
	return 0;
}

/* Returns the number of operations without times. */
static uint32_t put_steps(const struct cap_node_events *e, uint64_t id)
{
	const struct cap_exec *x = e->exec;
	scoped(free_ptr) struct moment *steps = calloc(x->n_steps + (size_t)1, sizeof(*steps));
	uint32_t n = 0;

	if (!steps || read_steps(e, steps) < 0 || __atomic_load_n(&e->spoiled, __ATOMIC_RELAXED))
		return x->n_ops;
	for (uint32_t k = 0; k <= x->n_steps; k++) {
		bool wanted = k < x->n_steps ? x->steps[k].op != CAP_NO_STEP : !x->is_chain;

		if (wanted)
			steps[n++] = (struct moment){
				cap_device_clock_to_host(x->clock, steps[k].start_ns),
				cap_device_clock_to_host(x->clock, steps[k].end_ns)};
	}
	return put_times(id, steps, n) < 0 ? x->n_ops : 0;
}

/* On the library's thread. */
static unsigned put_parts(const struct cap_timed_parts *parts, uint64_t id)
{
	const struct cap_node_events *e = (const struct cap_node_events *)parts;

	return cap_device_clock_enter(e->exec->clock) < 0 ? e->exec->n_ops : put_steps(e, id);
}
