/* SPDX-License-Identifier: Apache-2.0 */

/* The gaps that stream order leaves between operations, measured where the second had been launched
 * long before its turn, so that nothing else held it: at first as far as streams say, and once the
 * edges are known, as far as those say. Functions return 0 or -ENOMEM.
 */
#pragma once

#include "formats/run/infer/shape.h"
#include "formats/run/infer/view.h"

/* constants.gap_ns: the mean by the class of both operations. */
int infer_gaps_by_class(struct infer_view *v);

/* Residual gaps behind kernels of one shape, over all ranks: a recorder that rounds times down to
 * whole microseconds cuts the same amount from a kernel each time. The views refer to `ret`, which
 * the caller owns. */
int infer_gaps_by_template(struct infer_view *views, uint32_t n_views, uint32_t n_shapes,
			   struct fmt_template_gaps *ret);
