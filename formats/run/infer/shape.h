/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels by shape: name, grid and block. From a shape follows when a kernel leaves room on the
 * device for others: once all of its blocks have been handed out. A kernel of w waves of blocks
 * does so after (w - 1) / w of its time.
 */
#pragma once

#include "formats/run/infer/view.h"

struct infer_shapes;

/* Finds the shapes of all kernels in `views` and sets op->shape. The shapes know the durations of
 * all kernels in them, and stand apart from the views. */
int infer_shapes_new(struct infer_view *views, uint32_t n_views, struct infer_shapes **ret);
void infer_shapes_free(struct infer_shapes *s);
uint32_t infer_n_shapes(const struct infer_shapes *s);

/* How long after its start `op` should leave room, and in *wave_ns how long one wave of its blocks
 * takes; 0 when all of them run at once. */
int64_t infer_room(struct infer_shapes *s, const struct infer_op *op, int64_t *wave_ns);
