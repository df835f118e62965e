/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels by shape: name, grid and block. From a shape follows when a kernel leaves room on the
 * device for others: once all of its blocks have been handed out. A kernel of w waves of blocks
 * does so after (w - 1) / w of its time.
 */
#pragma once

#include "formats/infer/view.h"

struct infer_shapes;

/* Finds the shapes of all kernels in `views` and sets op->shape. The shapes know the durations of
 * all kernels in them, and stand apart from the views. */
int infer_shapes_new(struct infer_view *views, uint32_t n_views, struct infer_shapes **ret);
void infer_shapes_free(struct infer_shapes *s);

/* How long after its start `op` leaves room. `collective`: for a collective, which needs more room
 * than most kernels. -ENOMEM or 0. */
int infer_room(struct infer_shapes *s, const struct infer_op *op, int collective, int64_t *ret_ns);

/* Where a run shows often enough when kernels of a shape leave room, the median share of their
 * duration takes the place of the computed one. Observe first, then settle, once. */
int infer_room_observe(struct infer_shapes *s, const struct infer_op *op, int collective,
		       int64_t after_ns);
void infer_room_settle(struct infer_shapes *s);
