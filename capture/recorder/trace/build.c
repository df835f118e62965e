/* SPDX-License-Identifier: Apache-2.0 */

/* From the spool to a trace, at the end or while the programs run. */
#include "base/scope.h"
#include "capture/recorder/recorder_impl.h"
#include "capture/recorder/trace/facts.h"

/* ---- when they have ended */

/* What was not taken to disk, from the ring itself. */
static int take_rest(struct rec_recorder *r, struct tap *t)
{
	struct fmt_cursor c;
	int e = 0;

	cap_drain_unread(t->drain);
	e = cap_drain_take(t->drain, &c);
	if (e == 1)
		e = rec_processes_bytes(r->processes, t->number,
					cap_drain_position(t->drain) - fmt_left(&c), &c);
	else if (e == -EBADMSG)
		e = rec_processes_damage(r->processes, t->number);
	return e < 0 ? e
		     : rec_processes_status(r->processes, t->number, cap_drain_status(t->drain));
}

/* ---- the trace that is made of it */

#define MOST_RESTARTS 8

int rec_plan(struct rec_recorder *r, const struct rec_window *window, const char *path)
{
	const struct cap_control *s = &r->settings;

	r->window = *window;
	r->window.steps = s->digest_level == CAP_DIGEST_STEP;
	r->window.collectives =
		s->digest_level == CAP_DIGEST_COMM || s->digest_level == CAP_DIGEST_STEP;
	r->window.untimed = s->device_times == 0;
	free(r->path);
	r->path = strdup(path);
	return r->path ? 0 : -ENOMEM;
}

static int begin_making(struct rec_recorder *r)
{
	int e = rec_processes_new(&r->clock, &r->processes);

	if (e == 0 && !r->whole)
		e = rec_making_new(rec_processes_names(r->processes), &r->window, r->path,
				   &r->making);
	r->spool.at = 0;
	if (r->follows)
		r->clock.n = 0;
	return e;
}

/* Begins anew, by what is known now; in the end without stretches. */
static void start_over(struct rec_recorder *r, int e)
{
	rec_making_drop(take(r->making));
	rec_processes_free(take(r->processes));
	r->whole |= e != -EAGAIN || ++r->restarts > MOST_RESTARTS;
	r->least = r->spool.at;
}

/* A round's end: there may be enough for a stretch. */
static int make_round(struct rec_recorder *r)
{
	const struct rec_progress *p = &r->window.progress;
	struct rec_process *const *all;
	size_t n;
	int e = 0;

	if (p->show && !r->follows)
		e = p->show(p->context, "reading", r->spool.at, r->spool.bytes);
	if (e < 0 || !r->making || r->spool.at < r->least)
		return e;
	all = rec_processes_all(r->processes, &n);
	e = rec_making_more(r->making, all, n, NULL);
	r->has_failed = e < 0;
	return e < 0 ? e : 0;
}

static int make_piece(void *recorder, const struct rec_piece *piece)
{
	struct rec_recorder *r = recorder;
	int e = r->follows ? rec_recall(r, piece) : 0;

	if (e == 0)
		e = rec_processes_piece(r->processes, piece);
	return e == 0 && piece->kind == REC_PIECE_ROUND ? make_round(r) : e;
}

/* All that was taken to disk since the last time, or until there is no more time for it. */
static int catch_up(struct rec_recorder *r, const bool *is_over)
{
	int e;

	do {
		r->has_failed = false;
		e = r->processes ? 1 : begin_making(r);
		while (e >= 0 && !(is_over && __atomic_load_n(is_over, __ATOMIC_ACQUIRE))) {
			e = rec_spool_next(&r->spool, make_piece, r);
			if (e == 0)
				return 0;
		}
		if (r->has_failed)
			start_over(r, e);
	} while (r->has_failed);
	return e < 0 ? e : 0;
}

void rec_follow_begin(struct rec_recorder *r)
{
	r->follows = true;
	rec_session_share(&r->session);
}

int rec_follow(struct rec_recorder *r, const bool *is_over)
{
	return r->whole ? 0 : catch_up(r, is_over);
}

int rec_stopped(const struct rec_recorder *r)
{
	return -r->spool.error;
}

void rec_stop(struct rec_recorder *r, int error)
{
	r->spool.error = -error;
}

