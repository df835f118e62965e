/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "replay/cost/cost.h"

/* Returns a cost with the share of the memory's bandwidth that `bytes` in `ns` take. */
struct cost cost_of_bytes(const struct cost_gpu *gpu, enum cost_class class,
			  enum cost_source source, double ns, double bytes);

/* Returns the time in which all multiprocessors transfer `bytes`, of which read_part (0 to 1) is
 * read and the rest is written. */
double cost_stream_ns(const struct cost_gpu *gpu, double bytes, double read_part);

/* The latency of a load of which a part (0 to 1) hits the L2 cache. */
double cost_load_ns(const struct cost_gpu *gpu, double hits);
