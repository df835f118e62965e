/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/trace_writer.h"

#include "base/host.h"
#include "base/scope.h"
#include "formats/run/gpucapture/process/times.h"
#include "formats/run/gpucapture/trace/facts.h"
#include "formats/run/gpucapture/trace/segment.h"
#include "formats/run/gpucapture/trace/segment_bounds.h"
#include "formats/trace/store/names_code.h"

/* If this many segments of calls and operations are pending, the records that would complete them
 * are missing: stop waiting for events older than the newest segment. */
#define TOO_MANY 4
/* Such a part of a segment is little. */
#define ENOUGH 4

struct rec_trace_writer {
	struct fmt_names *names;
	const struct rec_window *window;
	const struct rec_plan *plan;
	char *path;
	struct rec_iterations_state *steps; /* of the plan */
	struct rec_window_state *kept;	    /* owned: by rank, as is the next */
	struct fmt_rank_writer **files;	    /* owned, the elements belong to the writer */
	struct fmt_writer *writer;	    /* NULL: nothing is written yet */
	bool *written;			    /* owned: by rank */
	bool inferred;			    /* a segment was */
	bool begun;			    /* a segment was made */
	struct rec_trace_counts result;
	struct fmt_run_part_reader *read; /* owned: by rank */
	size_t segment;			  /* calls and operations in a segment */
	size_t enough;			  /* number of events that start the next segment */
	struct rec_segment *writing;	  /* owned: the segment being written; NULL: none */
	int n_threads;
};

/* Adds the names and counts of a written segment. */
static int finish_segment(struct rec_trace_writer *m, struct rec_segment *s)
{
	int r = s->names ? fmt_names_merge(m->names, s->names, s->run.n_ranks) : 0;

	fmt_writer_use_names(m->writer, m->names);
	if (r == 0)
		rec_segment_count(s, &m->result);
	return r;
}

/* Waits until the current segment is written. */
static int finish_writing(struct rec_trace_writer *m, struct fmt_error *err)
{
	scoped(rec_segment_freep) struct rec_segment *s = take(m->writing);
	int r = s ? rec_segment_end(s, err) : 0;

	return r < 0 || !s ? r : finish_segment(m, s);
}

void rec_trace_writer_free(struct rec_trace_writer *m)
{
	if (!m)
		return;
	finish_writing(m, NULL);
	fmt_writer_abandon(m->writer);
	for (uint32_t i = 0; m->kept && i < m->plan->ranks.n; i++)
		rec_window_state_done(&m->kept[i]);
	for (uint32_t i = 0; m->read && i < m->plan->ranks.n; i++)
		fmt_run_part_reader_done(&m->read[i]);
	free(m->read);
	free(m->kept);
	free(m->files);
	free(m->written);
	free(m->path);
	free(m);
}

int rec_trace_writer_new(struct fmt_names *names, const struct rec_window *window,
			 const struct rec_plan *plan, const char *path,
			 struct rec_trace_writer **ret)
{
	scoped(rec_trace_writer_freep) struct rec_trace_writer *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	*m = (struct rec_trace_writer){.names = names,
				       .window = window,
				       .plan = plan,
				       .steps = plan->steps,
				       .path = strdup(path),
				       .n_threads = window->threads ?: (int)host_n_processors()};
	m->segment = m->enough = window->segment ? window->segment : REC_SEGMENT;
	m->read = calloc(plan->ranks.n + (size_t)1, sizeof(*m->read));
	m->kept = calloc(plan->ranks.n + (size_t)1, sizeof(*m->kept));
	m->written = calloc(plan->ranks.n + (size_t)1, sizeof(*m->written));
	m->files = calloc(plan->ranks.n + (size_t)1, sizeof(*m->files));
	if (!m->path || !m->read || !m->kept || !m->files || !m->written)
		return -ENOMEM;
	*ret = take(m);
	return 0;
}

/* ---- a segment */

/* The first ends[i] events of each process as a run, with its iterations. */
static int assemble_ranks(struct rec_trace_writer *m, struct rec_process *const *processes,
			  size_t n, const uint32_t *ends, bool more, struct rec_segment **ret)
{
	int r;

	for (size_t i = 0; i < n; i++)
		processes[i]->times.none = m->window->untimed;
	r = rec_segment_new(processes, n, ends, m->plan, m->window, m->names, &m->result, ret);
	return r < 0 ? r
		     : rec_iterations_find(&(*ret)->run, &m->plan->ranks, processes, n,
					   (*ret)->parts, more, m->steps);
}

