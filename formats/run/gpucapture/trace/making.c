/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/making.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/gpucapture/trace/carry.h"
#include "formats/run/gpucapture/trace/facts.h"
#include "formats/run/gpucapture/trace/placed_digests.h"
#include "formats/run/gpucapture/trace/reach.h"
#include "formats/run/gpucapture/trace/run_impl.h"
#include "formats/run/infer/infer.h"

/* Where there are so many times as many calls and operations as in a segment, something is waited
 * for that does not come: what is older than the last segment's worth is given up. */
#define TOO_MANY 4
/* Such a part of a segment is little. */
#define ENOUGH 4

struct rec_making {
	struct fmt_names *names;
	const struct rec_window *window;
	const struct rec_plan *plan;
	char *path;
	struct rec_steps_of *steps;	/* of the plan */
	struct rec_window_of *kept;	/* owned: by rank, as is the next */
	struct fmt_rank_writer **files; /* owned, what they lead to is the writer's */
	struct fmt_writer *writer;	/* NULL: nothing is written yet */
	bool *written;			/* owned: by rank */
	bool inferred;			/* a segment was */
	bool begun;			/* a segment was made */
	struct rec_result result;
	struct rec_wanted wanted;
	size_t segment; /* calls and operations of one */
	size_t enough;	/* for the next one */
};

void rec_making_free(struct rec_making *m)
{
	if (!m)
		return;
	fmt_writer_abandon(m->writer);
	for (uint32_t i = 0; m->kept && i < m->plan->ranks.n; i++)
		rec_window_of_done(&m->kept[i]);
	free(m->kept);
	free(m->files);
	free(m->written);
	free(m->path);
	rec_wanted_done(&m->wanted);
	free(m);
}

int rec_making_new(struct fmt_names *names, const struct rec_window *window,
		   const struct rec_plan *plan, const char *path, struct rec_making **ret)
{
	scoped(rec_making_freep) struct rec_making *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	*m = (struct rec_making){.names = names,
				 .window = window,
				 .plan = plan,
				 .steps = plan->steps,
				 .path = strdup(path)};
	m->segment = m->enough = window->segment ? window->segment : REC_SEGMENT;
	m->kept = calloc(plan->ranks.n + (size_t)1, sizeof(*m->kept));
	m->written = calloc(plan->ranks.n + (size_t)1, sizeof(*m->written));
	m->files = calloc(plan->ranks.n + (size_t)1, sizeof(*m->files));
	if (!m->path || !m->kept || !m->files || !m->written)
		return -ENOMEM;
	*ret = take(m);
	return 0;
}

/* ---- a segment */

