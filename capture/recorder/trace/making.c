/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorder/trace/making.h"

#include "base/array.h"
#include "base/scope.h"
#include "capture/recorder/process/digests.h"
#include "capture/recorder/session.h"
#include "capture/recorder/trace/carry.h"
#include "capture/recorder/trace/facts.h"
#include "capture/recorder/trace/reach.h"
#include "capture/recorder/trace/run_impl.h"
#include "formats/run/infer/infer.h"

/* A stretch has about so many calls and operations. Where there are so many times as many,
 * something is waited for that does not come: what is older than the last stretch's worth is given
 * up. */
#define STRETCH (1u << 18)
#define TOO_MANY 4
/* Such a part of a stretch is little. */
#define ENOUGH 4

struct rec_making {
	struct fmt_names *names;
	const struct rec_window *window;
	char *path;
	struct rec_ranks ranks;	    /* of which something is written */
	struct rec_steps_of *steps; /* owned: by rank, as are the next two; of those, or of more */
	struct rec_window_of *kept; /* owned */
	struct fmt_rank_writer **files; /* the writer's */
	size_t n_expected, steps_cap, kept_cap, files_cap;
	struct fmt_writer *writer;
	bool inferred; /* a stretch was */
	struct rec_result result;
	struct rec_wanted wanted;
	uint32_t n_named; /* communicators */
	size_t stretch;	  /* calls and operations of one */
	size_t enough;	  /* for the next one */
};

void rec_making_free(struct rec_making *m)
{
	if (!m)
		return;
	fmt_writer_abandon(m->writer);
	for (size_t i = 0; i < m->n_expected; i++) {
		rec_steps_of_done(&m->steps[i]);
		rec_window_of_done(&m->kept[i]);
	}
	free(m->steps);
	free(m->kept);
	free(m->files);
	free(m->path);
	rec_ranks_done(&m->ranks);
	rec_wanted_done(&m->wanted);
	free(m);
}

int rec_making_new(struct fmt_names *names, const struct rec_window *window, const char *path,
		   struct rec_making **ret)
{
	scoped(rec_making_freep) struct rec_making *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	*m = (struct rec_making){.names = names, .window = window, .path = strdup(path)};
	m->stretch = m->enough = window->stretch ? window->stretch : STRETCH;
	if (!m->path)
		return -ENOMEM;
	*ret = take(m);
	return 0;
}

void rec_making_drop(struct rec_making *m)
{
	if (m && m->writer)
		rec_remove_folder(m->path);
	rec_making_free(m);
}

bool rec_making_has_begun(const struct rec_making *m)
{
	return m->writer != NULL;
}

/* ---- a stretch */

/* Makes room for what is known of so many ranks, and forgets what was thought of those that have
 * written nothing yet. */
static int expect(struct rec_making *m, uint32_t n)
{
	if (array_reserve(&m->steps, n, &m->steps_cap) < 0 ||
	    array_reserve(&m->kept, n, &m->kept_cap) < 0 ||
	    array_reserve(&m->files, n, &m->files_cap) < 0)
		return -ENOMEM;
	for (; m->n_expected < n; m->n_expected++) {
		m->steps[m->n_expected] = (struct rec_steps_of){0};
		m->kept[m->n_expected] = (struct rec_window_of){0};
		m->files[m->n_expected] = NULL;
	}
	for (size_t i = 0; i < m->n_expected; i++)
		if (m->steps[i].n == 0)
			rec_steps_of_done(&m->steps[i]);
	return 0;
}

/* Whose events they are, and which meet. */
static int look(struct rec_making *m, struct rec_job *j, bool last)
{
	int r = rec_ranks_find(j->processes, j->n, &j->ranks);

	for (uint32_t i = 0; i < j->ranks.n && r == 0; i++)
		if (rec_shared_process(&j->ranks, i))
			r = -ENOTSUP; /* GPUs of a process share iterations: written at once */
	if (r < 0 || j->ranks.n == 0)
		return r;
	r = rec_ranks_follow(&j->ranks, &m->ranks);
	if (r == 0)
		r = expect(m, j->ranks.n);
	return r < 0 ? r : rec_meetings_number(j->processes, j->n, &j->ranks, last, m->names);
}