static bool has_any(const struct rec_segment *s, uint32_t rank)
{
	return s->run.ranks[rank].n_events > 0 || s->parts[rank].n_ranges > 0;
}

/* Returns true if no GPU of the rank's process ran anything since the last segment. */
static bool is_idle(const struct rec_trace_writer *m, const struct rec_segment *s, uint32_t rank)
{
	const struct rec_rank *ranks = m->plan->ranks.ranks;

	for (uint32_t i = 0; i < s->run.n_ranks; i++)
		if (ranks[i].process == ranks[rank].process && has_any(s, i))
			return false;
	return true;
}

/* Returns true if the segment of the rank's process can be written: it is large enough, or contains
 * an iteration. */
static bool can_write(const struct rec_trace_writer *m, const struct rec_segment *s, uint32_t rank,
		      const struct rec_segment_bounds *bounds)
{
	const struct rec_rank *ranks = m->plan->ranks.ranks;

	for (uint32_t i = 0; i < s->run.n_ranks; i++) {
		const struct fmt_run_rank *of = &s->run.ranks[i];

		if (ranks[i].process == ranks[rank].process &&
		    (of->n_events >= m->segment / ENOUGH ||
		     (m->steps[i].n > 0 &&
		      rec_iterations_can_cut(&m->steps[i], of, bounds->until_ns, false))))
			return true;
	}
	return false;
}

/* Keeps the few events of some ranks for the next segment: of ranks that just began, about which
 * too little is known, and of idle ranks, which cannot end the segment. */
static int defer_ranks(const struct rec_trace_writer *m, struct rec_segment *s,
		       const struct rec_segment_bounds *bounds)
{
	scoped(free_ptr) bool *held = calloc(s->run.n_ranks + (size_t)1, sizeof(*held));

	if (!held)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->run.n_ranks; i++)
		held[i] = !can_write(m, s, i, bounds);
	for (uint32_t i = 0; i < s->run.n_ranks; i++)
		if (held[i]) {
			s->run.ranks[i].n_events = 0;
			s->parts[i].n_ranges = s->parts[i].n_digests = 0;
		}
	return 0;
}

/* Ends the segment at the end of an iteration: 1; 0 if no iteration is complete. */
static int end_segment(const struct rec_trace_writer *m, struct rec_segment *s,
		       const struct rec_segment_bounds *bounds)
{
	struct rec_iterations_state *steps = m->steps;
	uint32_t n_idle = 0;
	int r = 0;

	for (uint32_t i = 0; i < s->run.n_ranks; i++) {
		n_idle += is_idle(m, s, i);
		if (!is_idle(m, s, i) && !rec_iterations_can_cut(&steps[i], &s->run.ranks[i],
								 bounds->until_ns, bounds->force))
			return 0;
	}
	if (n_idle == s->run.n_ranks)
		return 0;
	for (uint32_t i = 0; i < s->run.n_ranks && r == 0; i++) {
		if (is_idle(m, s, i))
			continue;
		rec_iterations_cut(&steps[i], &s->run.ranks[i], bounds->until_ns);
		r = rec_window_filter(&s->run.ranks[i], &s->parts[i], INT64_MIN, steps[i].from_ns);
	}
	return r < 0 ? r : 1;
}

/* Returns true if the rank is written with the segment: it has events, or will never have any. */
static bool has_to_be_written(const struct rec_trace_writer *m, const struct rec_segment *s,
			      uint32_t rank)
{
	return !is_idle(m, s, rank) || (s->is_last && !m->written[rank]);
}

/* Creates the files of all ranks. */
static int open_files(struct rec_trace_writer *m, struct fmt_error *err)
{
	int r = fmt_writer_open(m->path, m->names, 0, &m->writer, err);

	for (uint32_t i = 0; i < m->plan->ranks.n && r == 0; i++)
		r = fmt_writer_rank(m->writer, i, m->plan->ranks.ranks[i].number, &m->files[i],
				    err);
	return r;
}

/* Selects the ranks to write with the segment: those that have events, or will never have any. Also
 * sets the iterations before and after for their files. */
static void choose_ranks(struct rec_trace_writer *m, struct rec_segment *s)
{
	size_t n_events = 0;

	for (uint32_t i = 0; i < s->run.n_ranks; i++) {
		struct rec_segment_rank *rank = &s->ranks[i];

		/* The prologue of a window does not characterise the machine. */
		if (m->window->first < 0 || m->kept[i].n > 0)
			n_events += s->run.ranks[i].n_events;
		rank->is_written = has_to_be_written(m, s, i) && s->run.ranks[i].n_iterations > 0;
		rank->before = m->steps[i].before;
		rank->has_before =
			m->steps[i].has_before && (m->window->first < 0 || m->kept[i].has_begun);
		rank->file = m->files[i];
		rank->reading = &m->read[i];
	}
	for (uint32_t i = 0; i < s->run.n_ranks; i++)
		m->written[i] |= s->ranks[i].is_written;
	s->is_first = !m->inferred;
	s->is_inferred = n_events > 0;
	m->inferred |= s->is_inferred;
}