/* All that was seen of it until ends[] as a run, with its iterations. */
static int assemble(struct rec_making *m, struct rec_job *j, const uint32_t *ends, bool more)
{
	int r = rec_job_allocate(j);

	for (size_t i = 0; i < j->n && r == 0; i++)
		r = rec_meetings_settle(&m->plan->meetings, j->processes[i], ends[i],
					&j->result->unmatched);
	if (r == 0)
		r = rec_places_find(j->processes, j->n, ends, j->ranks, &j->run, j->parts,
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
	return rec_steps_find(&j->run, j->ranks, j->processes, j->n, j->parts, more, m->steps);
}

static bool has_any(const struct rec_job *j, uint32_t rank)
{
	return j->run.ranks[rank].n_events > 0 || j->parts[rank].n_ranges > 0;
}

/* Whether no GPU of the rank's process did anything since the last segment. */
static bool is_idle(const struct rec_job *j, uint32_t rank)
{
	for (uint32_t i = 0; i < j->run.n_ranks; i++)
		if (j->ranks->ranks[i].process == j->ranks->ranks[rank].process && has_any(j, i))
			return false;
	return true;
}

/* Whether the segment of the rank's process can be written: there is much of it, or an iteration.
 */
static bool can_write(const struct rec_making *m, const struct rec_job *j, uint32_t rank,
		      const struct rec_reach *reach)
{
	for (uint32_t i = 0; i < j->run.n_ranks; i++) {
		const struct fmt_run_rank *of = &j->run.ranks[i];

		if (j->ranks->ranks[i].process == j->ranks->ranks[rank].process &&
		    (of->n_events >= m->segment / ENOUGH ||
		     (m->steps[i].n > 0 &&
		      rec_steps_can_cut(&m->steps[i], of, reach->until_ns, false))))
			return true;
	}
	return false;
}

/* A rank that has just begun, of which too little is known, or one that cannot end the segment, as
 * it does nothing any more: the little that they did stays for the next one. */
static int hold_back(const struct rec_making *m, struct rec_job *j, const struct rec_reach *reach)
{
	scoped(free_ptr) bool *held = calloc(j->run.n_ranks + (size_t)1, sizeof(*held));

	if (!held)
		return -ENOMEM;
	for (uint32_t i = 0; i < j->run.n_ranks; i++)
		held[i] = !can_write(m, j, i, reach);
	for (uint32_t i = 0; i < j->run.n_ranks; i++)
		if (held[i]) {
			j->run.ranks[i].n_events = 0;
			j->parts[i].n_ranges = j->parts[i].n_digests = j->parts[i].n_contents = 0;
		}
	return 0;
}

/* Ends the segment where iterations do: 1; 0 where there is none to end. */
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

/* Creates the files of all ranks. */
static int open_files(struct rec_making *m, struct fmt_error *err)
{
	const struct fmt_writer_options options = {.names_mode = FMT_NAMES_SHARED};
	int r = fmt_writer_open(m->path, m->names, &options, &m->writer, err);

	for (uint32_t i = 0; i < m->plan->ranks.n && r == 0; i++)
		r = fmt_writer_rank(m->writer, i, m->plan->ranks.ranks[i].number, &m->files[i],
				    err);
	return r;
}

/* What waited for what, if anything is left in the window. The prologue tells nothing of the
 * machine. */
static int infer(struct rec_making *m, struct rec_job *j)
{
	size_t n = 0;
	int r;

	for (uint32_t i = 0; i < j->run.n_ranks; i++)
		if (m->window->first < 0 || m->kept[i].n > 0)
			n += j->run.ranks[i].n_events;
	if (n == 0)
		return 0;
	r = m->inferred ? fmt_infer_more(&j->run) : fmt_infer(&j->run);
	m->inferred = true;
	return r;
}

/* Whether the rank is written now: it did something, or it never will. */
static bool is_due(const struct rec_making *m, const struct rec_job *j, uint32_t rank, bool more)
{
	return !is_idle(j, rank) || (!more && !m->written[rank]);
}

/* A rank that is written, of a run of one segment. */
struct writing {
	const struct rec_progress *progress;
	uint32_t rank, n_ranks;
};

static int show_slice(void *writing, size_t done, size_t total)
{
	const struct writing *w = writing;

	return w->progress->show(w->progress->context, "writing", w->rank * total + done,
				 w->n_ranks * total);
}

static int write_segment(struct rec_making *m, struct rec_job *j, bool more, struct fmt_error *err)
{
	int r = infer(m, j);

	for (uint32_t i = 0; i < j->run.n_ranks && r == 0; i++) {
		struct writing writing = {&m->window->progress, i, j->run.n_ranks};
		struct fmt_run_source source;

		if (!is_due(m, j, i, more) || j->run.ranks[i].n_iterations == 0)
			continue;
		source = rec_job_source(j, i);
		if (m->steps[i].has_before && (m->window->first < 0 || m->kept[i].has_begun))
			source.before = &m->steps[i].before;
		source.more = more;
		if (m->window->progress.show && !m->plan->is_shed) {
			source.progress = show_slice;
			source.progress_context = &writing;
		}
		rec_job_count(j, i);
		m->written[i] = true;
		r = fmt_run_write_more(m->names, &j->run.ranks[i], i, &source, m->files[i], err);
		if (r == 0)
			r = rec_wanted_add(&m->wanted, i, &j->readings[i]);
	}
	return r;
}

/* Writes what was cut, as far as it is wanted. */
static int put(struct rec_making *m, struct rec_job *j, bool more, struct fmt_error *err)
{
	bool windowed = m->window->first >= 0, any = !windowed;
	int r = 0;

	m->result.n_iterations = 0;
	for (uint32_t i = 0; i < j->run.n_ranks && r == 0; i++) {
		size_t n = m->steps[i].n - m->steps[i].prelude;

		if (windowed && is_due(m, j, i, more)) {
			r = rec_window_apply(m->window, m->names, &j->run.ranks[i], &j->parts[i],
					     more, &m->kept[i]);
			any |= j->run.ranks[i].n_iterations > 0;
		}
		n = windowed ? m->kept[i].n : n;
		if (n > m->result.n_iterations)
			m->result.n_iterations = (uint32_t)n;
	}
	m->begun = true;
	if (r == 0 && any && !m->writer)
		r = open_files(m, err);
	return r < 0 || !m->writer ? r : write_segment(m, j, more, err);
}

/* ---- what stays */

/* What began before the next segment does. */
static bool is_written(const struct rec_making *m, const struct rec_process *p,
		       const struct rec_event *e)
{
	uint32_t rank = rec_rank_of(&m->plan->ranks, p, e);

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
	return rec_process_carry(p, gone, false);
}

/* ---- all of it */

static struct rec_job begin_job(struct rec_making *m, struct rec_process *const *processes,
				size_t n)
{
	for (size_t i = 0; i < n; i++)
		processes[i]->times.none = m->window->untimed;
	return (struct rec_job){.processes = processes,
				.n = n,
				.ranks = &m->plan->ranks,
				.run = {.names = m->names},
				.result = &m->result,
				.window = m->window};
}

static int make_segment(struct rec_making *m, struct rec_process *const *processes, size_t n,
			bool force, struct fmt_error *err)
{
	scoped(rec_reach_done) struct rec_reach reach = {0};
	scoped(rec_job_done) struct rec_job j = begin_job(m, processes, n);
	int r = rec_reach_find(processes, n, force, m->segment, &reach);

	if (r == 0)
		r = assemble(m, &j, reach.ends, true);
	if (r == 0 && m->begun && !force)
		r = hold_back(m, &j, &reach);
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

	if (there < m->enough || m->plan->ranks.n == 0)
		return 0;
	if (!rec_plan_fits(m->plan, processes, n))
		return -EBADMSG;
	r = make_segment(m, processes, n, there >= TOO_MANY * m->segment, err);
	if (r == 0)
		m->enough = there + m->segment / 2;
	else if (r == 1)
		m->enough = rec_count_events(processes, n) + m->segment;
	return r;
}

/* Who is in which communicator, and did what there before the window. */
static int put_members(struct rec_making *m)
{
	const struct rec_meetings *all = &m->plan->meetings;

	for (size_t i = 0; i < all->n; i++) {
		struct fmt_participant *p = &all->parties[i];

		if (p->rank < m->plan->ranks.n && p->member.comm < m->kept[p->rank].n_skipped)
			p->member.skipped = m->kept[p->rank].skipped[p->member.comm];
	}
	return fmt_participants_put(all->parties, all->n, m->plan->ranks.n, m->names);
}

/* What is said of all of the run. */
static int put_whole(struct rec_making *m, struct rec_job *j, struct fmt_error *err)
{
	int r = put_members(m);

	if (r == 0 && m->window->first < 0)
		r = rec_repetition_put(m->names, m->steps, m->plan->ranks.n);
	rec_job_undigested(j);
	if (r == 0)
		r = rec_job_contents(j, &m->wanted, m->writer, err);
	return r < 0 ? r
		     : rec_facts_put(j->processes, j->n, j->ranks, &m->result, m->window, m->names);
}

/* False: no iteration is in the window, and the trace is abandoned. */
static bool is_written_at_all(const struct rec_making *m)
{
	return m->writer && (m->window->first < 0 || m->result.n_iterations > 0);
}

static int make_last(struct rec_making *m, struct rec_process *const *processes, size_t n,
		     struct fmt_error *err)
{
	scoped(rec_job_done) struct rec_job j = begin_job(m, processes, n);
	scoped(free_ptr) uint32_t *ends = malloc((n + 1) * sizeof(*ends));
	int r = ends ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && r == 0; i++)
		ends[i] = (uint32_t)processes[i]->n_events;
	if (r == 0)
		r = assemble(m, &j, ends, false);
	for (uint32_t i = 0; i < j.run.n_ranks && r == 0; i++)
		if (is_due(m, &j, i, false))
			rec_steps_end(&m->steps[i], &j.run.ranks[i]);
	if (r == 0)
		r = put(m, &j, false, err);
	m->result.without_times += j.places.without_times;
	if (r < 0 || !is_written_at_all(m))
		return r;
	return put_whole(m, &j, err);
}

