/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorder/making.h"

#include "base/array.h"
#include "base/scope.h"
#include "capture/recorder/carry.h"
#include "capture/recorder/digests.h"
#include "capture/recorder/facts.h"
#include "capture/recorder/run_impl.h"
#include "formats/export/lengths.h"
#include "formats/infer/infer.h"

#include <dirent.h>

/* A stretch has about so many calls and operations. Where there are so many times as many,
 * something is waited for that does not come: what is older than the last stretch's worth is given
 * up. */
#define STRETCH (1u << 18)
#define TOO_MANY 4

struct rec_making {
	struct fmt_names *names;
	const struct rec_window *window;
	char *path;
	struct rec_ranks ranks; /* since the first stretch */
	struct rec_steps_of *steps;
	struct fmt_rank_writer **files; /* the writer's, by rank */
	struct fmt_writer *writer;
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
	for (uint32_t i = 0; m->steps && i < m->ranks.n; i++)
		rec_steps_of_done(&m->steps[i]);
	free(m->steps);
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

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* Removes what has been written of the trace. */
static void remove_files(const char *path)
{
	scoped(close_dir) DIR *dir = opendir(path);
	const struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		rmdir(path);
}

void rec_making_drop(struct rec_making *m)
{
	if (m && m->writer)
		remove_files(m->path);
	rec_making_free(m);
}

bool rec_making_has_begun(const struct rec_making *m)
{
	return m->writer != NULL;
}

/* ---- which events are looked at */

/* The events of each process that can be in a stretch, and until when it can reach. */
struct reach {
	uint32_t *ends; /* owned */
	int64_t until_ns;
	bool force; /* within an iteration, if it must be */
};

static void reach_done(struct reach *r)
{
	free(r->ends);
}

static size_t count_events(struct rec_process *const *processes, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += processes[i]->n_events;
	return sum;
}

/* When the last call that was looked at ended; INT64_MIN. */
static int64_t last_end(const struct rec_process *p)
{
	const struct rec_event *last = p->n_events > 0 ? &p->events[p->n_events - 1] : NULL;

	if (last && last->call != REC_NONE)
		last = &p->events[last->call];
	return last ? last->start_ns + last->duration_ns : INT64_MIN;
}

/* When the call began that the event is, or that launched it. */
static int64_t began(const struct rec_process *p, const struct rec_event *e)
{
	return e->call == REC_NONE ? e->start_ns : p->events[e->call].start_ns;
}

/* When about so many of the events had not begun yet: as the process has it that did most. */
static int64_t begin_of_last(struct rec_process *const *processes, size_t n, size_t last)
{
	size_t there = count_events(processes, n);
	const struct rec_process *most = processes[0];

	for (size_t i = 1; i < n; i++)
		if (processes[i]->n_events > most->n_events)
			most = processes[i];
	if (there <= last)
		return INT64_MIN;
	return began(most, &most->events[(size_t)((double)most->n_events * (double)(there - last) /
						  (double)there)]);
}

/* How many of the process's events are older. */
static uint32_t count_older(const struct rec_process *p, int64_t than_ns)
{
	uint32_t n = 0;

	while (n < p->n_events && began(p, &p->events[n]) < than_ns)
		n++;
	return n;
}

/* `least` of what there is last is not given up, where it is forced. Calls stand in the order
 * of their ends: what begins before the first that is left out does has nearly always ended as
 * well. What has not is written with the next stretch. */
static int find_reach(struct rec_process *const *processes, size_t n, bool force, size_t least,
		      struct reach *ret)
{
	int64_t given_up_ns = force ? begin_of_last(processes, n, least) : INT64_MIN;