/* Cuts the window out of the segment. Returns 1 if there is something to write so far. */
static int keep_window(struct rec_trace_writer *m, struct rec_segment *s, struct fmt_error *err)
{
	bool windowed = m->window->first >= 0, any = !windowed;
	int r = 0;

	m->result.n_iterations = 0;
	for (uint32_t i = 0; i < s->run.n_ranks && r == 0; i++) {
		size_t n = m->steps[i].n - m->steps[i].prelude;

		if (windowed && has_to_be_written(m, s, i)) {
			r = rec_window_apply(m->window, m->names, &s->run.ranks[i], &s->parts[i],
					     !s->is_last, &m->kept[i]);
			any |= s->run.ranks[i].n_iterations > 0;
		}
		n = windowed ? m->kept[i].n : n;
		if (n > m->result.n_iterations)
			m->result.n_iterations = (uint32_t)n;
	}
	m->begun = true;
	if (r == 0 && any && !m->writer)
		r = open_files(m, err);
	if (r < 0 || !m->writer)
		return r;
	choose_ranks(m, s);
	return 1;
}

/* ---- remaining events */

/* Returns true if the event, or its call, began before the next segment. */
static bool is_written(const struct rec_trace_writer *m, const struct rec_process *p,
		       const struct rec_event *e)
{
	uint32_t rank = rec_rank_of(&m->plan->ranks, p, e);

	if (e->call != REC_NONE)
		e = &p->events[e->call];
	return rank == REC_NONE || e->start_ns < m->steps[rank].from_ns;
}

/* `lent`: the values of the process, if the segment took them; else NULL. */
static int drop_events(struct rec_trace_writer *m, struct rec_process *p, uint32_t end,
		       const int64_t *lent)
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
	return rec_process_drop_events(p, gone, lent);
}

/* ---- the whole run */

/* Makes a segment of complete events and begins to write it: 1; 0 if no segment is complete. */
static int make_segment(struct rec_trace_writer *m, struct rec_process *const *processes, size_t n,
			bool force, struct fmt_error *err)
{
	scoped(rec_segment_bounds_done) struct rec_segment_bounds bounds = {0};
	scoped(rec_segment_freep) struct rec_segment *s = NULL;
	const int64_t *lent = NULL;
	int r = rec_segment_bounds_find(processes, n, force, m->segment, &bounds), wanted;

	if (r == 0)
		r = assemble_ranks(m, processes, n, bounds.ends, true, &s);
	if (r == 0 && m->begun && !force)
		r = defer_ranks(m, s, &bounds);
	if (r == 0)
		r = end_segment(m, s, &bounds);
	if (r <= 0)
		return r;
	wanted = keep_window(m, s, err);
	r = wanted < 0 ? wanted : finish_writing(m, err);
	if (r == 0 && wanted == 1)
		r = fmt_names_copy(m->names, &s->names);
	if (r == 0 && wanted == 1) {
		fmt_writer_use_names(m->writer, s->names);
		m->writing = take(s);
		if (m->writing->borrows_values)
			lent = take(processes[0]->values);
		m->writing->borrows_values = false;
		rec_segment_begin(m->writing, m->n_threads);
	}
	for (size_t i = 0; i < n && r == 0; i++)
		r = drop_events(m, processes[i], bounds.ends[i], lent);
	return r < 0 ? r : 1;
}

int rec_trace_writer_add(struct rec_trace_writer *m, struct rec_process *const *processes, size_t n,
			 struct fmt_error *err)
{
	size_t there = rec_count_events(processes, n);
	int r;

	if (there < m->enough || m->plan->ranks.n == 0)
		return 0;
	if (!rec_plan_matches(m->plan, processes, n))
		return -EBADMSG;
	r = make_segment(m, processes, n, there >= TOO_MANY * m->segment, err);
	if (r == 0)
		m->enough = there + m->segment / 2;
	else if (r == 1)
		m->enough = rec_count_events(processes, n) + m->segment;
	return r;
}