/* All that was seen of it until ends[] as a run, with its iterations. */
static int assemble(struct rec_making *m, struct rec_job *j, const uint32_t *ends, bool more)
{
	int r = rec_meetings_follow(j->processes, j->n, ends, &j->ranks, m->names, &m->n_named,
				    &j->result->unmatched);

	if (r == 0)
		r = rec_job_allocate(j);
	if (r == 0)
		r = rec_places_find(j->processes, j->n, ends, &j->ranks, &j->run, j->parts,
				    &j->places);
	for (size_t i = 0; i < j->n && r == 0; i++) {
		r = rec_job_ranges(j, j->processes[i]);
		if (r == 0)
			r = rec_digests_place(j->processes[i], &j->places);
	}
	for (uint32_t i = 0; i < j->run.n_ranks && r == 0; i++)
		fmt_run_part_sort(&j->parts[i]);
	if (r < 0)
		return r;
	return rec_making_has_begun(m)
		       ? rec_steps_more(&j->run, &j->ranks, j->parts, m->steps)
		       : rec_steps_find(&j->run, &j->ranks, j->parts, more, m->steps);
}

/* Whether the rank did nothing since the last stretch. */
static bool is_idle(const struct rec_job *j, uint32_t rank)
{
	return j->run.ranks[rank].n_events == 0 && j->parts[rank].n_ranges == 0;
}

/* A rank that has just begun, of which too little is known, or one that cannot end the stretch, as
 * it does nothing any more: the little that they did stays for the next one. */
static void hold_back(const struct rec_making *m, struct rec_job *j, const struct rec_reach *reach)
{
	for (uint32_t i = 0; i < j->run.n_ranks; i++) {
		struct fmt_run_rank *rank = &j->run.ranks[i];

		if (rank->n_events >= m->stretch / ENOUGH ||
		    (m->steps[i].n > 0 &&
		     rec_steps_can_cut(&m->steps[i], rank, reach->until_ns, false)))
			continue;
		rank->n_events = 0;
		j->parts[i].n_ranges = j->parts[i].n_digests = j->parts[i].n_contents = 0;
	}
}

/* Ends the stretch where iterations do: 1; 0 where there is none to end. */
static int cut(struct rec_job *j, struct rec_steps_of *steps, const struct rec_reach *reach)
{
	uint32_t n_idle = 0;
	int r = 0;

	for (uint32_t i = 0; i < j->run.n_ranks; i++) {
		n_idle += is_idle(j, i);
		if (!is_idle(j, i) &&
		    !rec_steps_can_cut(&steps[i], &j->run.ranks[i], reach->until_ns, reach->force))
			return 0;
	}
	if (n_idle == j->run.n_ranks)
		return 0;
	for (uint32_t i = 0; i < j->run.n_ranks && r == 0; i++) {
		if (is_idle(j, i))
			continue;
		rec_steps_cut(&steps[i], &j->run.ranks[i], reach->until_ns);
		r = rec_window_keep(&j->run.ranks[i], &j->parts[i], INT64_MIN, steps[i].from_ns);
	}
	return r < 0 ? r : 1;
}

/* Begins the files of ranks that are new; from now on, the job's ranks are those of the trace. */
static int open_files(struct rec_making *m, struct rec_job *j, struct fmt_error *err)
{
	const struct fmt_writer_options options = {.names_mode = FMT_NAMES_SHARED};
	int r = rec_devices_put(&j->ranks, m->ranks.n, m->names);

	if (r == 0 && !m->writer)
		r = fmt_writer_open(m->path, m->names, &options, &m->writer, err);
	for (uint32_t i = m->ranks.n; i < j->ranks.n && r == 0; i++)
		r = fmt_writer_rank(m->writer, i, j->ranks.ranks[i].number, &m->files[i], err);
	rec_ranks_done(&m->ranks);
	m->ranks = j->ranks;
	j->ranks = (struct rec_ranks){.n = m->ranks.n};
	return r;
}

