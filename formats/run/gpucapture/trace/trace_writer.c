/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/trace_writer.h"

#include "base/host.h"
#include "base/scope.h"
#include "formats/run/gpucapture/process/times.h"
#include "formats/run/gpucapture/trace/rank_events.h"
#include "formats/run/gpucapture/trace/rank_progress.h"
#include "formats/run/gpucapture/trace/recording_facts.h"
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
	struct rec_rank_progress *ranks; /* owned: by rank, as the next two */
	struct fmt_rank_writer **files;	 /* the elements belong to the writer */
	struct fmt_rank_data_reader *read;
	struct fmt_writer *writer; /* NULL: nothing is written yet */
	bool is_inferred;	   /* a segment was */
	struct rec_trace_counts result;
	size_t segment;		     /* calls and operations in a segment */
	size_t enough;		     /* number of events that start the next segment */
	struct rec_segment *writing; /* owned: the segment being written; NULL: none */
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
	for (uint32_t i = 0; m->ranks && m->read && i < m->plan->ranks.n; i++) {
		rec_rank_progress_done(&m->ranks[i]);
		fmt_rank_data_reader_done(&m->read[i]);
	}
	free(m->read);
	free(m->ranks);
	free(m->files);
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
				       .path = strdup(path),
				       .n_threads = window->threads ?: (int)host_n_processors()};
	m->segment = m->enough = window->segment ? window->segment : REC_SEGMENT;
	m->read = calloc(plan->ranks.n + (size_t)1, sizeof(*m->read));
	m->ranks = calloc(plan->ranks.n + (size_t)1, sizeof(*m->ranks));
	m->files = calloc(plan->ranks.n + (size_t)1, sizeof(*m->files));
	if (!m->path || !m->read || !m->ranks || !m->files)
		return -ENOMEM;
	for (uint32_t i = 0; i < plan->ranks.n; i++) {
		rec_rank_progress_init(&m->ranks[i], &plan->iterations[i], window);
		if (m->ranks[i].n_in_window > m->result.n_iterations)
			m->result.n_iterations = m->ranks[i].n_in_window;
	}
	*ret = take(m);
	return 0;
}

/* ---- the end of a segment */

/* Returns true if the process has events that no segment contained. */
static bool is_active(const struct rec_trace_writer *m, struct rec_process *const *processes,
		      size_t n, uint32_t rank)
{
	uint32_t process = m->plan->ranks.ranks[rank].process;

	return process < n &&
	       (processes[process]->n_events > 0 || processes[process]->n_ranges > 0);
}

/* Returns the time at which the segment ends for the rank; from_ns if it cannot end after that. */
static int64_t end_of_rank(const struct rec_trace_writer *m, const struct rec_process *p,
			   uint32_t rank, int64_t until_ns, bool force)
{
	int64_t to_ns;

	if (p->end.last_call_ns < until_ns) /* its later calls may not be read yet */
		until_ns = p->end.last_call_ns;
	to_ns = rec_rank_progress_end(&m->ranks[rank], until_ns);
	return force && to_ns == m->ranks[rank].from_ns && until_ns > to_ns ? until_ns : to_ns;
}

/* Ends the segment for each rank at the end of an iteration; with `force` within one if needed.
 * Returns 1; 0 if no rank can end it, or if one that has many events cannot. */
static int end_segment(struct rec_trace_writer *m, struct rec_segment *s,
		       struct rec_process *const *processes, size_t n, int64_t until_ns, bool force)
{
	int any = 0;

	for (uint32_t i = 0; i < s->run.n_ranks; i++) {
		int64_t from_ns = m->ranks[i].from_ns, *to_ns = &s->ranks[i].to_ns;
		const struct rec_process *p;

		*to_ns = from_ns;
		if (!is_active(m, processes, n, i))
			continue;
		p = processes[m->plan->ranks.ranks[i].process];
		*to_ns = end_of_rank(m, p, i, until_ns, force);
		any |= *to_ns > from_ns;
		if (*to_ns == from_ns && p->n_events >= m->segment / ENOUGH)
			return 0;
	}
	return any;
}

/* Ends the last segment: of ranks that have events, or never had any. */
static void end_last(const struct rec_trace_writer *m, struct rec_segment *s,
		     struct rec_process *const *processes, size_t n)
{
	s->is_last = true;
	for (uint32_t i = 0; i < s->run.n_ranks; i++)
		s->ranks[i].to_ns = is_active(m, processes, n, i) || !m->ranks[i].is_written
					    ? INT64_MAX
					    : m->ranks[i].from_ns;
}

/* ---- writing */

/* Creates the files of all ranks. */
static int open_files(struct rec_trace_writer *m, struct fmt_error *err)
{
	int r = fmt_writer_open(m->path, m->names, 0, &m->writer, err);

	for (uint32_t i = 0; i < m->plan->ranks.n && r == 0; i++)
		r = fmt_writer_rank(m->writer, i, m->plan->ranks.ranks[i].number, &m->files[i],
				    err);
	return r;
}

