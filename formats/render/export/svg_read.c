/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/export/svg_picture.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/render/time.h"
#include "formats/trace/store/loader.h"

/* Shortens all names that a picture may show. */
static int brief_names(struct fmt_svg_picture *p)
{
	for (uint32_t i = 0; i < fmt_n_templates(p->names); i++) {
		const struct fmt_template *template = fmt_template(p->names, i);
		size_t len;
		const char *name = fmt_string(p->names, template->name, &len);

		if ((template->kind == FMT_CALL || FMT_IS_OP(template->kind)) &&
		    fmt_brief_add(&p->brief, template->name, name, len) < 0)
			return -ENOMEM;
	}
	return fmt_brief_shorten(&p->brief, 0);
}

int fmt_svg_picture_init(struct fmt_svg_picture *p)
{
	uint32_t n = fmt_trace_n_ranks(p->trace), n_templates = fmt_n_templates(p->names);

	p->ranks = calloc(n + 1u, sizeof(*p->ranks));
	p->inks = calloc(n_templates + 1u, 1);
	if (!p->ranks || !p->inks)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		p->ranks[i].seen = calloc(fmt_n_tracks(p->names, i) + 1u, 1);
		if (!p->ranks[i].seen)
			return -ENOMEM;
	}
	if (brief_names(p) < 0)
		return -ENOMEM;
	return fmt_neighbours_init(&p->neighbours, p->trace, &p->part);
}

void fmt_svg_picture_done(struct fmt_svg_picture *p)
{
	for (uint32_t i = 0; p->ranks && i < fmt_trace_n_ranks(p->trace); i++) {
		free(p->ranks[i].seen);
		free(p->ranks[i].near);
	}
	free(p->ranks);
	free(p->inks);
	fmt_brief_done(&p->brief);
	fmt_neighbours_done(&p->neighbours);
	fmt_instances_done(&p->instances);
}

bool fmt_svg_is_drawn(const struct fmt_svg_picture *p, const struct fmt_slice *slice,
		      const struct fmt_event *e)
{
	const struct fmt_template *template = fmt_template(p->names, e->template);

	return template && (template->kind == FMT_CALL || FMT_IS_OP(template->kind)) &&
	       e->track < fmt_n_tracks(p->names, slice->rank) && e->duration_ns >= 0;
}

int64_t fmt_svg_waiting(const struct fmt_svg_picture *p, int64_t comm, int64_t seq,
			int64_t duration_ns)
{
	const struct fmt_instance *i = fmt_instances_find(&p->instances, comm, seq);

	return i && i->n > 1 && i->shortest_ns >= 0 ? duration_ns - i->shortest_ns : 0;
}

static void note_track(struct fmt_svg_picture *p, uint32_t rank, uint32_t track)
{
	struct fmt_svg_rank *r = &p->ranks[rank];

	if (r->seen[track])
		return;
	r->seen[track] = 1;
	if (fmt_track(p->names, rank, track)->kind == FMT_THREAD)
		r->n_threads++;
	else
		r->n_streams++;
}

static int note_slice(struct fmt_svg_picture *p, const struct fmt_slice *slice)
{
	for (size_t i = 0; i < slice->n_events; i++) {
		const struct fmt_event *e = &slice->events[i];

		if (!fmt_svg_is_drawn(p, slice, e))
			continue;
		note_track(p, slice->rank, e->track);
		if (e->start_ns < p->scale.from_ns)
			p->scale.from_ns = e->start_ns;
		if (fmt_end_ns(e) > p->scale.to_ns)
			p->scale.to_ns = fmt_end_ns(e);
	}
	return fmt_instances_collect(&p->instances, p->names, slice);
}

/* Reads the slices of the part. */
static int read_part(struct fmt_svg_picture *p, struct fmt_error *err)
{
	scoped(fmt_loader_freep) struct fmt_loader *loader = NULL;
	int r = fmt_loader_new(p->trace, &p->part, FMT_WANT_OPS | FMT_WANT_CALLS, &loader);
	struct fmt_walk w;

	while (r == 0 || r == -EBADMSG) {
		scoped(fmt_slice_freep) struct fmt_slice *slice = NULL;
		struct fmt_svg_rank *rank;

		if (!fmt_loader_next(loader, &w, &slice, &r, err))
			break;
		rank = &p->ranks[w.rank];
		if (rank->end_slice == 0)
			rank->first_slice = w.slice;
		rank->end_slice = w.slice + 1;
		if (r == 0)
			r = note_slice(p, slice);
		if (r == -EBADMSG)
			fmt_part_left_out(&p->part);
	}
	if (r < 0 && r != -EBADMSG)
		return r;
	if (p->scale.to_ns <= p->scale.from_ns) {
		p->scale.from_ns = p->scale.from_ns == INT64_MAX ? 0 : p->scale.from_ns;
		p->scale.to_ns = p->scale.from_ns + 1000;
	}
	return 0;
}

/* Keeps the operations of another iteration that run within the time span of the picture. */
static int note_near(void *context, const struct fmt_slice *slice)
{
	struct fmt_svg_picture *p = context;
	struct fmt_svg_rank *r = &p->ranks[slice->rank];

	for (size_t i = 0; i < slice->n_events; i++) {
		const struct fmt_event *e = &slice->events[i];
		const struct fmt_template *template = fmt_template(p->names, e->template);
		struct fmt_svg_neighbour near = {
			.box = {.start_ns = e->start_ns,
				.duration_ns = e->duration_ns,
				.template = e->template,
				.iteration = slice->iteration.number},
			.track = e->track,
			.comm = -1,
		};

		if (!fmt_svg_is_drawn(p, slice, e) || !FMT_IS_OP(template->kind) ||
		    e->start_ns >= p->scale.to_ns || fmt_end_ns(e) <= p->scale.from_ns)
			continue;
		near.collective = template->kind == FMT_COLLECTIVE;
		near.box.ink = near.collective ? FMT_INK_NEAR_TRANSFER : FMT_INK_NEAR;
		if (near.collective &&
		    !fmt_collective_ids(slice, template, e, &near.comm, &near.seq))
			near.comm = -1;
		if (array_reserve(&r->near, r->n_near + 1, &r->near_cap) < 0)
			return -ENOMEM;
		r->near[r->n_near++] = near;
		note_track(p, slice->rank, e->track);
	}
	return fmt_instances_collect(&p->instances, p->names, slice);
}

static int note_instances(void *context, const struct fmt_slice *slice)
{
	struct fmt_svg_picture *p = context;

	return fmt_instances_collect(&p->instances, p->names, slice);
}

int fmt_svg_read(struct fmt_svg_picture *p, bool across, struct fmt_error *err)
{
	struct fmt_busy_span span = {.any = 1};
	int r;

	p->scale.from_ns = INT64_MAX;
	p->scale.to_ns = INT64_MIN;
	r = read_part(p, err);
	span.start_ns = p->scale.from_ns;
	span.end_ns = p->scale.to_ns;
	for (uint32_t i = 0; r == 0 && i < fmt_trace_n_ranks(p->trace); i++) {
		const struct fmt_svg_rank *rank = &p->ranks[i];

		if (p->part.iteration != FMT_ANY && rank->end_slice > 0)
			r = fmt_neighbours_visit(&p->neighbours, i, rank->first_slice,
						 rank->end_slice, &span, note_near, p, err);
	}
	if (r == 0 && across)
		r = fmt_neighbours_visit_others(&p->neighbours, note_instances, p, err);
	return r;
}
