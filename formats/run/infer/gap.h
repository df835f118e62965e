/* SPDX-License-Identifier: Apache-2.0 */

/* Measures the gaps between consecutive operations of a stream. Uses operations that were launched
 * long before they could start, so that only stream order delayed them. Once edges are known,
 * excludes operations that waited for another stream. Functions return 0 or -ENOMEM. */
#pragma once

#include "formats/run/infer/shape.h"
#include "formats/run/infer/view.h"

/* Sets constants.gap_ns: the mean gap by the classes of both operations. */
int infer_gaps_by_class(struct infer_view *v);

/* Measures residual gaps after kernels of one shape, over all ranks: a recorder that truncates
 * times to microseconds cuts the same amount from a kernel each time. The views refer to `ret`,
 * which the caller owns. */
int infer_gaps_by_template(struct infer_view *views, uint32_t n_views, uint32_t n_shapes,
			   struct fmt_template_gaps *ret);
