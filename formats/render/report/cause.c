/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/cause.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/render/grid.h"
#include "formats/render/report/cause_side.h"

#include <inttypes.h>

/* The result of comparing two operations at the same position of a stream. */
enum { SAME, OTHER_READ, OTHER_WRITTEN };

/* A collective in which some rank's input differs. Its outputs differ as a consequence, on any
 * rank. */
struct tainted {
	int64_t comm, seq;
};

/* A candidate for the cause. */
struct candidate {
	enum fmt_cause_kind kind;
	uint32_t rank;			  /* index */
	const struct fmt_cause_op *x, *y; /* NULL: did nothing */
	uint64_t event;
	int64_t comm, seq; /* of a collective; else -1 */
	int64_t start_ns;
	struct fmt_cause about; /* what is said of it */
};

struct finding {
	struct fmt_cause *ret;
	struct candidate *items; /* by rank and stream */
	size_t n, cap;
	struct tainted *tainted;
	size_t n_tainted, tainted_cap;
};

void fmt_cause_done(struct fmt_cause *c)
{
	text_done(&c->first);
	text_done(&c->second);
	text_done(&c->buffer);
	free(take(c->ranks));
}

static void finding_done(struct finding *f)
{
	for (size_t i = 0; i < f->n; i++)
		fmt_cause_done(&f->items[i].about);
	free(f->items);
	free(f->tainted);
}

bool fmt_cause_has_digests(const struct fmt_trace *t)
{
	for (uint32_t i = 0; i < fmt_trace_n_ranks(t); i++)
		if (fmt_trace_rank(t, i)->n_digests > 0)
			return true;
	return false;
}

/* ---- two operations */

/* The first page whose sums differ, of as many as both have. */
static uint32_t first_page(const struct fmt_cause_digest *x, const struct fmt_cause_digest *y)
{
	uint32_t n = x->of->n_pages < y->of->n_pages ? x->of->n_pages : y->of->n_pages;
	const uint64_t *p = x->pages, *q = y->pages;

	for (uint32_t i = 0; i < n; i++)
		if (p[2 * i] != q[2 * i] || p[2 * i + 1] != q[2 * i + 1])
			return i;
	return 0;
}

static void describe_buffer(const struct fmt_cause_digest *x, const struct fmt_cause_digest *y,
			    struct text *out)
{
	const struct fmt_digest *d = x->of;

	out->len = 0;
	text_printf(out, "%s %" PRIu64 " bytes at %" PRIu64 " of allocation %" PRIu64,
		    d->access == FMT_WRITTEN ? "wrote" : "read", d->length_bytes, d->offset_bytes,
		    d->allocation);
	text_printf(out, ", page %" PRIu32 " of %" PRIu32 " differs first", first_page(x, y),
		    d->n_pages);
}

/* The digest of `y` that is of the same buffer, read or written alike; NULL. */
static const struct fmt_cause_digest *match(const struct fmt_cause_digest *d,
					    const struct fmt_cause_op *y)
{
	for (size_t i = 0; i < y->n_digests; i++) {
		const struct fmt_digest *e = y->digests[i].of;

		if (e->access == d->of->access && e->allocation == d->of->allocation &&
		    e->offset_bytes == d->of->offset_bytes &&
		    e->length_bytes == d->of->length_bytes)
			return &y->digests[i];
	}
	return NULL;
}

/* Compares what two operations read and wrote, and describes the first buffer that counts. */
static int compare_bytes(const struct fmt_cause_op *x, const struct fmt_cause_op *y,
			 struct fmt_cause_rank *counts, struct text *buffer)
{
	int found = SAME;

	for (size_t i = 0; i < y->n_digests; i++)
		counts->alone += !match(&y->digests[i], x);
	for (size_t i = 0; i < x->n_digests; i++) {
		const struct fmt_cause_digest *d = &x->digests[i], *e = match(d, y);

		if (!e) {
			counts->alone++;
			continue;
		}
		counts->digests++;
		if (d->of->digest[0] == e->of->digest[0] && d->of->digest[1] == e->of->digest[1])
			continue;
		if (d->of->access != FMT_WRITTEN) { /* also live memory */
			if (found != OTHER_READ)
				describe_buffer(d, e, buffer);
			found = OTHER_READ;
		} else if (found == SAME) {
			describe_buffer(d, e, buffer);
			found = OTHER_WRITTEN;
		}
	}
	return found;
}

