/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorder/trace/run.h"

#include "capture/recorder/trace/run_impl.h"

#include "base/array.h"
#include "base/scope.h"
#include "capture/recorder/process/digests.h"
#include "capture/recorder/trace/facts.h"
#include "formats/run/infer/infer.h"

void rec_job_done(struct rec_job *j)
{
	for (uint32_t i = 0; i < j->ranks.n; i++) {
		if (j->run.ranks) {
			free(j->run.ranks[i].events);
			free(j->run.ranks[i].values);
			free(j->run.ranks[i].iterations);
			free(j->run.ranks[i].edges);
			free(j->run.ranks[i].collectives);
		}
		if (j->readings)
			fmt_run_reading_done(&j->readings[i]);
		if (j->parts)
			fmt_run_part_done(&j->parts[i]);
	}
	for (uint32_t i = 0; j->steps && i < j->ranks.n; i++)
		rec_steps_of_done(&j->steps[i]);
	free(j->steps);
	free(j->run.ranks);
	free(j->parts);
	free(j->readings);
	rec_places_done(&j->places);
	rec_meetings_done(&j->meetings);
	rec_ranks_done(&j->ranks);
}

/* ---- ranges */

int rec_job_ranges(struct rec_job *j, const struct rec_process *p)
{
	for (size_t i = 0; i < p->n_ranges; i++) {
		const struct rec_event *e = &p->ranges[i];
		uint32_t rank = rec_rank_of(&j->ranks, p, e);
		struct fmt_event made = {.start_ns = e->start_ns,
					 .duration_ns = e->duration_ns,
					 .template = e->template};
		struct fmt_run_part *part;
		int r;

		if (rank == REC_NONE)
			continue;
		part = &j->parts[rank];
		r = rec_places_track(&j->places, rank, p, e->track, &made.track);
		if (r == 0 &&
		    array_reserve(&part->ranges, part->n_ranges + 1, &part->ranges_cap) < 0)
			r = -ENOMEM;
		if (r < 0)
			return r;
		part->ranges[part->n_ranges++] = made;
		fmt_run_part_span(part, &made);
	}
	return 0;
}

/* ---- all of it */

int rec_job_allocate(struct rec_job *j)
{
	uint32_t n = j->ranks.n;

	j->run.ranks = calloc(n + (size_t)1, sizeof(*j->run.ranks));
	j->parts = calloc(n + (size_t)1, sizeof(*j->parts));
	j->readings = calloc(n + (size_t)1, sizeof(*j->readings));
	j->steps = calloc(n + (size_t)1, sizeof(*j->steps));
	if (!j->steps || !j->readings || !j->run.ranks || !j->parts)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		j->run.ranks[i].number = j->ranks.ranks[i].number;
		j->run.ranks[i].process = rec_shared_process(&j->ranks, i);
		j->parts[i].pages = j->ranks.ranks[i].process->pages;
		j->parts[i].first_ns = INT64_MAX;
		j->parts[i].last_ns = INT64_MIN;
	}
	j->run.n_ranks = n;
	return 0;
}

static int assemble(struct rec_job *j)
{
	int r = rec_job_allocate(j);

	for (size_t i = 0; i < j->n && r == 0; i++)
		r = rec_meetings_settle(&j->meetings, j->processes[i], &j->result->unmatched);
	if (r == 0)
		r = rec_places_find(j->processes, j->n, NULL, &j->ranks, &j->run, j->parts,
				    &j->places);
	for (size_t i = 0; i < j->n && r == 0; i++) {
		r = rec_job_ranges(j, j->processes[i]);
		if (r == 0)
			r = rec_digests_place(j->processes[i], &j->places);
		rec_process_forget(j->processes[i]);
	}
	j->result->without_times = j->places.without_times;
	rec_places_done(&j->places);
	for (uint32_t i = 0; i < j->run.n_ranks && r == 0; i++)
		fmt_run_part_sort(&j->parts[i]);
	return r;
}

struct fmt_run_source rec_job_source(struct rec_job *j, uint32_t rank)
{
	struct fmt_run_reading *reading = &j->readings[rank];
	struct fmt_run_source source = fmt_run_part_source(&j->parts[rank], j->run.names, reading);

	if (j->window->folder && j->window->first_content >= 0) {
		reading->first_content = j->window->first_content;
		reading->last_content = j->window->last_content;
	}
	return source;
}

int rec_job_contents(struct rec_job *j, const struct rec_ranks *ranks, struct rec_wanted *wanted,
		     struct fmt_writer *w, struct fmt_error *err)
{
	if (!j->window->folder)
		return 0;
	j->result->contents.missing[REC_CONTENTS_UNWRITTEN] = j->window->unread.contents;
	return rec_contents_write(j->window->folder, w, j->processes, j->n, wanted, ranks,
				  j->run.names, &j->result->contents, err);
}

