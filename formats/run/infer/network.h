/* SPDX-License-Identifier: Apache-2.0 */

/* The duration of a collective after all ranks have arrived, as latency plus bytes over bandwidth.
 * One line is fitted for each communicator and kind of collective when a run is imported, and
 * stored in the trace as the fact FMT_NETWORK_KEY.
 *
 * The lag of an edge of rule "transfer" remains the whole recorded transfer of a rank: latency,
 * bytes over bandwidth, and a residual of this one transfer. On any network, ranks leave a
 * collective some microseconds apart; these exits are measured over all collectives of a
 * communicator. The sample, the shortest transfer of its ranks without the mean first exit,
 * contains random error. noise_share is the part of the residuals that this error explains; for
 * that part the line is more accurate than the sample.
 *
 * Functions return 0 or a negative errno. */
#pragma once

#include "formats/trace/names.h"

#include <stdbool.h>

#define FMT_NETWORK_KEY "gputrace.network"
#define FMT_NETWORK_NAME 32 /* longest name of a kind of collective, including the NUL */

struct fmt_network_fit {
	uint32_t comm;			   /* number of the communicator in the trace */
	char collective[FMT_NETWORK_NAME]; /* FMT_KEY_OP, for example "all_reduce" */
	int64_t collectives;		   /* number of collectives that the line is fitted to */
	int64_t sizes; /* number of different message sizes; 1: latency_ns is unknown and 0; 0:
			  sizes unknown */
	int64_t largest_bytes; /* of the messages; 0: unknown */
	int64_t typical_ns;    /* of messages of unknown size; else 0 */
	int64_t latency_ns;    /* time of an empty message */
	double ns_per_byte;    /* 1 / bandwidth, at least 0 */
	int64_t residual_ns;   /* median distance of a collective from the line */
	double noise_share;    /* share of the squared residuals caused by exits; 0 to 1 */
	int64_t first_exit_ns; /* mean time from the shortest possible transfer to the first exit */
	int64_t exit_ns;       /* the same to the exit of a rank */
	bool uneven;	       /* ranks often have parts of different sizes */
};

/* All lines of a trace, by communicator, then kind. */
struct fmt_network {
	struct fmt_network_fit *fits;
	size_t n, cap;
};

/* Empty for a trace without the fact. Call fmt_network_done() even after an error. */
int fmt_network_get(const struct fmt_names *n, struct fmt_network *ret);
int fmt_network_put(struct fmt_names *n, const struct fmt_network *network);
void fmt_network_done(struct fmt_network *n);

/* Returns the line of a communicator and kind, or NULL if no line was fitted, for example
 * because message sizes were not recorded. */
const struct fmt_network_fit *fmt_network_find(const struct fmt_network *n, uint32_t comm,
					       const char *collective);

/* Returns the duration of a transfer according to the line; at most a quarter of INT64_MAX. `bytes`
 * -1: unknown; returns 0 then, unless all sizes are unknown. */
int64_t fmt_network_ns(const struct fmt_network_fit *f, int64_t bytes);

/* Largest random spread of a collective's ends; larger differences mean parts of different
 * sizes. */
#define FMT_NETWORK_APART_NS 10000

/* The transfers of a collective's ranks: the shortest, and the others relative to it. */
struct fmt_network_sample {
	uint32_t comm;
	fmt_str collective;
	int64_t bytes; /* -1: unknown; such samples are used only if the kind has no others */
	int64_t least_ns, second_ns, mean_ns, most_ns;
	uint32_t n_ranks;
	int64_t transfer_ns; /* the shortest possible one; set by fmt_network_fit() */
};

/* Fits lines to the samples, which it sorts, and adds them to *ret. */
int fmt_network_fit(const struct fmt_names *n, struct fmt_network_sample *samples, size_t n_samples,
		    struct fmt_network *ret);