	*ret = (struct reach){malloc((n + 1) * sizeof(*ret->ends)), INT64_MIN, force};
	if (!ret->ends)
		return -ENOMEM;
	/* One that does nothing any more holds nobody up. */
	for (size_t i = 0; i < n; i++)
		if (last_end(processes[i]) > ret->until_ns)
			ret->until_ns = last_end(processes[i]);
	for (size_t i = 0; i < n; i++) {
		const struct rec_process *p = processes[i];
		uint32_t end = rec_process_settled(p, count_older(p, given_up_ns));

		ret->ends[i] = end;
		if (end < p->n_events && p->events[end].start_ns < ret->until_ns)
			ret->until_ns = p->events[end].start_ns;
	}
	return 0;
}

/* ---- a stretch */

static bool are_same(const struct rec_ranks *a, const struct rec_ranks *b)
{
	bool same = a->n == b->n;

	for (uint32_t i = 0; same && i < a->n; i++)
		same = a->ranks[i].process == b->ranks[i].process &&
		       a->ranks[i].number == b->ranks[i].number &&
		       a->ranks[i].device == b->ranks[i].device;
	return same;
}

/* Whose events they are, and which meet. */
static int look(struct rec_making *m, struct rec_job *j, bool last)
{
	int r = rec_ranks_find(j->processes, j->n, &j->ranks);

	if (r < 0 || j->ranks.n == 0)
		return r;
	if (rec_making_has_begun(m) && !are_same(&m->ranks, &j->ranks))
		return -EAGAIN;
	return rec_meetings_number(j->processes, j->n, &j->ranks, last, m->names);
}

/* All that was seen of it until ends[] as a run, with its iterations. */
static int assemble(struct rec_making *m, struct rec_job *j, const uint32_t *ends, bool more)
{
	bool begun = rec_making_has_begun(m);
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
	if (r == 0 && begun)
		return rec_steps_more(&j->run, &j->ranks, j->parts, m->steps);
	return r < 0 ? r : rec_steps_find(&j->run, &j->ranks, j->parts, more, j->steps);
}

/* Ends the stretch where iterations do: 1; 0 where there is none to end. */
static int cut(struct rec_job *j, struct rec_steps_of *steps, const struct reach *reach)
{
	int r = 0;

	for (uint32_t i = 0; i < j->run.n_ranks; i++)
		if (!rec_steps_can_cut(&steps[i], &j->run.ranks[i], reach->until_ns, reach->force))
			return 0;
	for (uint32_t i = 0; i < j->run.n_ranks && r == 0; i++) {
		rec_steps_cut(&steps[i], &j->run.ranks[i], reach->until_ns);
		r = rec_window_keep(&j->run.ranks[i], &j->parts[i], INT64_MIN, steps[i].from_ns);
	}
	return r < 0 ? r : 1;
}

static int open_files(struct rec_making *m, struct rec_job *j, struct fmt_error *err)
{
	const struct fmt_writer_options options = {.names_mode = FMT_NAMES_SHARED};
	int r = rec_devices_put(&j->ranks, m->names);

	m->files = calloc(j->ranks.n + (size_t)1, sizeof(*m->files));
	if (r == 0)
		r = m->files ? fmt_writer_open(m->path, m->names, &options, &m->writer, err)
			     : -ENOMEM;
	for (uint32_t i = 0; i < j->ranks.n && r == 0; i++)
		r = fmt_writer_rank(m->writer, i, j->ranks.ranks[i].number, &m->files[i], err);
	m->steps = take(j->steps);
	m->ranks = j->ranks;
	j->ranks = (struct rec_ranks){.n = m->ranks.n};
	return r;
}

static int write_stretch(struct rec_making *m, struct rec_job *j,
			 const struct fmt_iteration *before, bool more, struct fmt_error *err)
{
	scoped(fmt_lengths_freep) struct fmt_lengths *lengths = NULL;
	int r = before ? fmt_infer_more(&j->run) : fmt_infer(&j->run);

	if (r == 0)
		r = fmt_lengths_new(m->names, j->run.n_ranks, &lengths);
	for (uint32_t i = 0; i < j->run.n_ranks && r == 0; i++) {
		if (j->run.ranks[i].n_events == 0 && j->parts[i].n_ranges == 0)
			continue;
		struct fmt_run_source source = rec_job_source(j, i);

		source.before = before ? &before[i] : NULL;
		source.more = more;
		rec_job_count(j, i);
		r = fmt_run_write_more(m->names, &j->run.ranks[i], i, &source, lengths, m->files[i],
				       err);
		if (r == 0)
			r = rec_wanted_add(&m->wanted, i, &j->readings[i]);
	}
	return r;
}

/* Writes what was cut. */
static int put(struct rec_making *m, struct rec_job *j, bool more, struct fmt_error *err)
{
	bool begun = rec_making_has_begun(m);
	scoped(free_ptr) struct fmt_iteration *before = NULL;
	int r = begun ? 0 : open_files(m, j, err);

	if (r == 0 && begun)
		before = malloc((j->run.n_ranks + (size_t)1) * sizeof(*before));
	if (r == 0 && begun && !before)
		r = -ENOMEM;
	for (uint32_t i = 0; begun && i < j->run.n_ranks && r == 0; i++)
		before[i] = m->steps[i].before;
	if (r == 0)
		r = write_stretch(m, j, before, more, err);
	m->result.n_iterations = 0;
	for (uint32_t i = 0; i < j->run.n_ranks; i++)
		if (m->steps[i].n > m->result.n_iterations)
			m->result.n_iterations = (uint32_t)m->steps[i].n;
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
	scoped(reach_done) struct reach reach = {0};
	scoped(rec_job_done) struct rec_job j = {
		.processes = processes, .n = n, .result = &m->result, .window = m->window};
	int r;

	j.run.names = m->names;
	r = look(m, &j, false);
	if (r < 0 || j.ranks.n == 0)
		return r;
	r = find_reach(processes, n, force, m->stretch, &reach);
	if (r == 0)
		r = assemble(m, &j, reach.ends, true);
	if (r == 0)
		r = cut(&j, m->steps ? m->steps : j.steps, &reach);
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
	size_t there = count_events(processes, n);
	int r;

	if (there < m->enough)
		return 0;
	r = stretch(m, processes, n, there >= TOO_MANY * m->stretch, err);
	if (r == 0)
		m->enough = there + m->stretch / 2;
	else if (r == 1)
		m->enough = count_events(processes, n) + m->stretch;
	return r;
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
		rec_steps_end(&m->steps[i], &j.run.ranks[i]);
	if (r == 0)
		r = put(m, &j, false, err);
	m->result.without_times += j.places.without_times;
	if (r == 0)
		r = rec_meetings_members(processes, n, &m->ranks, &meetings);
	if (r == 0)
		r = fmt_parties_put(meetings.parties, meetings.n, m->ranks.n, m->names);
	if (r == 0)
		r = rec_repetition_put(m->names, m->steps, m->ranks.n);
	m->result.n_processes = (uint32_t)n;
	m->result.n_ranks = m->ranks.n;
	rec_job_undigested(&j);
	if (r == 0)
		r = rec_job_contents(&j, &m->ranks, &m->wanted, m->path, err);
	if (r == 0)
		r = rec_facts_put(processes, n, &m->ranks, &m->result, &m->window->unread,
				  m->names);
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
