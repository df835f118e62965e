/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/export/svg.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/export/svg_frame.h"
#include "formats/report/busy.h"
#include "formats/report/instances.h"

#include <inttypes.h>

#define MOST_GPUS 256

/* How many rows a GPU gets, and how high they are. */
struct rows {
	uint32_t gpus; /* up to so many GPUs */
	uint32_t threads, streams;
	double thread, stream, gap;
};

static const struct rows layouts[] = {
	{2, 6, 8, 15, 22, 18}, {8, 3, 6, 10, 14, 14},	    {16, 2, 3, 7, 12, 10},
	{64, 1, 2, 3, 6, 5},   {UINT32_MAX, 0, 1, 0, 5, 1},
};

struct rank {
	uint8_t *seen; /* by lane: something of the part is on it */
	uint32_t n_threads, n_streams;
};

struct picture {
	struct fmt_trace *trace;
	const struct fmt_names *names;
	struct fmt_part part;
	const struct rows *rows;
	struct fmt_svg_scale scale;
	struct fmt_svg_frame frame;
	struct fmt_instances instances;
	struct rank *ranks;
	uint8_t *inks;	   /* by site, plus 1; 0: not asked for yet */
	uint32_t from, to; /* ranks shown */
	struct text *out;
};

static void picture_done(struct picture *p)
{
	for (uint32_t i = 0; p->ranks && i < fmt_trace_n_ranks(p->trace); i++)
		free(p->ranks[i].seen);
	free(p->ranks);
	free(p->inks);
	fmt_instances_done(&p->instances);
}

/* ---- what is there */

static uint8_t ink_of(const struct fmt_names *names, const struct fmt_site *site)
{
	static const char *const blocking[] = {
		"cudaMemcpy",	   "cudaMalloc",	  "cudaFree",
		"cudaHostAlloc",   "cudaFreeHost",	  "cuMemcpyDtoH_v2",
		"cuMemcpyHtoD_v2", "hipMemcpy",		  "hipMalloc",
		"hipFree",	   "hipMemcpyWithStream",
	};
	const char *name = fmt_string(names, site->name, NULL);

	if (site->kind == FMT_COLLECTIVE)
		return FMT_INK_TRANSFER;
	if (site->kind == FMT_MEMCPY || site->kind == FMT_MEMSET)
		return FMT_INK_COPY;
	if (site->kind == FMT_KERNEL)
		return FMT_INK_COMPUTE;
	for (size_t i = 0; i < ARRAY_SIZE(blocking); i++) {
		if (!strcmp(name, blocking[i]))
			return FMT_INK_BLOCKED;
	}
	return strstr(name, "Synchronize") ? FMT_INK_BLOCKED : FMT_INK_CALL;
}

static int64_t end_of(const struct fmt_event *e)
{
	int64_t end_ns;

	return __builtin_add_overflow(e->start_ns, e->duration_ns, &end_ns) ? INT64_MAX : end_ns;
}

/* Whether the event is drawn at all. */
static bool is_drawn(const struct picture *p, const struct fmt_slice *slice,
		     const struct fmt_event *e)
{
	const struct fmt_site *site = fmt_site(p->names, e->site);

	return site && (site->kind == FMT_CALL || FMT_IS_OP(site->kind)) &&
	       e->lane < fmt_n_lanes(p->names, slice->rank) && e->duration_ns >= 0;
}

static void note_slice(struct picture *p, const struct fmt_slice *slice)
{
	struct rank *rank = &p->ranks[slice->rank];

	for (size_t i = 0; i < slice->n_events; i++) {
		const struct fmt_event *e = &slice->events[i];

		if (!is_drawn(p, slice, e))
			continue;
		if (!rank->seen[e->lane]) {
			rank->seen[e->lane] = 1;
			if (fmt_lane(p->names, slice->rank, e->lane)->kind == FMT_THREAD)
				rank->n_threads++;
			else
				rank->n_streams++;
		}
		if (e->start_ns < p->scale.from_ns)
			p->scale.from_ns = e->start_ns;
		if (end_of(e) > p->scale.to_ns)
			p->scale.to_ns = end_of(e);
	}
}