/* A rank that is written. */
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

static int write_all(struct rec_job *j, const char *path, struct fmt_error *err)
{
	scoped(rec_wanted_done) struct rec_wanted wanted = {0};
	const struct fmt_writer_options options = {.names_mode = FMT_NAMES_SHARED};
	struct fmt_writer *w;
	int r = fmt_writer_open(path, j->run.names, &options, &w, err);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < j->run.n_ranks && r == 0; i++) {
		struct writing writing = {&j->window->progress, i, j->run.n_ranks};
		struct fmt_run_source source = rec_job_source(j, i);

		if (j->window->progress.show) {
			source.progress = show_slice;
			source.progress_context = &writing;
		}
		r = fmt_run_write(j->run.names, &j->run.ranks[i], i, &source, w, err);
		if (r == 0)
			r = rec_wanted_add(&wanted, i, &j->readings[i]);
	}
	if (r == 0)
		r = rec_job_contents(j, &j->ranks, &wanted, w, err);
	if (r < 0) {
		fmt_writer_abandon(w);
		return r;
	}
	return fmt_writer_close(w, err);
}

void rec_job_count(const struct rec_job *j, uint32_t rank)
{
	const struct fmt_run_rank *run = &j->run.ranks[rank];
	struct rec_result *ret = j->result;

	ret->ranges += j->parts[rank].n_ranges;
	ret->digests += j->parts[rank].n_digests;
	for (size_t i = 0; i < run->n_events; i++) {
		uint8_t kind = fmt_template(j->run.names, run->events[i].template)->kind;

		ret->calls += kind == FMT_CALL;
		ret->ops += FMT_IS_OP(kind);
		ret->collectives += kind == FMT_COLLECTIVE;
	}
}

/* Whether an iteration was seen to begin while it did. */
static bool any_begun(const struct rec_job *j)
{
	for (size_t i = 0; i < j->n; i++)
		if (j->processes[i]->n_marks > 0 || j->processes[i]->counts.steps > 0)
			return true;
	return false;
}

void rec_job_undigested(struct rec_job *j)
{
	if (j->window->steps && !any_begun(j))
		j->result->undigested = j->result->n_iterations;
	for (size_t i = 0; i < j->n && j->window->collectives; i++)
		j->result->undigested_collectives += j->processes[i]->counts.launched_collectives;
}

int rec_run_write(struct rec_process *const *processes, size_t n, struct fmt_names *names,
		  const struct rec_window *window, const char *path, struct rec_result *ret,
		  struct fmt_error *err)
{
	scoped(rec_job_done) struct rec_job j = {
		.processes = processes, .n = n, .result = ret, .window = window};
	int r = rec_ranks_find(processes, n, &j.ranks);

	*ret = (struct rec_result){.n_processes = (uint32_t)n};
	j.run.names = names;
	if (r < 0 || j.ranks.n == 0)
		return r;
	ret->n_ranks = j.ranks.n;
	r = rec_devices_put(&j.ranks, 0, names);
	if (r == 0)
		r = rec_meetings_find(processes, n, &j.ranks, names, &j.meetings);
	if (r == 0)
		r = assemble(&j);
	if (r == 0)
		r = rec_steps_find(&j.run, &j.ranks, j.parts, false, j.steps);
	if (r == 0 && window->first < 0)
		r = rec_repetition_put(names, j.steps, j.ranks.n);
	for (uint32_t i = 0; i < j.run.n_ranks && r == 0; i++)
		r = rec_window_apply(window, &j.run.ranks[i], &j.parts[i]);
	if (r == 0 && window->first >= 0)
		r = rec_meetings_skip(&j.meetings, &j.run);
	if (r == 0)
		r = fmt_infer(&j.run);
	for (uint32_t i = 0; i < j.run.n_ranks && r == 0; i++)
		rec_job_count(&j, i);
	for (uint32_t i = 0; i < j.run.n_ranks && r == 0; i++)
		if (j.run.ranks[i].n_iterations > ret->n_iterations)
			ret->n_iterations = (uint32_t)j.run.ranks[i].n_iterations;
	rec_job_undigested(&j);
	if (r == 0)
		r = fmt_parties_put(j.meetings.parties, j.meetings.n, j.run.n_ranks, names);
	if (r == 0)
		r = rec_facts_put(processes, n, &j.ranks, ret, window, names);
	return r < 0 ? r : write_all(&j, path, err);
}