/* What waited for what, if anything is left in the window. */
static int infer(struct rec_making *m, struct rec_job *j)
{
	size_t n = 0;
	int r;

	for (uint32_t i = 0; i < j->run.n_ranks; i++)
		n += j->run.ranks[i].n_events;
	if (n == 0)
		return 0;
	r = m->inferred ? fmt_infer_more(&j->run) : fmt_infer(&j->run);
	m->inferred = true;
	return r;
}

static int write_stretch(struct rec_making *m, struct rec_job *j, bool more, struct fmt_error *err)
{
	int r = infer(m, j);

	for (uint32_t i = 0; i < j->run.n_ranks && r == 0; i++) {
		if (is_idle(j, i))
			continue;
		struct fmt_run_source source = rec_job_source(j, i);

		source.before = m->steps[i].has_before ? &m->steps[i].before : NULL;
		source.more = more;
		rec_job_count(j, i);
		r = fmt_run_write_more(m->names, &j->run.ranks[i], i, &source, m->files[i], err);
		if (r == 0)
			r = rec_wanted_add(&m->wanted, i, &j->readings[i]);
	}
	return r;
}

/* Writes what was cut, as far as it is wanted. */
static int put(struct rec_making *m, struct rec_job *j, bool more, struct fmt_error *err)
{
	bool windowed = m->window->first >= 0;
	int r = open_files(m, j, err);

	for (uint32_t i = 0; windowed && i < j->run.n_ranks && r == 0; i++)
		if (!is_idle(j, i))
			r = rec_window_apply_more(m->window, m->names, &j->run.ranks[i],
						  &j->parts[i], more, &m->kept[i]);
	if (r == 0)
		r = write_stretch(m, j, more, err);
	m->result.n_iterations = 0;
	for (uint32_t i = 0; i < j->run.n_ranks; i++) {
		size_t n = windowed ? m->kept[i].n : m->steps[i].n;

		if (n > m->result.n_iterations)
			m->result.n_iterations = (uint32_t)n;
	}
	return r;
}

/* ---- what stays */

/* What began before the next stretch does. */
static bool is_written(const struct rec_making *m, const struct rec_process *p,
		       const struct rec_event *e)
{
	uint32_t rank = rec_rank_of(&m->ranks, p, e);

	if (e->call != REC_NONE)
		e = &p->events[e->call];
	return rank == REC_NONE || e->start_ns < m->steps[rank].from_ns;
}

static int forget(struct rec_making *m, struct rec_process *p, uint32_t end)
{
	scoped(free_ptr) bool *gone = calloc(p->n_events + 1, sizeof(*gone));
	size_t n = 0;

	if (!gone)
		return -ENOMEM;
	for (uint32_t i = 0; i < end; i++) {
		gone[i] = is_written(m, p, &p->events[i]);
		m->result.without_times += gone[i] && FMT_IS_OP(p->events[i].kind) &&
					   p->events[i].duration_ns == REC_NO_TIME;
	}
	for (size_t i = 0; i < p->n_ranges; i++)
		if (!is_written(m, p, &p->ranges[i]))
			p->ranges[n++] = p->ranges[i];
	p->n_ranges = n;
	return rec_process_carry(p, gone);
}

/* ---- all of it */

static int stretch(struct rec_making *m, struct rec_process *const *processes, size_t n, bool force,
		   struct fmt_error *err)
{
	scoped(rec_reach_done) struct rec_reach reach = {0};
	scoped(rec_job_done) struct rec_job j = {
		.processes = processes, .n = n, .result = &m->result, .window = m->window};
	int r;