/* Reads all that matters once: the lanes, the time, and how collectives came out. */
static int look(struct picture *p, bool across, struct fmt_error *err)
{
	struct fmt_part part = {p->part.iteration, across ? FMT_ANY : p->part.rank,
				p->part.progress, p->part.context};
	struct fmt_walk w = fmt_walk(p->trace, &part);

	p->scale.from_ns = INT64_MAX;
	p->scale.to_ns = INT64_MIN;
	while (fmt_walk_next(&w)) {
		bool shown = p->part.rank == FMT_ANY || w.rank == p->part.rank;
		scoped(fmt_slice_freep) struct fmt_slice *slice = NULL;
		int r = fmt_slice_load(p->trace, w.rank, w.slice,
				       FMT_WANT_OPS | (shown ? FMT_WANT_CALLS : 0), &slice, err);

		if (r == -EBADMSG)
			continue;
		if (r < 0)
			return r;
		if (shown)
			note_slice(p, slice);
		r = fmt_instances_collect(&p->instances, p->names, slice);
		if (r < 0)
			return r;
	}
	if (p->scale.to_ns <= p->scale.from_ns) {
		p->scale.from_ns = p->scale.from_ns == INT64_MAX ? 0 : p->scale.from_ns;
		p->scale.to_ns = p->scale.from_ns + 1000;
	}
	return 0;
}

/* ---- layout */

static uint32_t rows_of(uint32_t have, uint32_t most)
{
	return have < most ? have : most;
}

static double height_of(const struct picture *p, uint32_t rank)
{
	const struct rank *r = &p->ranks[rank];

	return rows_of(r->n_threads, p->rows->threads) * p->rows->thread +
	       rows_of(r->n_streams, p->rows->streams) * p->rows->stream + p->rows->gap;
}

static void lay_out(struct picture *p)
{
	uint32_t n = fmt_trace_n_ranks(p->trace);
	double lanes = 0;

	p->from = p->part.rank == FMT_ANY ? 0 : (uint32_t)p->part.rank;
	p->frame.n_gpus = p->part.rank == FMT_ANY ? n : 1;
	p->frame.n_shown = rows_of(p->frame.n_gpus, MOST_GPUS);
	p->to = p->from + p->frame.n_shown;
	for (p->rows = layouts; p->frame.n_shown > p->rows->gpus;)
		p->rows++;
	p->frame.height = FMT_SVG_TOP + 24;
	for (uint32_t i = p->from; i < p->to; i++) {
		p->frame.height += height_of(p, i);
		lanes += rows_of(p->ranks[i].n_threads, p->rows->threads) +
			 rows_of(p->ranks[i].n_streams, p->rows->streams);
	}
	p->scale.left = FMT_SVG_LEFT;
	p->scale.width = FMT_SVG_RIGHT - FMT_SVG_LEFT;
	p->scale.column = lanes <= 64 ? 1 : lanes <= 200 ? 2 : 4;
	p->scale.box = lanes * p->scale.width / 5000;
	if (p->scale.box < 3)
		p->scale.box = 3;
	p->frame.trace = p->trace;
	p->frame.part = &p->part;
	p->frame.scale = &p->scale;
	for (size_t i = 0; i < p->instances.cap && !p->frame.waiting_known; i++)
		p->frame.waiting_known = p->instances.table[i].n > 1;
}

/* ---- one GPU */

struct block {
	struct picture *p;
	uint32_t rank;
	struct fmt_svg_lane *lanes; /* by lane of the rank */
	uint32_t n_lanes;
	struct fmt_busy_ops all, without_waiting; /* of one iteration */
	struct fmt_svg_share share;
};

static void block_done(struct block *b)
{
	for (uint32_t i = 0; b->lanes && i < b->n_lanes; i++)
		fmt_svg_lane_done(&b->lanes[i]);
	free(b->lanes);
	fmt_busy_ops_done(&b->all);
	fmt_busy_ops_done(&b->without_waiting);
}

