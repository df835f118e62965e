/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/row.h"

#include "base/array.h"
#include "base/scope.h"

fmt_str infer_kernel_name(const struct infer_view *v, const struct infer_op *op)
{
	return fmt_template(v->names, v->rank->events[op->event].template)->name;
}

static fmt_str text_of(const struct infer_view *v, uint32_t event, const char *key)
{
	int64_t s;

	return infer_argument(v, event, key, &s) && s > 0 && s <= UINT32_MAX ? (fmt_str)s : 0;
}

/* The row of `op` among those of the view, which begin at `first`. */
static int find_row(struct infer_rows *r, const struct infer_view *v, uint32_t first,
		    const struct infer_op *op, uint32_t *ret)
{
	struct infer_row row = {.view = v->index,
				.stream = op->stream,
				.group = text_of(v, op->event, FMT_KEY_GROUP),
				.ranks = text_of(v, op->event, "Process Group Ranks")};

	for (uint32_t i = r->n_rows; i > first; i--) {
		const struct infer_row *at = &r->rows[i - 1];

		if (at->stream == row.stream && at->group == row.group && at->ranks == row.ranks) {
			*ret = i - 1;
			return 0;
		}
	}
	if (array_reserve(&r->rows, r->n_rows + (size_t)1, &r->rows_cap) < 0)
		return -ENOMEM;
	*ret = r->n_rows;
	r->rows[r->n_rows++] = row;
	return 0;
}

static int read_view(struct infer_rows *r, const struct infer_view *v)
{
	scoped(free_ptr) uint32_t *row = malloc((v->n_ops + (size_t)1) * sizeof(*row));
	uint32_t first = r->n_rows;

	if (!row)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->n_ops; i++) {
		row[i] = INFER_NONE;
		if (v->ops[i].kind != FMT_COLLECTIVE)
			continue;
		if (find_row(r, v, first, &v->ops[i], &row[i]) < 0)
			return -ENOMEM;
		r->rows[row[i]].n++;
	}
	for (uint32_t i = first; i < r->n_rows; i++) {
		r->rows[i].first = (uint32_t)r->n_ops;
		r->n_ops += r->rows[i].n;
		r->rows[i].n = 0;
	}
	if (array_reserve(&r->ops, r->n_ops + 1, &r->ops_cap) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->n_ops; i++)
		if (row[i] != INFER_NONE)
			r->ops[r->rows[row[i]].first + r->rows[row[i]].n++] = i;
	return 0;
}

int infer_rows_init(struct infer_rows *r, const struct infer_view *views, uint32_t n_views)
{
	int e = 0;

	*r = (struct infer_rows){0};
	for (uint32_t i = 0; i < n_views && e == 0; i++)
		e = read_view(r, &views[i]);
	return e;
}

void infer_rows_done(struct infer_rows *r)
{
	free(r->rows);
	free(r->ops);
	free(r->comms);
	free(r->members);
	*r = (struct infer_rows){0};
}