/* Adds the communicators of each rank, and the number of collectives before the window. */
static int put_members(struct rec_trace_writer *m)
{
	const struct rec_pairing *all = &m->plan->pairing;

	for (size_t i = 0; i < all->n; i++) {
		struct fmt_participant *p = &all->participants[i];

		if (p->rank < m->plan->ranks.n && p->member.comm < m->kept[p->rank].n_skipped)
			p->member.skipped = m->kept[p->rank].skipped[p->member.comm];
	}
	return fmt_participants_put(all->participants, all->n, m->plan->ranks.n, m->names);
}

/* Returns true if the processes recorded the start of an iteration. */
static bool any_begun(struct rec_process *const *processes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (processes[i]->n_marks > 0 || processes[i]->counts.steps > 0)
			return true;
	return false;
}

static int put_contents(struct rec_trace_writer *m, struct rec_process *const *processes, size_t n,
			struct fmt_error *err)
{
	struct rec_contents_result *ret = &m->result.contents;

	if (!m->window->folder)
		return 0;
	ret->missing[REC_CONTENTS_UNWRITTEN] = m->window->unread.contents;
	return rec_contents_write(m->window->folder, m->writer, processes, n, m->read,
				  &m->plan->ranks, m->names, ret, err);
}

/* Writes the data of the whole run. */
static int write_run_data(struct rec_trace_writer *m, struct rec_process *const *processes,
			  size_t n, struct fmt_error *err)
{
	uint32_t level = m->window->digest_level;
	bool digests_collectives = level == CAP_DIGEST_COMM || level == CAP_DIGEST_STEP;
	int r = put_members(m);

	if (r == 0 && m->window->first < 0)
		r = rec_repetition_put(m->names, m->steps, m->plan->ranks.n);
	if (level == CAP_DIGEST_STEP && !any_begun(processes, n))
		m->result.undigested = m->result.n_iterations;
	for (size_t i = 0; i < n && digests_collectives; i++)
		m->result.undigested_collectives += processes[i]->counts.graph_collectives;
	if (r == 0)
		r = put_contents(m, processes, n, err);
	return r < 0 ? r
		     : rec_facts_put(processes, n, &m->plan->ranks, &m->result, m->window,
				     m->names);
}

/* False: no iteration is in the window, and the trace is abandoned. */
static bool is_written_at_all(const struct rec_trace_writer *m)
{
	return m->writer && (m->window->first < 0 || m->result.n_iterations > 0);
}

/* Writes the remaining events. */
static int make_last(struct rec_trace_writer *m, struct rec_process *const *processes, size_t n,
		     struct fmt_error *err)
{
	scoped(rec_segment_freep) struct rec_segment *s = NULL;
	scoped(free_ptr) uint32_t *ends = malloc((n + 1) * sizeof(*ends));
	int r = ends ? finish_writing(m, err) : -ENOMEM;

	for (size_t i = 0; i < n && r == 0; i++) {
		ends[i] = (uint32_t)processes[i]->n_events;
		m->result.without_times += rec_times_missing(processes[i]);
	}
	if (r == 0)
		r = assemble_ranks(m, processes, n, ends, false, &s);
	if (r < 0)
		return r;
	s->is_last = true;
	for (uint32_t i = 0; i < s->run.n_ranks; i++)
		if (has_to_be_written(m, s, i))
			rec_iterations_end(&m->steps[i], &s->run.ranks[i]);
	r = keep_window(m, s, err);
	if (r < 0 || !is_written_at_all(m))
		return r < 0 ? r : 0;
	r = rec_segment_write(s, m->n_threads, err);
	if (r == 0)
		r = finish_segment(m, s);
	return r < 0 ? r : write_run_data(m, processes, n, err);
}

int rec_trace_writer_finish(struct rec_trace_writer *m, struct rec_process *const *processes,
			    size_t n, struct rec_trace_counts *ret, struct fmt_error *err)
{
	int r;

	*ret = (struct rec_trace_counts){.n_processes = (uint32_t)n};
	if (m->plan->ranks.n == 0)
		return 0;
	if (!rec_plan_matches(m->plan, processes, n))
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
		  const struct rec_window *window, const char *path, struct rec_trace_counts *ret,
		  struct fmt_error *err)
{
	scoped(rec_plan_done) struct rec_plan plan = {0};
	scoped(rec_trace_writer_freep) struct rec_trace_writer *m = NULL;
	int r = rec_plan_find(&plan, processes, n, names);

	if (r == 0)
		r = rec_trace_writer_new(names, window, &plan, path, &m);
	return r < 0 ? r : rec_trace_writer_finish(m, processes, n, ret, err);
}