static int block_init(struct block *b)
{
	b->n_lanes = fmt_n_lanes(b->p->names, b->rank);
	b->lanes = calloc(b->n_lanes + 1u, sizeof(*b->lanes));
	if (!b->lanes)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->n_lanes; i++) {
		if (b->p->ranks[b->rank].seen[i] &&
		    fmt_svg_lane_init(&b->lanes[i], &b->p->scale) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int64_t waiting_of(const struct picture *p, const struct fmt_slice *slice,
			  const struct fmt_site *site, const struct fmt_event *e)
{
	const struct fmt_instance *i;
	int64_t comm, seq;

	if (!fmt_collective_ids(slice, site, e, &comm, &seq))
		return 0;
	i = fmt_instances_find(&p->instances, comm, seq);
	return i && i->n > 1 && i->shortest_ns >= 0 ? e->duration_ns - i->shortest_ns : 0;
}

static int draw_slice(struct block *b, const struct fmt_slice *slice)
{
	struct picture *p = b->p;

	for (size_t i = 0; i < slice->n_events; i++) {
		const struct fmt_event *e = &slice->events[i];
		const struct fmt_site *site = fmt_site(p->names, e->site);
		struct fmt_svg_box box = {e->start_ns, e->duration_ns, 0, e->site, 0};
		bool collective = site && site->kind == FMT_COLLECTIVE;

		if (!is_drawn(p, slice, e) || !b->lanes[e->lane].columns)
			continue;
		if (!p->inks[e->site])
			p->inks[e->site] = (uint8_t)(ink_of(p->names, site) + 1);
		box.ink = (uint8_t)(p->inks[e->site] - 1);
		box.waiting_ns = collective ? waiting_of(p, slice, site, e) : 0;
		if (fmt_svg_lane_add(&b->lanes[e->lane], &p->scale, &box) < 0)
			return -ENOMEM;
		if (FMT_IS_OP(site->kind) &&
		    (fmt_busy_add(&b->all, e->start_ns, end_of(e), collective) < 0 ||
		     fmt_busy_add(&b->without_waiting,
				  end_of(e) - (e->duration_ns - box.waiting_ns), end_of(e),
				  collective) < 0))
			return -ENOMEM;
	}
	return 0;
}

/* Adds an iteration to the share; the time that only waiting fills is what disappears of the
 * communication when the waiting is taken out. */
static int end_iteration(struct block *b)
{
	struct fmt_busy all, rest;

	if (fmt_busy_divide(&b->all, &all) < 0 || fmt_busy_divide(&b->without_waiting, &rest) < 0)
		return -ENOMEM;
	b->share.compute_ns += all.compute_ns;
	b->share.hidden_ns += all.hidden_ns;
	b->share.idle_ns += all.idle_ns;
	b->share.transfer_ns += rest.exposed_ns;
	b->share.waiting_ns += all.exposed_ns - rest.exposed_ns;
	b->all.n = b->without_waiting.n = 0;
	return 0;
}

static int read_block(struct block *b, struct fmt_error *err)
{
	struct fmt_part part = {b->p->part.iteration, b->rank};
	struct fmt_walk w = fmt_walk(b->p->trace, &part);
	int64_t last = FMT_ANY;

	while (fmt_walk_next(&w)) {
		scoped(fmt_slice_freep) struct fmt_slice *slice = NULL;
		int r = 0;

		if (w.info->iteration.number != last)
			r = end_iteration(b);
		last = w.info->iteration.number;
		if (r == 0)
			r = fmt_slice_load(b->p->trace, w.rank, w.slice,
					   FMT_WANT_CALLS | FMT_WANT_OPS, &slice, err);
		if (r == -EBADMSG)
			continue;
		if (r == 0)
			r = draw_slice(b, slice);
		if (r < 0)
			return r;
	}
	return end_iteration(b);
}

/* The last digits of a long number say enough, and leave room. */
static void put_number(int64_t v, struct text *out)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRId64, v);

	if (n > 7)
		text_printf(out, "…%s", digits + n - 6);
	else
		text_str(out, digits);
}

