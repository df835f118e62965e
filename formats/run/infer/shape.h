/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels by shape: name, grid and block. The shape determines when a kernel frees capacity for
 * other kernels: once all of its blocks are scheduled. A kernel of w waves of blocks does so after
 * (w - 1) / w of its duration. */
#pragma once

#include "formats/run/infer/view.h"

struct infer_shapes;

/* Finds the shapes of all kernels in `views` and sets op->shape. *ret does not refer to the views.
 */
int infer_shapes_new(struct infer_view *views, uint32_t n_views, struct infer_shapes **ret);

/* Reads the durations of all kernels by shape; once, after infer_calibrate(). Adds edges of rule
 * "late-end" to kernels whose duration is known from others of their shape only. */
int infer_shapes_measure(struct infer_shapes *s, struct infer_view *views, uint32_t n_views);
void infer_shapes_free(struct infer_shapes *s);
uint32_t infer_n_shapes(const struct infer_shapes *s);

/* Estimates the duration of `op` without concurrent kernels: the median duration of its shape, if
 * `op` took unusually long, else its own duration. */
int64_t infer_uncontended_ns(struct infer_shapes *s, const struct infer_op *op);

/* Returns the time from the start of `op` until it frees capacity. *wave_ns is the duration of one
 * wave of its blocks, 0 if all blocks run at once. */
int64_t infer_release_ns(struct infer_shapes *s, const struct infer_op *op, int64_t *wave_ns);
