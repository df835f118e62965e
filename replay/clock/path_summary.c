/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/clock/path.h"

#include "base/array.h"
#include "base/scope.h"

const char *const path_kind_names[PATH_KINDS] = {
	[PATH_GPU] = "gpu",
	[PATH_COPY] = "copy",
	[PATH_NETWORK] = "network",
	[PATH_HOST] = "host",
	[PATH_LAUNCH] = "launch",
	[PATH_BLOCKING] = "blocking calls",
	[PATH_LATENCY] = "launch latency",
	[PATH_GAP] = "gaps",
	[PATH_START] = "start of the recording",
};

void path_summary_done(struct path_summary *s)
{
	for (size_t i = 0; i < s->n_rows; i++)
		free(s->rows[i].ns);
	free(s->total_ns);
	free(s->kinds_ns);
	free(s->ranks_ns);
	free(s->rows);
	*s = (struct path_summary){0};
}

int path_summary_init(struct path_summary *s, uint32_t n_runs, uint32_t n_ranks)
{
	*s = (struct path_summary){.n_runs = n_runs, .n_ranks = n_ranks};
	s->total_ns = calloc(n_runs, sizeof(*s->total_ns));
	s->kinds_ns = calloc((size_t)n_runs * PATH_KINDS, sizeof(*s->kinds_ns));
	s->ranks_ns = calloc((size_t)n_runs * n_ranks + 1, sizeof(*s->ranks_ns));
	return s->total_ns && s->kinds_ns && s->ranks_ns ? 0 : -ENOMEM;
}

struct path_row *path_summary_row(struct path_summary *s, enum path_kind kind, int is_kernel,
				  fmt_str name)
{
	struct path_row *row;

	for (size_t i = s->n_rows; i > 0; i--)
		if (s->rows[i - 1].kind == kind && s->rows[i - 1].is_kernel == is_kernel &&
		    s->rows[i - 1].name == name)
			return &s->rows[i - 1];
	if (array_reserve(&s->rows, s->n_rows + 1, &s->rows_cap) < 0)
		return NULL;
	row = &s->rows[s->n_rows];
	*row = (struct path_row){kind, is_kernel, name, calloc(s->n_runs, sizeof(*row->ns))};
	s->n_rows += row->ns != NULL;
	return row->ns ? row : NULL;
}

/* Copies run `from_run` of a summary. */
static int copy_run(struct path_summary *s, uint32_t run, const struct path_summary *from,
		    uint32_t from_run)
{
	s->total_ns[run] = from->total_ns[from_run];
	memcpy(&s->kinds_ns[run * PATH_KINDS], &from->kinds_ns[from_run * PATH_KINDS],
	       PATH_KINDS * sizeof(*s->kinds_ns));
	if (s->n_ranks == from->n_ranks)
		memcpy(&s->ranks_ns[(size_t)run * s->n_ranks],
		       &from->ranks_ns[(size_t)from_run * s->n_ranks],
		       s->n_ranks * sizeof(*s->ranks_ns));
	for (size_t i = 0; i < from->n_rows; i++) {
		const struct path_row *row = &from->rows[i];
		struct path_row *to = path_summary_row(s, row->kind, row->is_kernel, row->name);

		if (!to)
			return -ENOMEM;
		to->ns[run] = row->ns[from_run];
	}
	return 0;
}

int path_summary_begin(struct path_summary *s, uint32_t n_runs, const struct path_summary *like)
{
	if (like->n_runs == 0)
		return 0;
	if (path_summary_init(s, n_runs, like->n_ranks) < 0)
		return -ENOMEM;
	s->n_iterations = like->n_iterations;
	return copy_run(s, 0, like, 0);
}

int path_summary_merge(struct path_summary *s, const struct path_summary *from, const uint32_t *of)
{
	for (uint32_t k = 0; k + 1 < from->n_runs && s->n_runs > 0; k++)
		if (copy_run(s, of[k] + 1, from, k + 1) < 0)
			return -ENOMEM;
	return 0;
}

static int64_t largest(const struct path_row *row, uint32_t n)
{
	int64_t ret = 0;

	for (uint32_t i = 0; i < n; i++)
		ret = row->ns[i] > ret ? row->ns[i] : ret;
	return ret;
}

static int by_time(const void *x, const void *y, void *context)
{
	const struct path_row *a = x, *b = y;
	const uint32_t *n = context;
	int order = array_order(largest(b, *n), largest(a, *n));

	return order ?: array_order(a->kind, b->kind) ?: array_order(a->name, b->name);
}

void path_summary_sort(struct path_summary *s)
{
	if (s->n_rows > 0)
		qsort_r(s->rows, s->n_rows, sizeof(*s->rows), by_time, &s->n_runs);
}

/* Returns the kind of an operation's duration. */
static enum path_kind work_kind(uint8_t kind)
{
	return kind == FMT_COLLECTIVE ? PATH_NETWORK : kind == FMT_MEMCPY ? PATH_COPY : PATH_GPU;
}

enum path_kind path_kind_before(uint8_t kind, int end, int inside, const struct sim_wait *w,
				uint8_t from)
{
	if (FMT_IS_OP(kind) && end)
		return work_kind(kind);
	if (FMT_IS_OP(kind))
		return !w		   ? PATH_GAP
		       : w->kind == SIM_AT ? PATH_START
		       : !FMT_IS_OP(from)  ? PATH_LATENCY
		       : w->scale	   ? PATH_GPU
					   : PATH_GAP;
	if (end)
		return w ? PATH_BLOCKING : PATH_LAUNCH;
	return inside ? PATH_LAUNCH : w && w->kind == SIM_AT ? PATH_START : PATH_HOST;
}
