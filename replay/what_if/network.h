/* SPDX-License-Identifier: Apache-2.0 */

/* The recorded network, divided into latency and bandwidth by the lines of
 * formats/run/infer/network.h. Not thread-safe. */
#pragma once

#include "formats/run/infer/network.h"

struct network {
	const struct fmt_names *names;
	struct fmt_network lines;
	uint32_t *first; /* by communicator: its first line; lines.n: no line */
	uint32_t n_comms;
};

/* The names must outlive it. Returns 0 or -ENOMEM; call network_done() in any case. */
int network_init(struct network *n, const struct fmt_names *names);
void network_done(struct network *n);

/* Returns the line of the collectives of a template on a communicator; NULL: none was fitted. */
const struct fmt_network_fit *network_fit(const struct network *n, uint32_t template,
					  uint32_t comm);

/* Returns the factor of a transfer of `bytes` (-1: unknown), given the factors of its latency and
 * of its bytes over bandwidth; the residual changes in proportion. Without a line the whole
 * transfer is bytes over bandwidth. Rounded to 0.07 %: there are few scales (variant.h), and many
 * sizes. */
double network_factor(const struct fmt_network_fit *fit, int64_t bytes, double latency,
		      double bandwidth);