int rec_making_end(struct rec_making *m, struct rec_process *const *processes, size_t n,
		   struct rec_result *ret, struct fmt_error *err)
{
	int r;

	*ret = (struct rec_result){.n_processes = (uint32_t)n};
	if (m->plan->ranks.n == 0)
		return 0;
	if (!rec_plan_fits(m->plan, processes, n))
		return -EBADMSG;
	m->result.n_processes = (uint32_t)n;
	m->result.n_ranks = m->plan->ranks.n;
	r = make_last(m, processes, n, err);
	if (r == 0 && m->writer && !is_written_at_all(m))
		fmt_writer_remove(take(m->writer));
	if (r == 0 && m->writer)
		r = fmt_writer_close(take(m->writer), err);
	*ret = m->result;
	return r;
}

int rec_run_write(struct rec_process *const *processes, size_t n, struct fmt_names *names,
		  const struct rec_window *window, const char *path, struct rec_result *ret,
		  struct fmt_error *err)
{
	scoped(rec_plan_done) struct rec_plan plan = {0};
	scoped(rec_making_freep) struct rec_making *m = NULL;
	int r = rec_plan_find(&plan, processes, n, names);

	if (r == 0)
		r = rec_making_new(names, window, &plan, path, &m);
	return r < 0 ? r : rec_making_end(m, processes, n, ret, err);
}