static void put_lane_name(const struct block *b, uint32_t lane, uint32_t n_folded, double top,
			  double height)
{
	const struct fmt_lane *l = fmt_lane(b->p->names, b->rank, lane);
	struct text *out = b->p->out;

	if (height < 9)
		return;
	text_str(out, "<text class=\"l\" x=\"144\" y=\"");
	fmt_svg_px(out, top + height / 2 + 3);
	text_str(out, l->kind == FMT_THREAD ? "\">thread " : "\">stream ");
	if (l->text_ids & 2) {
		size_t len;
		const char *name = fmt_string(b->p->names, l->tid_text, &len);

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

/* The lanes of a kind that get a row, the first of `order`, in their own order; where there are too
 * many these are the busiest, and the others follow. */
static void choose_lanes(const struct block *b, uint8_t kind, uint32_t most, uint32_t *order,
			 uint32_t *n)
{
	*n = 0;
	for (uint32_t i = 0; i < b->n_lanes; i++) {
		if (b->lanes[i].columns && fmt_lane(b->p->names, b->rank, i)->kind == kind)
			order[(*n)++] = i;
	}
	for (uint32_t i = 0; *n > most && i < most; i++) {
		for (uint32_t k = i + 1; k < *n; k++) {
			if (b->lanes[order[k]].busy_ns > b->lanes[order[i]].busy_ns) {
				uint32_t swap = order[i];

				order[i] = order[k];
				order[k] = swap;
			}
		}
	}
	qsort(order, rows_of(*n, most), sizeof(*order), by_number);
}

/* Lanes that get no row of their own are drawn in the last. */
static int put_lanes(struct block *b, uint8_t kind, uint32_t most, double height, double *top)
{
	scoped(free_ptr) uint32_t *order = calloc(b->n_lanes + 1u, sizeof(*order));
	uint32_t n;

	if (!order)
		return -ENOMEM;
	choose_lanes(b, kind, most, order, &n);
	for (uint32_t i = most; most > 0 && i < n; i++) {
		if (fmt_svg_lane_fold(&b->lanes[order[most - 1]], &b->lanes[order[i]]) < 0)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < rows_of(n, most); i++, *top += height) {
		put_lane_name(b, order[i], i + 1 == most ? n - most : 0, *top, height);
		fmt_svg_lane_print(&b->lanes[order[i]], &b->p->scale, b->p->names, *top,
				   height > 4 ? height - 1 : height - 0.5, b->p->out);
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
		text_printf(p->out, "<text class=\"%s\" x=\"16\" y=\"",
			    text_height >= 13 ? "g" : "l\" style=\"text-anchor:start");
		fmt_svg_px(p->out, *top + (bar >= 40 ? 12 : bar / 2 + 4));
		text_printf(p->out, "\">GPU %" PRIu32 "</text>\n",
			    fmt_trace_rank(p->trace, rank)->number);
	}
	r = put_lanes(&b, FMT_THREAD, p->rows->threads, p->rows->thread, top);
	if (r == 0)
		r = put_lanes(&b, FMT_STREAM, p->rows->streams, p->rows->stream, top);
	fmt_svg_share(&b.share, bar > 24 ? from + bar / 2 - 12 : from, bar > 24 ? 24 : bar, p->out);
	*top = bottom;
	return r;
}

static int prepare(struct picture *p)
{
	uint32_t n = fmt_trace_n_ranks(p->trace), n_sites = fmt_n_sites(p->names);

	p->ranks = calloc(n + 1u, sizeof(*p->ranks));
	p->inks = calloc(n_sites + 1u, 1);
	if (!p->ranks || !p->inks)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		p->ranks[i].seen = calloc(fmt_n_lanes(p->names, i) + 1u, 1);
		if (!p->ranks[i].seen)
			return -ENOMEM;
	}
	return 0;
}

int fmt_svg(struct fmt_trace *t, const struct fmt_part *part, bool across, struct text *out,
	    struct fmt_error *err)
{
	scoped(picture_done) struct picture p = {
		.trace = t, .names = fmt_trace_names(t), .part = *part, .out = out};
	double top = FMT_SVG_TOP;
	int r = prepare(&p);

	if (r == 0)
		r = look(&p, across, err);
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
