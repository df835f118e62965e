/* SPDX-License-Identifier: Apache-2.0 */

/* Measures the latencies of the machine: fills struct fmt_constants of a view. */
#pragma once

#include "formats/run/infer/view.h"

/* Sets launch_ns, gap_ns and anchor_ns, before any rule runs. Returns 0 or -ENOMEM. */
int infer_calibrate(struct infer_view *v);

/* Sets copy_ns and event_ns from the edges found so far, and the lags that depend on them. */
int infer_calibrate_edges(struct infer_view *v);
