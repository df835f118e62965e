/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorder/recorder.h"

#include "base/array.h"
#include "base/scope.h"
#include "capture/recorder/feed.h"
#include "capture/recorder/session.h"

#include <signal.h>

/* A process with its feeds. */
struct traced {
	struct rec_process *process;
	struct rec_feed **feeds;
	size_t n, cap;
};

struct rec_recorder {
	struct rec_session session;
	struct cap_clock clock;
	struct fmt_names *names;
	struct traced *traced;
	size_t n, cap;
	struct rec_process **processes; /* the same, for rec_run_write() */
	size_t processes_cap;
	uint64_t bad_rings;
};

void rec_close(struct rec_recorder *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++) {
		for (size_t k = 0; k < r->traced[i].n; k++)
			rec_feed_free(r->traced[i].feeds[k]);
		free(r->traced[i].feeds);
		rec_process_free(r->traced[i].process);
	}
	free(r->traced);
	free(r->processes);
	fmt_names_free(r->names);
	cap_clock_done(&r->clock);
	rec_session_end(&r->session);
	free(r);
}

define_cleanup(rec_closep, struct rec_recorder *, rec_close);

int rec_open(const struct cap_control *settings, struct rec_recorder **ret)
{
	scoped(rec_closep) struct rec_recorder *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return -ENOMEM;
	e = settings->clock == CAP_CLOCK_TSC ? cap_clock_init(&r->clock) : 0;
	if (e == 0)
		e = rec_session_begin(&r->session, settings);
	if (e == 0)
		e = fmt_names_new(&r->names);
	if (e == 0)
		*ret = take(r);
	return e;
}

const char *rec_folder(const struct rec_recorder *r)
{
	return r->session.folder;
}

static int find_process(struct rec_recorder *r, const struct cap_drain_about *about,
			struct traced **ret)
{
	struct traced made = {0};
	int e;

	for (size_t i = 0; i < r->n; i++)
		if (r->traced[i].process->pid == about->pid &&
		    r->traced[i].process->started == about->process_start) {
			*ret = &r->traced[i];
			return 0;
		}
	if (array_reserve(&r->traced, r->n + 1, &r->cap) < 0 ||
	    array_reserve(&r->processes, r->n + 1, &r->processes_cap) < 0)
		return -ENOMEM;
	e = rec_process_new(r->names, about->pid, about->process_start, &made.process);
	if (e < 0)
		return e;
	made.process->index = (uint32_t)r->n;
	r->processes[r->n] = made.process;
	r->traced[r->n] = made;
	*ret = &r->traced[r->n++];
	return 0;
}

static int take_ring(void *context, int dir, const char *name)
{
	struct rec_recorder *r = context;
	scoped(cap_drain_closep) struct cap_drain *drain = NULL;
	struct rec_feed *feed;
	struct traced *t;
	int e = cap_drain_open(dir, name, &drain);

	if (e == -EAGAIN || e == -ENOMEM)
		return e;
	if (e < 0) {
		r->bad_rings++;
		return 0;
	}
	e = find_process(r, cap_drain_about(drain), &t);
	if (e == 0 && array_reserve(&t->feeds, t->n + 1, &t->cap) < 0)
		e = -ENOMEM;
	if (e == 0)
		e = rec_feed_new(drain, t->process, &r->clock, &feed);
	if (e < 0)
		return e;
	(void)take(drain);
	t->feeds[t->n++] = feed;
	return 0;
}

long rec_round(struct rec_recorder *r, bool last)
{
	long bytes = 0, n;
	int e;

	rec_session_beat(&r->session); /* and for each process: a round may be long */
	e = r->clock.n > 0 ? cap_clock_sample(&r->clock) : 0;
	if (e == 0)
		e = rec_session_rings(&r->session, take_ring, r);
	for (size_t i = 0; i < r->n && e == 0; i++) {
		struct traced *t = &r->traced[i];

		rec_session_beat(&r->session);
		for (size_t k = 0; k < t->n && e == 0; k++) {
			n = rec_feed_take(t->feeds[k]);
			bytes += n > 0 ? n : 0;
			e = n < 0 ? (int)n : 0;
		}
		if (e == 0)
			e = rec_feeds_look(t->feeds, t->n, last);
	}
	return e < 0 ? e : bytes;
}

size_t rec_n_processes(const struct rec_recorder *r)
{
	return r->n;
}

bool rec_is_traced(const struct rec_recorder *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->processes[i]->pid > 0 && kill(r->processes[i]->pid, 0) == 0)
			return true;
	return false;
}

bool rec_has_calls(const struct rec_recorder *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->processes[i]->counts.calls > 0)
			return true;
	return false;
}

/* What the rings say at the end: losses, and calls that never returned. */
static void settle(struct rec_recorder *r)
{
	for (size_t i = 0; i < r->n; i++)
		for (size_t k = 0; k < r->traced[i].n; k++) {
			struct cap_drain_status s = cap_drain_status(r->traced[i].feeds[k]->drain);
			struct rec_counts *c = &r->processes[i]->counts;

			c->unended += s.current_api != 0;
			c->ring_lost_records += s.lost_records;
			c->ring_lost_bytes += s.lost_bytes;
		}
	for (size_t i = 0; i < r->n; i++) {
		struct rec_counts *c = &r->processes[i]->counts;

		if (c->ring_lost_records > c->lost_records) {
			c->lost_records = c->ring_lost_records;
			c->lost_bytes = c->ring_lost_bytes;
		}
	}
}

/* The clock of an emulated driver is no host's. */
static int put_origin(struct rec_recorder *r, const struct fmt_origin *part)
{
	struct fmt_origin o;
	bool is_virtual = false;

	fmt_origin_here(&o);
	for (size_t i = 0; i < r->n; i++)
		is_virtual |= r->processes[i]->is_virtual;
	if (is_virtual)
		o = (struct fmt_origin){0};
	o.part = part->part;
	o.n_parts = part->n_parts;
	memcpy(o.run, part->run, sizeof(o.run));
	return fmt_origin_put(r->names, &o);
}

int rec_write(struct rec_recorder *r, const struct rec_window *window,
	      const struct fmt_origin *part, const char *path, struct rec_result *ret,
	      struct fmt_error *err)
{
	struct rec_window kept = *window;
	int e = put_origin(r, part);

	settle(r);
	if (r->session.control)
		kept.unwritten =
			__atomic_load_n(&r->session.control->failed_blobs, __ATOMIC_RELAXED);
	return e < 0 ? e : rec_run_write(r->processes, r->n, r->names, &kept, path, ret, err);
}
