/* SPDX-License-Identifier: Apache-2.0 */

/* The time of a collective once all ranks have arrived, as latency plus bytes over bandwidth. One
 * line is fitted for each communicator and kind of collective when a run is imported, and stored in
 * the trace as the fact FMT_NETWORK_KEY.
 *
 * The lag of an edge of rule "transfer" remains the whole recorded transfer of a rank: latency,
 * bytes over bandwidth, and a residual that belongs to that one transfer. Ranks leave a collective
 * some microseconds apart whatever the network is, so the shortest transfer of its ranks, from
 * which samples are made, is off by chance. Where that explains a part of the distances from the
 * line, the line says more about a transfer than its own sample (noise_share).
 *
 * Functions return 0 or a negative errno.
 */
#pragma once

#include "formats/trace/names.h"

#define FMT_NETWORK_KEY "gputrace.network"
#define FMT_NETWORK_NAME 32 /* longest name of a kind of collective, with its end */

struct fmt_network_fit {
	uint32_t comm;			   /* number of the communicator in the trace */
	char collective[FMT_NETWORK_NAME]; /* FMT_KEY_OP, for example "all_reduce" */
	int64_t collectives;		   /* the line is fitted to so many */
	int64_t sizes; /* of messages; with one size latency_ns is not known and 0; 0: unknown */
	int64_t typical_ns;  /* of messages of unknown size; else 0 */
	int64_t latency_ns;  /* time of an empty message */
	double ns_per_byte;  /* 1 / bandwidth, at least 0 */
	int64_t residual_ns; /* median distance of a collective from the line */
	double noise_share;  /* of the square of these distances, due to ranks leaving apart; 0 to 1
			      */
};

/* All lines of a trace, by communicator, then kind. */
struct fmt_network {
	struct fmt_network_fit *fits;
	size_t n, cap;
};

/* Empty for a trace without the fact. fmt_network_done() in any case. */
int fmt_network_get(const struct fmt_names *n, struct fmt_network *ret);
int fmt_network_put(struct fmt_names *n, const struct fmt_network *network);
void fmt_network_done(struct fmt_network *n);

/* The line of a communicator and kind; NULL if nothing was fitted, for example because the recorder
 * did not note message sizes. */
const struct fmt_network_fit *fmt_network_find(const struct fmt_network *n, uint32_t comm,
					       const char *collective);

/* The time that the line gives for a message; at most a quarter of INT64_MAX. `bytes`: -1 unknown,
 * then 0 unless all sizes are. */
int64_t fmt_network_ns(const struct fmt_network_fit *f, int64_t bytes);

/* A collective: the shortest possible transfer, estimated from those of its ranks, and how far
 * apart these are; -1 if not by chance, because their parts of the message differ. */
struct fmt_network_sample {
	uint32_t comm;
	fmt_str collective;
	int64_t bytes; /* -1: unknown; such samples count if there are no others of the kind */
	int64_t transfer_ns, apart_ns;
	uint32_t n_ranks;
};

/* Ranks leave a collective up to this far apart; differences beyond are parts of different sizes.
 */
#define FMT_NETWORK_APART_NS 10000

/* The shortest possible transfer, given those of n ranks: if they are spread evenly, it is shorter
 * than the shortest of them by 1/(n - 1) of how far they lie apart. */
static inline int64_t fmt_network_shortest_ns(int64_t least_ns, int64_t apart_ns, uint32_t n)
{
	return n > 1 && apart_ns >= 0 && apart_ns <= FMT_NETWORK_APART_NS
		       ? least_ns - apart_ns / (int64_t)(n - 1)
		       : least_ns;
}

/* Fits lines to the samples, which are sorted here. Adds to *ret. */
int fmt_network_fit(const struct fmt_names *n, struct fmt_network_sample *samples, size_t n_samples,
		    struct fmt_network *ret);