/* ---- streams */

static int add_candidate(struct finding *f, const struct fmt_cause_side *a,
			 const struct fmt_cause_side *b, const struct candidate *of)
{
	struct candidate *c;
	const struct fmt_cause_op *x = of->x ? of->x : of->y;
	const struct fmt_cause_side *s = of->x ? a : b;

	if (array_reserve(&f->items, f->n + 1, &f->cap) < 0)
		return -ENOMEM;
	c = &f->items[f->n++];
	*c = *of;
	c->start_ns = x->start_ns;
	c->about.kind = of->kind;
	c->about.rank = a->number;
	c->about.iteration = x->iteration;
	c->about.start_ns = x->start_ns;
	c->about.event = of->event;
	fmt_cause_side_track(s, x, c->about.track, sizeof(c->about.track));
	fmt_cause_side_describe(a, of->x, &c->about.first);
	fmt_cause_side_describe(b, of->y, &c->about.second);
	c->x = c->y = NULL;
	return 0;
}

static int taint(struct finding *f, const struct fmt_cause_op *x)
{
	if (x->comm < 0)
		return 0;
	if (array_reserve(&f->tainted, f->n_tainted + 1, &f->tainted_cap) < 0)
		return -ENOMEM;
	f->tainted[f->n_tainted++] = (struct tainted){x->comm, x->seq};
	return 0;
}

/* One position of a stream. Of each kind, the first on the stream is kept; of collectives all,
 * since other ranks decide. */
static int compare_ops(struct finding *f, const struct fmt_cause_side *a,
		       const struct fmt_cause_side *b, const struct fmt_cause_op *x,
		       const struct fmt_cause_op *y, uint64_t event, bool seen[4])
{
	struct fmt_cause_rank *counts = &f->ret->ranks[a->rank];
	scoped(text_done) struct text buffer = {0};
	struct candidate c = {
		.rank = a->rank, .x = x, .y = y, .event = event, .comm = x->comm, .seq = x->seq};
	int found = compare_bytes(x, y, counts, &buffer), r = 0;

	counts->operations++;
	counts->differing += found != SAME;
	counts->causes += found == OTHER_WRITTEN;
	if (found == SAME)
		return 0;
	c.kind = found == OTHER_READ ? FMT_CAUSE_READ : FMT_CAUSE_WRITTEN;
	if (found == OTHER_READ)
		r = taint(f, x);
	if (r < 0 || (seen[c.kind] && (x->comm < 0 || found == OTHER_READ)))
		return r;
	seen[c.kind] |= x->comm < 0 || found == OTHER_READ;
	r = add_candidate(f, a, b, &c);
	if (r == 0) {
		f->items[f->n - 1].about.buffer = buffer;
		buffer = (struct text){0};
	}
	return r;
}

static int compare_streams(struct finding *f, const struct fmt_cause_side *a,
			   const struct fmt_cause_track *x, const struct fmt_cause_side *b,
			   const struct fmt_cause_track *y)
{
	size_t n = x && y ? (x->n < y->n ? x->n : y->n) : 0, i = 0;
	struct candidate c = {.kind = FMT_CAUSE_SEQUENCE, .rank = a->rank, .comm = -1, .seq = -1};
	bool seen[4] = {false};
	int r = 0;

	for (; i < n && r == 0 && fmt_cause_side_same(a, &x->ops[i], b, &y->ops[i]); i++)
		r = compare_ops(f, a, b, &x->ops[i], &y->ops[i], i, seen);
	if (r < 0 || (i >= (x ? x->n : 0) && i >= (y ? y->n : 0)))
		return r;
	c.x = x && i < x->n ? &x->ops[i] : NULL;
	c.y = y && i < y->n ? &y->ops[i] : NULL;
	c.event = i;
	return add_candidate(f, a, b, &c);
}

static int compare_rank(struct finding *f, struct fmt_trace *a, struct fmt_trace *b, uint32_t rank,
			struct fmt_error *err)
{
	scoped(fmt_cause_side_done) struct fmt_cause_side x = {0};
	scoped(fmt_cause_side_done) struct fmt_cause_side y = {0};
	int r = fmt_cause_side_read(a, rank, &x, err);

