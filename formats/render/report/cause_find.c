/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/cause_find.h"

#include "base/scope.h"
#include "formats/render/grid.h"
#include "formats/render/report/cause_candidates.h"
#include "formats/render/report/cause_side.h"
#include "formats/trace/store/part.h"

#include <inttypes.h>

static bool is_tainted(const struct fmt_cause_candidates *f, const struct fmt_cause_candidate *c)
{
	for (size_t i = 0; c->comm >= 0 && i < f->n_tainted; i++)
		if (f->tainted[i].comm == c->comm && f->tainted[i].seq == c->seq)
			return true;
	return false;
}

/* Returns true if the candidate is not a consequence of another one, or of a nondeterministic
 * operation. */
static bool is_difference(const struct fmt_cause_candidates *f, const struct fmt_cause_candidate *c)
{
	switch (c->about.kind) {
	case FMT_CAUSE_WRITTEN:
		return !f->scope.learned && !is_tainted(f, c);
	case FMT_CAUSE_READ:
		return c->about.start_ns < f->unordered_ns;
	default:
		return true;
	}
}

/* Adds the nondeterministic operations. */
static int add_unordered(struct fmt_cause_candidates *f)
{
	int r = 0;

	for (size_t i = 0; i < f->n && r == 0; i++) {
		const struct fmt_cause_candidate *c = &f->items[i];
		const struct fmt_unordered_op op = {c->rank, c->about.number, c->template};

		if (c->about.kind != FMT_CAUSE_WRITTEN || is_tainted(f, c))
			continue;
		r = fmt_unordered_add(f->scope.learned, &op);
		if (c->about.start_ns < f->unordered_ns)
			f->unordered_ns = c->about.start_ns;
	}
	return r;
}

enum strength { OVERWRITES, CALL, READ, OPERATION };

static enum strength strength_of(const struct fmt_cause_candidate *c)
{
	if (strncmp(c->about.track, "thread", 6) == 0)
		return CALL;
	if (c->about.kind != FMT_CAUSE_READ)
		return OPERATION;
	return c->overwrites ? OVERWRITES : READ;
}

/* Returns the candidate of that strength that starts first, at or after a time, or NULL. */
static struct fmt_cause_candidate *first_of(struct fmt_cause_candidates *f, enum strength strength,
					    int64_t from_ns)
{
	struct fmt_cause_candidate *first = NULL;

	for (size_t i = 0; i < f->n; i++) {
		struct fmt_cause_candidate *c = &f->items[i];

		if (strength_of(c) != strength || c->about.start_ns < from_ns ||
		    !is_difference(f, c))
			continue;
		if (!first || c->about.start_ns < first->about.start_ns)
			first = c;
	}
	return first;
}

/* Finds the first operation before `before_ns` that read other bytes, which a copy wrote; NULL. */
static int find_copied(struct fmt_cause_candidates *f, struct fmt_trace *t, enum strength strength,
		       int64_t before_ns, struct fmt_cause_candidate **ret, struct fmt_error *err)
{
	struct fmt_cause_candidate *c = first_of(f, strength, INT64_MIN);
	int r = 0;

	*ret = NULL;
	for (; r == 0 && c && c->about.start_ns < before_ns;
	     c = first_of(f, strength, c->about.start_ns + 1)) {
		r = fmt_cause_writer_find(t, (uint32_t)fmt_rank_index(t, c->about.rank),
					  &c->about.buffer, c->about.page, c->about.start_ns,
					  &c->about.writer, err);
		if (c->about.writer.rank < 0)
			continue;
		*ret = c;
		break;
	}
	return r;
}

static int choose_cause(struct fmt_cause_candidates *f, struct fmt_trace *t, struct fmt_error *err)
{
	struct fmt_cause_candidate *first = first_of(f, OPERATION, INT64_MIN), *brought = NULL;
	struct fmt_cause_rank *ranks = f->ret->ranks;
	uint32_t n = f->ret->n_ranks;
	int r = 0;

	if (!first || first->from_host)
		r = find_copied(f, t, READ, first ? first->about.start_ns : INT64_MAX, &brought,
				err);
	if (r == 0 && !first && !brought)
		r = find_copied(f, t, OVERWRITES, INT64_MAX, &brought, err);
	first = brought ?: first ?: first_of(f, READ, INT64_MIN) ?: first_of(f, CALL, INT64_MIN);
	if (r < 0 || !first)
		return r;
	*f->ret = first->about;
	memset(&first->about, 0, sizeof(first->about));
	f->ret->ranks = ranks;
	f->ret->n_ranks = n;
	return 0;
}

