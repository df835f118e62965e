/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/export/svg.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/render/export/svg_picture.h"
#include "formats/render/report/busy.h"
#include "formats/render/time.h"
#include "formats/trace/store/loader.h"

#include <inttypes.h>

#define MOST_GPUS 256

/* Number and height of the rows of a GPU. */
struct rows {
	uint32_t gpus; /* maximum number of GPUs */
	uint32_t threads, streams;
	double thread, stream, gap;
};

static const struct rows layouts[] = {
	{2, 6, 8, 15, 22, 18}, {8, 3, 6, 10, 14, 14},	    {16, 2, 3, 7, 12, 10},
	{64, 1, 2, 3, 6, 5},   {UINT32_MAX, 0, 1, 0, 5, 1},
};

struct picture {
	struct fmt_svg_picture seen;
	const struct rows *rows;
	struct fmt_svg_frame frame;
	uint32_t from, to; /* ranks shown */
	struct text *out;
};

static uint8_t ink_of(const struct fmt_names *names, const struct fmt_template *template)
{
	static const char *const blocking[] = {
		"cudaMemcpy",	   "cudaMalloc",	  "cudaFree",
		"cudaHostAlloc",   "cudaFreeHost",	  "cuMemcpyDtoH_v2",
		"cuMemcpyHtoD_v2", "hipMemcpy",		  "hipMalloc",
		"hipFree",	   "hipMemcpyWithStream",
	};
	const char *name = fmt_string(names, template->name, NULL);

	if (template->kind == FMT_COLLECTIVE)
		return FMT_INK_TRANSFER;
	if (template->kind == FMT_MEMCPY || template->kind == FMT_MEMSET)
		return FMT_INK_COPY;
	if (template->kind == FMT_KERNEL)
		return FMT_INK_COMPUTE;
	for (size_t i = 0; i < ARRAY_SIZE(blocking); i++) {
		if (!strcmp(name, blocking[i]))
			return FMT_INK_BLOCKED;
	}
	return strstr(name, "Synchronize") ? FMT_INK_BLOCKED : FMT_INK_CALL;
}

/* ---- layout */

static uint32_t rows_of(uint32_t have, uint32_t most)
{
	return have < most ? have : most;
}

static double height_of(const struct picture *p, uint32_t rank)
{
	const struct fmt_svg_rank *r = &p->seen.ranks[rank];

	return rows_of(r->n_threads, p->rows->threads) * p->rows->thread +
	       rows_of(r->n_streams, p->rows->streams) * p->rows->stream + p->rows->gap;
}

static void lay_out(struct picture *p)
{
	uint32_t n = fmt_trace_n_ranks(p->seen.trace);
	double tracks = 0;

	p->from = p->seen.part.rank == FMT_ANY ? 0 : (uint32_t)p->seen.part.rank;
	p->frame.n_gpus = p->seen.part.rank == FMT_ANY ? n : 1;
	p->frame.n_shown = rows_of(p->frame.n_gpus, MOST_GPUS);
	p->to = p->from + p->frame.n_shown;
	for (p->rows = layouts; p->frame.n_shown > p->rows->gpus;)
		p->rows++;
	p->frame.height = FMT_SVG_TOP + 24;
	for (uint32_t i = p->from; i < p->to; i++) {
		p->frame.height += height_of(p, i);
		p->frame.other_iterations |= p->seen.ranks[i].n_near > 0;
		tracks += rows_of(p->seen.ranks[i].n_threads, p->rows->threads) +
			  rows_of(p->seen.ranks[i].n_streams, p->rows->streams);
	}
	p->seen.scale.left = FMT_SVG_LEFT;
	p->seen.scale.width = FMT_SVG_RIGHT - FMT_SVG_LEFT;
	p->seen.scale.column = tracks <= 64 ? 1 : tracks <= 200 ? 2 : 4;
	p->seen.scale.box = tracks * p->seen.scale.width / 5000;
	if (p->seen.scale.box < 3)
		p->seen.scale.box = 3;
	p->frame.trace = p->seen.trace;
	p->frame.part = &p->seen.part;
	p->frame.scale = &p->seen.scale;
	for (size_t i = 0; i < p->seen.instances.n && !p->frame.waiting_known; i++)
		p->frame.waiting_known = p->seen.instances.items[i].n > 1;
}