/* Selects the ranks to write with the segment. Returns true if there are any. */
static bool choose_ranks(struct rec_trace_writer *m, struct rec_segment *s)
{
	size_t n_events = 0;
	bool any = false;

	for (uint32_t i = 0; i < s->run.n_ranks; i++) {
		struct rec_segment_rank *rank = &s->ranks[i];
		struct rec_rank_progress *of = &m->ranks[i];

		/* The prologue of a window does not characterise the machine. */
		if (m->window->first < 0 || of->next > of->first)
			n_events += s->run.ranks[i].n_events;
		rank->is_written = s->run.ranks[i].n_iterations > 0;
		rank->file = m->files[i];
		rank->reading = &m->read[i];
		of->is_written |= rank->is_written;
		any |= rank->is_written;
	}
	s->is_first = !m->is_inferred;
	s->is_inferred = n_events > 0;
	m->is_inferred |= s->is_inferred;
	return any;
}

/* Fills the segment, whose ends are set. Returns 1 if there is something to write. */
static int fill_segment(struct rec_trace_writer *m, struct rec_segment *s,
			struct rec_process *const *processes, size_t n, const uint32_t *ends,
			struct fmt_error *err)
{
	int r;

	for (size_t i = 0; i < n; i++)
		processes[i]->times.none = m->window->untimed;
	for (uint32_t i = 0; i < s->run.n_ranks; i++)
		rec_rank_progress_set_window(&m->ranks[i], m->window, &s->ranks[i]);
	r = rec_rank_events_add(s, processes, n, ends, m->plan, &m->result.unmatched);
	for (uint32_t i = 0; i < s->run.n_ranks && r == 0; i++)
		r = rec_rank_progress_advance(&m->ranks[i], s, i);
	if (r == 0 && !m->writer)
		r = open_files(m, err);
	return r < 0 ? r : choose_ranks(m, s);
}

/* ---- remaining events */

/* Drops the events that are in the segment. `lent`: the values of the process, if the segment took
 * them; else NULL. */
static int drop_events(struct rec_trace_writer *m, const struct rec_segment *s,
		       struct rec_process *p, uint32_t end, const int64_t *lent)
{
	scoped(free_ptr) uint32_t *to = malloc((p->n_events + 1) * sizeof(*to));
	uint32_t kept = 0;
	size_t n = 0;

	if (!to)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_events; i++) {
		const struct rec_event *e = &p->events[i];
		bool is_gone = i < end && rec_segment_has(s, &m->plan->ranks, p, e);

		m->result.without_times +=
			is_gone && FMT_IS_OP(e->kind) && e->duration_ns == REC_NO_TIME;
		to[i] = is_gone ? REC_NONE : kept++;
	}
	for (size_t i = 0; i < p->n_ranges; i++)
		if (!rec_segment_has(s, &m->plan->ranks, p, &p->ranges[i]))
			p->ranges[n++] = p->ranges[i];
	p->n_ranges = n;
	return rec_process_renumber(p, to, lent);
}

/* ---- the whole run */

/* Begins to write the segment. Returns the values that it takes from the only process, or NULL. */
static const int64_t *begin_writing(struct rec_trace_writer *m, struct rec_segment *s,
				    struct rec_process *const *processes)
{
	const int64_t *lent = s->borrows_values ? take(processes[0]->values) : NULL;

	fmt_writer_use_names(m->writer, s->names);
	s->borrows_values = false;
	m->writing = s;
	rec_segment_begin(s, m->n_threads);
	return lent;
}

/* Makes a segment of complete events and begins to write it: 1; 0 if no segment is complete. */
static int make_segment(struct rec_trace_writer *m, struct rec_process *const *processes, size_t n,
			bool force, struct fmt_error *err)
{
	scoped(rec_segment_bounds_done) struct rec_segment_bounds bounds = {0};
	scoped(rec_segment_freep) struct rec_segment *own =
		rec_segment_new(&m->plan->ranks, m->window, m->names);
	const struct rec_segment *s = own;
	const int64_t *lent = NULL;
	int r = own ? rec_segment_bounds_find(processes, n, force, m->segment, &bounds) : -ENOMEM;

	if (r < 0 || !end_segment(m, own, processes, n, bounds.until_ns, force))
		return r;
	r = fill_segment(m, own, processes, n, bounds.ends, err);
	if (r == 1) {
		r = finish_writing(m, err);
		if (r == 0)
			r = fmt_names_copy(m->names, &own->names);
		if (r == 0)
			lent = begin_writing(m, take(own), processes);
	}
	for (size_t i = 0; i < n && r == 0; i++)
		r = drop_events(m, s, processes[i], bounds.ends[i], lent);
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

		if (p->rank < m->plan->ranks.n && p->member.comm < m->ranks[p->rank].skipped.n)
			p->member.skipped = m->ranks[p->rank].skipped.counts[p->member.comm];
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
		r = rec_repetition_put(m->names, m->plan->iterations, m->plan->ranks.n);
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

/* Writes the remaining events. */
static int make_last(struct rec_trace_writer *m, struct rec_process *const *processes, size_t n,
		     struct fmt_error *err)
{
	scoped(rec_segment_freep) struct rec_segment *s =
		rec_segment_new(&m->plan->ranks, m->window, m->names);
	scoped(free_ptr) uint32_t *ends = malloc((n + 1) * sizeof(*ends));
	int r = s && ends ? finish_writing(m, err) : -ENOMEM;

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		ends[i] = (uint32_t)processes[i]->n_events;
		m->result.without_times += rec_times_missing(processes[i]);
	}
	end_last(m, s, processes, n);
	r = fill_segment(m, s, processes, n, ends, err);
	if (r >= 0)
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
	if (r == 0)
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