/* Returns 1 if the rank has operations in the scope. */
static int has_operations(struct fmt_trace *t, uint32_t rank, const struct fmt_cause_scope *scope,
			  struct fmt_error *err)
{
	scoped(fmt_cause_side_done) struct fmt_cause_side s = {0};
	int r = fmt_cause_side_read(t, rank, scope, &s, err);

	for (uint32_t i = 0; i < s.n_tracks && r == 0; i++)
		r = s.tracks[i].n > 0 && fmt_track(s.names, rank, i)->kind == FMT_STREAM;
	return r;
}

/* Lists the ranks of `a` that `b` repeats: without those that have no operations in a part, if `b`
 * has fewer ranks. Returns their number, or a negative errno. */
static int64_t list_ranks(struct fmt_trace *a, const struct fmt_trace *b,
			  const struct fmt_cause_scope *scope, uint32_t *ret, struct fmt_error *err)
{
	bool is_fewer = scope->is_part && fmt_trace_n_ranks(b) < fmt_trace_n_ranks(a);
	int64_t n = 0;

	for (uint32_t i = 0; i < fmt_trace_n_ranks(a); i++) {
		int r = scope->rank >= 0 ? scope->rank == i : 1;

		if (r > 0 && scope->rank < 0 && is_fewer)
			r = has_operations(a, i, scope, err);
		if (r < 0)
			return r;
		if (r > 0)
			ret[n++] = i;
	}
	return n;
}

/* Returns true if these ranks of `a` are those of `b`; else describes the difference in *ret. */
static bool same_ranks(const struct fmt_trace *a, const uint32_t *ranks, uint32_t n,
		       const struct fmt_trace *b, struct fmt_cause *ret)
{
	uint32_t m = fmt_trace_n_ranks(b);

	if (n != m) {
		text_str(&ret->first, fmt_plural(n, "rank", "ranks").s);
		text_str(&ret->second, fmt_plural(m, "rank", "ranks").s);
	}
	for (uint32_t i = 0; n == m && i < n && ret->first.len == 0; i++) {
		uint32_t number = fmt_trace_rank(a, ranks[i])->number;

		if (number == fmt_trace_rank(b, i)->number || n < fmt_trace_n_ranks(a))
			continue;
		text_printf(&ret->first, "rank %" PRIu32, number);
		text_printf(&ret->second, "rank %" PRIu32, fmt_trace_rank(b, i)->number);
	}
	if (ret->first.len == 0)
		return true;
	ret->kind = FMT_CAUSE_SEQUENCE;
	ret->rank = -1;
	return false;
}

int fmt_cause_find(struct fmt_trace *a, struct fmt_trace *b, const struct fmt_cause_scope *scope,
		   struct fmt_cause *ret, struct fmt_error *err)
{
	scoped(fmt_cause_candidates_done) struct fmt_cause_candidates f = {
		.ret = ret, .scope = *scope, .unordered_ns = INT64_MAX};
	uint32_t n = fmt_trace_n_ranks(a);
	scoped(free_ptr) uint32_t *ranks = calloc(n + 1u, sizeof(*ranks));
	int64_t n_ranks = ranks ? list_ranks(a, b, scope, ranks, err) : -ENOMEM;
	int r = 0;

	if (n_ranks < 0)
		return (int)n_ranks;
	if (!same_ranks(a, ranks, (uint32_t)n_ranks, b, ret))
		return 0;
	ret->ranks = calloc(n + 1u, sizeof(*ret->ranks));
	ret->n_ranks = n;
	if (!ret->ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		ret->ranks[i].number = fmt_trace_rank(a, i)->number;
	for (uint32_t i = 0; i < n_ranks && r == 0; i++)
		r = fmt_cause_candidates_add(&f, a, b, ranks[i], i, err);
	if (r == 0 && scope->learned)
		r = add_unordered(&f);
	return r < 0 ? r : choose_cause(&f, a, err);
}
