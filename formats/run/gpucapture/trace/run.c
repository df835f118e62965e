/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/run.h"

#include "formats/run/gpucapture/trace/run_impl.h"

#include "base/array.h"
#include "base/scope.h"

void rec_job_done(struct rec_job *j)
{
	for (uint32_t i = 0; i < j->ranks->n; i++) {
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
	free(j->run.ranks);
	free(j->parts);
	free(j->readings);
	rec_places_done(&j->places);
}

/* ---- ranges */

int rec_job_ranges(struct rec_job *j, const struct rec_process *p)
{
	for (size_t i = 0; i < p->n_ranges; i++) {
		const struct rec_event *e = &p->ranges[i];
		uint32_t rank = rec_rank_of(j->ranks, p, e);
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
	uint32_t n = j->ranks->n;

	j->run.ranks = calloc(n + (size_t)1, sizeof(*j->run.ranks));
	j->parts = calloc(n + (size_t)1, sizeof(*j->parts));
	j->readings = calloc(n + (size_t)1, sizeof(*j->readings));
	if (!j->readings || !j->run.ranks || !j->parts)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t process = j->ranks->ranks[i].process;

		j->run.ranks[i].number = j->ranks->ranks[i].number;
		j->run.ranks[i].process = rec_shared_process(j->ranks, i);
		j->parts[i].pages = process < j->n ? j->processes[process]->pages : NULL;
		j->parts[i].first_ns = INT64_MAX;
		j->parts[i].last_ns = INT64_MIN;
	}
	j->run.n_ranks = n;
	return 0;
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

int rec_job_contents(struct rec_job *j, struct rec_wanted *wanted, struct fmt_writer *w,
		     struct fmt_error *err)
{
	if (!j->window->folder)
		return 0;
	j->result->contents.missing[REC_CONTENTS_UNWRITTEN] = j->window->unread.contents;
	return rec_contents_write(j->window->folder, w, j->processes, j->n, wanted, j->ranks,
				  j->run.names, &j->result->contents, err);
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
