/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "replay/cost/cost.h"

/* Time of bytes of which a part (0 to 1) is read and the rest written, by all multiprocessors. */
double cost_stream_ns(const struct cost_gpu *gpu, double bytes, double read_part);

/* The latency of a load of which a part (0 to 1) hits the L2 cache. */
double cost_load_ns(const struct cost_gpu *gpu, double hits);