/* ---- one GPU */

struct block {
	struct picture *p;
	uint32_t rank;
	struct fmt_svg_track *tracks; /* by track of the rank */
	uint32_t n_tracks;
	struct fmt_busy_run all, without_waiting;
	struct fmt_svg_share share;
};

static void block_done(struct block *b)
{
	for (uint32_t i = 0; b->tracks && i < b->n_tracks; i++)
		fmt_svg_track_done(&b->tracks[i]);
	free(b->tracks);
	fmt_busy_run_done(&b->all);
	fmt_busy_run_done(&b->without_waiting);
}

static int block_init(struct block *b)
{
	b->n_tracks = fmt_n_tracks(b->p->seen.names, b->rank);
	b->tracks = calloc(b->n_tracks + 1u, sizeof(*b->tracks));
	if (!b->tracks)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->n_tracks; i++) {
		if (b->p->seen.ranks[b->rank].seen[i] &&
		    fmt_svg_track_init(&b->tracks[i], &b->p->seen.scale) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Draws an operation, and adds it to the division of the GPU's time. */
static int draw_op(struct block *b, uint32_t track, const struct fmt_svg_box *box, bool collective)
{
	int64_t end_ns = fmt_add_ns(box->start_ns, box->duration_ns);

	if (fmt_svg_track_add(&b->tracks[track], &b->p->seen.scale, box) < 0 ||
	    fmt_busy_add(&b->all.ops, box->start_ns, end_ns, collective) < 0 ||
	    fmt_busy_add(&b->without_waiting.ops, end_ns - (box->duration_ns - box->waiting_ns),
			 end_ns, collective) < 0)
		return -ENOMEM;
	return 0;
}

static int draw_slice(struct block *b, const struct fmt_slice *slice)
{
	struct fmt_svg_picture *p = &b->p->seen;

	for (size_t i = 0; i < slice->n_events; i++) {
		const struct fmt_event *e = &slice->events[i];
		const struct fmt_template *template = fmt_template(p->names, e->template);
		struct fmt_svg_box box = {.start_ns = e->start_ns,
					  .duration_ns = e->duration_ns,
					  .template = e->template};
		bool collective = template && template->kind == FMT_COLLECTIVE;
		int64_t comm, seq;

		if (!fmt_svg_is_drawn(p, slice, e) || !b->tracks[e->track].columns)
			continue;
		if (!p->inks[e->template])
			p->inks[e->template] = (uint8_t)(ink_of(p->names, template) + 1);
		box.ink = (uint8_t)(p->inks[e->template] - 1);
		if (fmt_collective_ids(slice, template, e, &comm, &seq))
			box.waiting_ns = fmt_svg_waiting(p, comm, seq, e->duration_ns);
		if (!FMT_IS_OP(template->kind)) {
			if (fmt_svg_track_add(&b->tracks[e->track], &p->scale, &box) < 0)
				return -ENOMEM;
		} else if (draw_op(b, e->track, &box, collective) < 0) {
			return -ENOMEM;
		}
	}
	return 0;
}

/* Draws the operations of other iterations, pale. */
static int draw_near(struct block *b)
{
	const struct fmt_svg_rank *rank = &b->p->seen.ranks[b->rank];

	for (size_t i = 0; i < rank->n_near; i++) {
		const struct fmt_svg_neighbour *near = &rank->near[i];
		struct fmt_svg_box box = near->box;

		if (near->comm >= 0)
			box.waiting_ns = fmt_svg_waiting(&b->p->seen, near->comm, near->seq,
							 box.duration_ns);
		if (draw_op(b, near->track, &box, near->collective) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Sets the share: of the whole recording, or of the span of the iteration's own operations. Wait
 * time without other operations is the communication that would disappear if waiting took no
 * time. */
static int end_block(struct block *b, const struct fmt_busy_span *own)
{
	struct fmt_busy all, rest;

	if (own) {
		if (fmt_busy_divide(&b->all.ops, own, &all) < 0 ||
		    fmt_busy_divide(&b->without_waiting.ops, own, &rest) < 0)
			return -ENOMEM;
	} else {
		if (fmt_busy_run_end(&b->all) < 0 || fmt_busy_run_end(&b->without_waiting) < 0)
			return -ENOMEM;
		all = b->all.whole;
		rest = b->without_waiting.whole;
	}
	b->share.compute_ns = all.compute_ns;
	b->share.hidden_ns = all.hidden_ns;
	b->share.idle_ns = all.idle_ns;
	b->share.transfer_ns = rest.exposed_ns;
	b->share.waiting_ns = all.exposed_ns - rest.exposed_ns;
	return 0;
}

static int begin_iteration(struct block *b, const struct fmt_slice_info *info)
{
	int r = fmt_busy_run_begin(&b->all, info->iteration.start_ns);

	return r < 0 ? r : fmt_busy_run_begin(&b->without_waiting, info->iteration.start_ns);
}

static int read_block(struct block *b, struct fmt_error *err)
{
	const struct fmt_part part = {.iteration = b->p->seen.part.iteration, .rank = b->rank};
	scoped(fmt_loader_freep) struct fmt_loader *loader = NULL;
	bool whole = part.iteration == FMT_ANY;
	struct fmt_busy_span own;
	int64_t last = FMT_ANY;
	struct fmt_walk w;
	int r = fmt_loader_new(b->p->seen.trace, &part, FMT_WANT_CALLS | FMT_WANT_OPS, &loader);

	while (r == 0) {
		scoped(fmt_slice_freep) struct fmt_slice *slice = NULL;
		int loaded;

		if (!fmt_loader_next(loader, &w, &slice, &loaded, err))
			break;
		if (whole && w.info->iteration.number != last)
			r = begin_iteration(b, w.info);
		last = w.info->iteration.number;
		if (r == 0 && loaded == 0)
			r = draw_slice(b, slice);
		else if (r == 0 && loaded != -EBADMSG)
			r = loaded;
	}
	if (r < 0)
		return r;
	if (whole)
		return end_block(b, NULL);
	own = fmt_busy_span(&b->all.ops, 0);
	return draw_near(b) < 0 ? -ENOMEM : end_block(b, &own);
}

/* The last digits of a long number are enough, and take less space. */
static void put_number(int64_t v, struct text *out)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRId64, v);

	if (n > 7)
		text_printf(out, "…%s", digits + n - 6);
	else
		text_str(out, digits);
}

static void put_track_name(const struct block *b, uint32_t track, uint32_t n_folded, double top,
			   double height)
{
	const struct fmt_track *l = fmt_track(b->p->seen.names, b->rank, track);
	struct text *out = b->p->out;

	if (height < 9)
		return;
	text_printf(out, "<text class=\"l\" x=\"144\" y=\"%s\">%s ", fmt_px(top + height / 2 + 3).s,
		    l->kind == FMT_THREAD ? "thread" : "stream");
	if (l->text_ids & 2) {
		size_t len;
		const char *name = fmt_string(b->p->seen.names, l->tid_text, &len);

		fmt_svg_string(out, name, len, 7);
	} else {
		put_number(l->tid, out);
	}
	if (n_folded)
		text_printf(out, " + %" PRIu32, n_folded);
	text_str(out, "</text>\n");
}

static int by_number(const void *a, const void *b)
{
	return (*(const uint32_t *)a > *(const uint32_t *)b) -
	       (*(const uint32_t *)a < *(const uint32_t *)b);
}

/* Selects the tracks of a kind that get a row, the first of `order`, in their original order; if
 * there are too many these are the busiest, and the others follow. */
static void choose_tracks(const struct block *b, uint8_t kind, uint32_t most, uint32_t *order,
			  uint32_t *n)
{
	*n = 0;
	for (uint32_t i = 0; i < b->n_tracks; i++) {
		if (b->tracks[i].columns && fmt_track(b->p->seen.names, b->rank, i)->kind == kind)
			order[(*n)++] = i;
	}
	for (uint32_t i = 0; *n > most && i < most; i++) {
		for (uint32_t k = i + 1; k < *n; k++) {
			if (b->tracks[order[k]].busy_ns > b->tracks[order[i]].busy_ns) {
				uint32_t swap = order[i];

				order[i] = order[k];
				order[k] = swap;
			}
		}
	}
	qsort(order, rows_of(*n, most), sizeof(*order), by_number);
}

/* Tracks without their own row are drawn in the last row. */
static int put_tracks(struct block *b, uint8_t kind, uint32_t most, double height, double *top)
{
	scoped(free_ptr) uint32_t *order = calloc(b->n_tracks + 1u, sizeof(*order));
	uint32_t n;

	if (!order)
		return -ENOMEM;
	choose_tracks(b, kind, most, order, &n);
	for (uint32_t i = most; most > 0 && i < n; i++) {
		if (fmt_svg_track_fold(&b->tracks[order[most - 1]], &b->tracks[order[i]]) < 0)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < rows_of(n, most); i++, *top += height) {
		put_track_name(b, order[i], i + 1 == most ? n - most : 0, *top, height);
		fmt_svg_track_print(&b->tracks[order[i]], &b->p->seen.scale, b->p->seen.names,
				    &b->p->seen.brief, *top, height > 4 ? height - 1 : height - 0.5,
				    b->p->out);
	}
	return 0;
}

static int put_block(struct picture *p, uint32_t rank, double *top, struct fmt_error *err)
{
	scoped(block_done) struct block b = {.p = p, .rank = rank};
	double bottom = *top + height_of(p, rank), from = *top;
	double bar = bottom - *top - p->rows->gap, text_height = p->rows->gap + bar;
	int r = block_init(&b);

	if (r == 0)
		r = read_block(&b, err);
	if (r < 0)
		return r;
	fmt_svg_iterations(&p->frame, rank, *top, bottom - p->rows->gap + 1, rank == p->from,
			   p->out);
	if (p->frame.n_shown <= 64 || rank % 4 == 0) {
		text_printf(p->out, "<text class=\"%s\" x=\"16\" y=\"%s\">GPU %" PRIu32 "</text>\n",
			    text_height >= 13 ? "g" : "l\" style=\"text-anchor:start",
			    fmt_px(*top + (bar >= 40 ? 12 : bar / 2 + 4)).s,
			    fmt_trace_rank(p->seen.trace, rank)->number);
	}
	r = put_tracks(&b, FMT_THREAD, p->rows->threads, p->rows->thread, top);
	if (r == 0)
		r = put_tracks(&b, FMT_STREAM, p->rows->streams, p->rows->stream, top);
	fmt_svg_share(&b.share, bar > 24 ? from + bar / 2 - 12 : from, bar > 24 ? 24 : bar, p->out);
	*top = bottom;
	return r;
}

static void picture_done(struct picture *p)
{
	fmt_svg_picture_done(&p->seen);
}

int fmt_svg(struct fmt_trace *t, const struct fmt_part *part, bool across, struct text *out,
	    struct fmt_error *err)
{
	scoped(picture_done) struct picture p = {
		.seen.trace = t, .seen.names = fmt_trace_names(t), .seen.part = *part, .out = out};
	double top = FMT_SVG_TOP;
	int r = fmt_svg_picture_init(&p.seen);

	if (r == 0)
		r = fmt_svg_read(&p.seen, across, err);
	if (r < 0)
		return r;
	lay_out(&p);
	fmt_svg_begin(&p.frame, out);
	for (uint32_t rank = p.from; rank < p.to; rank++) {
		r = put_block(&p, rank, &top, err);
		if (r < 0)
			return r;
	}
	fmt_svg_end(&p.frame, out);
	return text_flush(out);
}
