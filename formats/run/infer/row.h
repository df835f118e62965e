/* SPDX-License-Identifier: Apache-2.0 */

/* Which streams of which ranks make up a communicator.
 *
 * A *row* is what one rank does for one process group on one stream. Where the recorder names the
 * process group, rows of the same name belong together. Where it does not, those do whose
 * collectives have the same name and end at the same time, again and again: no rank can end a
 * collective that another has not begun.
 */
#pragma once

#include "formats/run/infer/view.h"

struct infer_row {
	uint32_t view, stream;
	fmt_str group;	   /* name of the process group, or 0 */
	fmt_str ranks;	   /* the recorder's text of its ranks, or 0 */
	uint32_t first, n; /* its operations are rows->ops[first .. + n) */
	uint32_t comm;	   /* index of rows->comms */
};

struct infer_comm {
	uint32_t first, n; /* its rows are rows->members[first .. + n) */
	uint8_t pairs;	   /* not all rows take part each time: sends and receives */
};

struct infer_rows {
	struct infer_row *rows;
	uint32_t *ops; /* index of the view's operations, by row, then start */
	struct infer_comm *comms;
	uint32_t *members;
	uint32_t n_rows, n_comms;
	size_t rows_cap, ops_cap, n_ops, comms_cap;
};

/* The rows, not yet in communicators. 0 or -ENOMEM; infer_rows_done() in any case. */
int infer_rows_init(struct infer_rows *r, const struct infer_view *views, uint32_t n_views);
void infer_rows_done(struct infer_rows *r);

/* Puts each row into a communicator. `offset_ns[view]` is what to take from a time of that view to
 * compare it with others. 0 or -ENOMEM. */
int infer_comms_find(struct infer_rows *r, const struct infer_view *views, uint32_t n_views,
		     const int64_t *offset_ns);

/* The name of the kernel. */
fmt_str infer_kernel_name(const struct infer_view *v, const struct infer_op *op);