	j.run.names = m->names;
	r = look(m, &j, false);
	if (r < 0 || j.ranks.n == 0)
		return r;
	for (size_t i = 0; i < n; i++)
		processes[i]->times.none = m->window->untimed;
	r = rec_reach_find(processes, n, force, m->stretch, &reach);
	if (r == 0)
		r = assemble(m, &j, reach.ends, true);
	if (r == 0 && rec_making_has_begun(m) && !force)
		hold_back(m, &j, &reach);
	if (r == 0)
		r = cut(&j, m->steps, &reach);
	if (r <= 0)
		return r;
	r = put(m, &j, true, err);
	for (size_t i = 0; i < n && r == 0; i++)
		r = forget(m, processes[i], reach.ends[i]);
	return r < 0 ? r : 1;
}

int rec_making_more(struct rec_making *m, struct rec_process *const *processes, size_t n,
		    struct fmt_error *err)
{
	size_t there = rec_count_events(processes, n);
	int r;

	if (there < m->enough)
		return 0;
	r = stretch(m, processes, n, there >= TOO_MANY * m->stretch, err);
	if (r == 0)
		m->enough = there + m->stretch / 2;
	else if (r == 1)
		m->enough = rec_count_events(processes, n) + m->stretch;
	return r;
}

/* Who is in which communicator, and did what there before the window. */
static int put_members(struct rec_making *m, struct rec_meetings *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct fmt_party *p = &all->parties[i];

		if (p->rank < m->ranks.n && p->member.comm < m->kept[p->rank].n_skipped)
			p->member.skipped = m->kept[p->rank].skipped[p->member.comm];
	}
	return fmt_parties_put(all->parties, all->n, m->ranks.n, m->names);
}

/* What is left of a run whose beginning is written, and what is said of all of it. */
static int end(struct rec_making *m, struct rec_process *const *processes, size_t n,
	       struct fmt_error *err)
{
	scoped(rec_job_done) struct rec_job j = {
		.processes = processes, .n = n, .result = &m->result, .window = m->window};
	scoped(rec_meetings_done) struct rec_meetings meetings = {0};
	scoped(free_ptr) uint32_t *ends = malloc((n + 1) * sizeof(*ends));
	int r = ends ? 0 : -ENOMEM;

	j.run.names = m->names;
	for (size_t i = 0; i < n && r == 0; i++)
		ends[i] = (uint32_t)processes[i]->n_events;
	if (r == 0)
		r = look(m, &j, true);
	if (r == 0)
		r = assemble(m, &j, ends, false);
	for (uint32_t i = 0; i < j.run.n_ranks && r == 0; i++)
		if (!is_idle(&j, i))
			rec_steps_end(&m->steps[i], &j.run.ranks[i]);
	if (r == 0)
		r = put(m, &j, false, err);
	if (r == 0 && m->result.n_iterations == 0)
		return -ENOTSUP;
	m->result.without_times += j.places.without_times;
	if (r == 0)
		r = rec_meetings_members(processes, n, &m->ranks, &meetings);
	if (r == 0)
		r = put_members(m, &meetings);
	if (r == 0 && m->window->first < 0)
		r = rec_repetition_put(m->names, m->steps, m->ranks.n);
	m->result.n_processes = (uint32_t)n;
	m->result.n_ranks = m->ranks.n;
	rec_job_undigested(&j);
	if (r == 0)
		r = rec_job_contents(&j, &m->ranks, &m->wanted, m->writer, err);
	if (r == 0)
		r = rec_facts_put(processes, n, &m->ranks, &m->result, m->window, m->names);
	return r < 0 ? r : fmt_writer_close(take(m->writer), err);
}

int rec_making_end(struct rec_making *m, struct rec_process *const *processes, size_t n,
		   struct rec_result *ret, struct fmt_error *err)
{
	int r;

	if (!rec_making_has_begun(m))
		return rec_run_write(processes, n, m->names, m->window, m->path, ret, err);
	r = end(m, processes, n, err);
	*ret = m->result;
	return r;
}