	f->ret->ranks[rank].number = fmt_trace_rank(a, rank)->number;
	if (r == 0)
		r = fmt_cause_side_read(b, rank, &y, err);
	if (r == 0)
		fmt_cause_side_match(&x, &y);
	for (uint32_t i = 0; i < x.n_tracks && r == 0; i++)
		r = compare_streams(f, &x, &x.tracks[i], &y,
				    x.tracks[i].match < 0 ? NULL : &y.tracks[x.tracks[i].match]);
	for (uint32_t i = 0; i < y.n_tracks && r == 0; i++)
		if (y.tracks[i].match < 0)
			r = compare_streams(f, &x, NULL, &y, &y.tracks[i]);
	return r;
}

/* ---- all ranks */

static bool is_tainted(const struct finding *f, const struct candidate *c)
{
	for (size_t i = 0; c->comm >= 0 && i < f->n_tainted; i++)
		if (f->tainted[i].comm == c->comm && f->tainted[i].seq == c->seq)
			return true;
	return false;
}

/* Which of two candidates comes first. Memory that was read counts only if nothing else differs:
 * an operation also reads what nobody wrote before. */
static bool is_before(const struct candidate *a, const struct candidate *b)
{
	bool weak = a->kind == FMT_CAUSE_READ, other = b->kind == FMT_CAUSE_READ;

	if (weak != other)
		return other;
	return a->start_ns < b->start_ns;
}

int fmt_cause_find(struct fmt_trace *a, struct fmt_trace *b, struct fmt_cause *ret,
		   struct fmt_error *err)
{
	scoped(finding_done) struct finding f = {.ret = ret};
	uint32_t n = fmt_trace_n_ranks(a);
	struct candidate *first = NULL;
	int r = 0;

	ret->kind = FMT_CAUSE_NONE;
	if (n != fmt_trace_n_ranks(b))
		return -EINVAL;
	ret->ranks = calloc(n + 1u, sizeof(*ret->ranks));
	ret->n_ranks = n;
	if (!ret->ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < n && r == 0; i++)
		r = compare_rank(&f, a, b, i, err);
	for (size_t i = 0; i < f.n && r == 0; i++)
		if (!is_tainted(&f, &f.items[i]) && (!first || is_before(&f.items[i], first)))
			first = &f.items[i];
	if (first) {
		struct fmt_cause_rank *ranks = ret->ranks;

		*ret = first->about;
		first->about = (struct fmt_cause){0};
		ret->ranks = ranks;
		ret->n_ranks = n;
	}
	return r;
}

static void put_iteration(int64_t number, struct text *out)
{
	if (number < 0)
		text_str(out,
			 number == FMT_BEFORE ? "before the iterations" : "after the iterations");
	else
		text_printf(out, "iteration %" PRId64, number);
}

void fmt_cause_text(const struct fmt_cause *c, struct text *out)
{
	text_printf(out, "GPU %" PRId64 ", ", c->rank);
	put_iteration(c->iteration, out);
	text_str(out, ", ");
	fmt_text_harmless(out, c->track, strlen(c->track), sizeof(c->track));
	text_printf(out, ", number %" PRIu64 ": ", c->event);
	text_bytes(out, c->first.data, c->first.len);
	if (c->kind == FMT_CAUSE_SEQUENCE) {
		text_str(out, " in the one, ");
		text_bytes(out, c->second.data, c->second.len);
		text_str(out, " in the other");
		return;
	}
	text_char(out, ' ');
	text_bytes(out, c->buffer.data, c->buffer.len);
	text_str(out, c->kind == FMT_CAUSE_WRITTEN ? "; all that it read is the same"
						   : "; no operation before wrote other bytes");
}

void fmt_cause_json(const struct fmt_cause *c, struct fmt_json *j)
{
	static const char *const kinds[] = {"none", "sequence", "written", "read"};

	fmt_json_open(j, "difference", '{');
	fmt_json_str(j, "kind", kinds[c->kind]);
	fmt_json_i64(j, "gpu", c->rank);
	fmt_json_i64(j, "iteration", c->iteration);
	fmt_json_str(j, "track", c->track);
	fmt_json_u64(j, "number", c->event);
	fmt_json_bytes(j, "first", c->first.data, c->first.len);
	fmt_json_bytes(j, "second", c->second.data, c->second.len);
	fmt_json_bytes(j, "buffer", c->buffer.data, c->buffer.len);
	fmt_json_close(j, '}');
}