int rec_finish(struct rec_recorder *r)
{
	int e = catch_up(r, NULL);

	/* A ring of which the spool does not know, since there was no room. */
	for (size_t i = 0; i < r->n_taps && e == 0; i++) {
		struct cap_drain_about about = *cap_drain_about(r->taps[i].drain);

		about.number = r->taps[i].number;
		e = rec_processes_ring(r->processes, &about);
	}
	if (e == 0)
		e = rec_session_rings(&r->session, rec_take_ring, r);
	for (size_t i = 0; i < r->n_taps && e == 0; i++)
		e = take_rest(r, &r->taps[i]);
	return e < 0 ? e : rec_processes_round(r->processes, true);
}

void rec_drop(struct rec_recorder *r)
{
	rec_spool_drop(&r->spool);
}

bool rec_has_calls(struct rec_recorder *r)
{
	size_t n;
	struct rec_process *const *all = rec_processes_all(r->processes, &n);

	for (size_t i = 0; i < n; i++)
		if (all[i]->counts.calls > 0)
			return true;
	return false;
}

void rec_child_died(struct rec_recorder *r, int pid, int signal)
{
	if (r->session.control)
		cap_note_death(r->session.control, pid, signal);
}

const struct rec_process *rec_killed(const struct rec_recorder *r, unsigned k)
{
	size_t n;
	struct rec_process *const *all = rec_processes_all(r->processes, &n);

	for (size_t i = 0; i < n; i++)
		if (all[i]->ending == REC_KILLED && k-- == 0)
			return all[i];
	return NULL;
}

struct rec_unread rec_unread(const struct rec_recorder *r)
{
	const struct cap_control *c = r->session.control;
	struct rec_unread unread = {.stopped = -r->spool.error};

	if (!c)
		return unread;
	unread.no_ring_calls = __atomic_load_n(&c->no_ring_calls, __ATOMIC_RELAXED);
	unread.no_ring_error = __atomic_load_n(&c->failed_errno, __ATOMIC_RELAXED);
	unread.forked_calls = __atomic_load_n(&c->forked_calls, __ATOMIC_RELAXED);
	unread.processes = __atomic_load_n(&c->n_processes, __ATOMIC_RELAXED);
	unread.contents = __atomic_load_n(&c->failed_blobs, __ATOMIC_RELAXED);
	return unread;
}

bool rec_unjoined(const struct rec_recorder *r, unsigned k, struct cap_start *ret)
{
	const struct cap_start *all = r->session.control ? cap_starts(r->session.control) : NULL;

	for (unsigned i = 0; all && i < CAP_STARTS; i++) {
		int32_t pid = __atomic_load_n(&all[i].pid, __ATOMIC_ACQUIRE);

		if (pid == 0 || pid == CAP_START_WRITING || k-- > 0)
			continue;
		*ret = all[i];
		ret->path[sizeof(ret->path) - 1] = '\0';
		return true;
	}
	return false;
}

static int write_once(struct rec_recorder *r, struct rec_result *ret, struct fmt_error *err)
{
	size_t n;
	struct rec_process *const *all = rec_processes_all(r->processes, &n);
	struct fmt_names *names = rec_processes_names(r->processes);
	struct rec_endings endings;
	int e = rec_processes_endings(r->processes, r->session.control, &endings);

	if (e == 0)
		e = rec_origin_put(&r->settings.origin, all, n, names);

	r->window.unread = rec_unread(r);
	r->window.unread.running = endings.running;
	r->window.unread.killed = endings.killed;
	if (e == 0)
		e = r->making ? rec_making_end(r->making, all, n, ret, err)
			      : rec_run_write(all, n, names, &r->window, r->path, ret, err);
	for (size_t i = 0; i < n; i++)
		ret->lost_records += all[i]->counts.lost_records;
	if (r->window.untimed)
		ret->without_times = 0;
	return e;
}

int rec_write(struct rec_recorder *r, struct rec_result *ret, struct fmt_error *err)
{
	int e = write_once(r, ret, err);

	/* What the stretches were made by did not hold, or the disk is full. */
	if (e == 0 || e == -ENOMEM || !r->making || !rec_making_has_begun(r->making))
		return e;
	start_over(r, -ENOTSUP);
	e = rec_finish(r);
	return e < 0 ? e : write_once(r, ret, err);
}
