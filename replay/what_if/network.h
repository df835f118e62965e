/* SPDX-License-Identifier: Apache-2.0 */

/* The recorded network, divided into latency and bandwidth: by the lines of
 * formats/run/infer/network.h; by the cost model of the recorded GPU (gpu_links.h), if a line
 * agrees with it or there is no line for several sizes. Not thread-safe. */
#pragma once

#include "replay/what_if/gpu_links.h"

struct network {
	const struct fmt_names *names;
	struct fmt_network lines;
	uint32_t *first; /* by communicator: its first line; lines.n: no line */
	uint32_t n_comms, n_ranks;
	struct links links;
};

/* `n_ranks`: of the run. The names must outlive it. Returns 0 or -ENOMEM; call network_done() in
 * any case. */
int network_init(struct network *n, const struct fmt_names *names, uint32_t n_ranks);
void network_done(struct network *n);

/* Returns the line of the collectives of a template on a communicator; NULL: none was fitted. */
const struct fmt_network_fit *network_fit(const struct network *n, uint32_t template,
					  uint32_t comm);

/* Returns true if latency and bandwidth of a transfer of `bytes` (-1: unknown) can be told apart.
 * `fit`: its line, or NULL. */
int network_has_latency(const struct network *n, const struct fmt_network_fit *fit, int64_t bytes);

/* Returns the factor of a transfer of `bytes` (-1: unknown), given the factors of its latency and
 * of its bytes over bandwidth; the residual changes in proportion. If they cannot be told apart,
 * the whole transfer is bytes over bandwidth. Rounded to 0.07 %: there are few scales (variant.h),
 * and many sizes. */
double network_factor(const struct network *n, uint32_t template, uint32_t comm, int64_t bytes,
		      double latency, double bandwidth);
