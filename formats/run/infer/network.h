/* SPDX-License-Identifier: Apache-2.0 */

/* The time of a collective once all ranks have arrived, as latency plus bytes over bandwidth. One
 * line is fitted for each communicator and kind of collective when a run is imported, and stored in
 * the trace as the fact FMT_NETWORK_KEY.
 *
 * The lag of an edge of rule "transfer" remains the whole recorded transfer of a rank: latency,
 * bytes over bandwidth, and a residual that belongs to that one transfer. A changed network
 * replaces the first two and keeps the residual:
 *
 *     lag - fmt_network_ns(&recorded, bytes) + fmt_network_ns(&changed, bytes)
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
	int64_t sizes;	     /* of messages; with one size latency_ns is not known and 0 */
	int64_t latency_ns;  /* time of an empty message */
	double ns_per_byte;  /* 1 / bandwidth, at least 0 */
	int64_t residual_ns; /* median distance of a collective from the line */
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

/* The time that the line gives for a message; at most a quarter of INT64_MAX. */
int64_t fmt_network_ns(const struct fmt_network_fit *f, int64_t bytes);

/* A collective: its shortest transfer over the ranks. */
struct fmt_network_sample {
	uint32_t comm;
	fmt_str collective;
	int64_t bytes, transfer_ns;
};

/* Fits lines to the samples, which are sorted here. Adds to *ret. */
int fmt_network_fit(const struct fmt_names *n, struct fmt_network_sample *samples, size_t n_samples,
		    struct fmt_network *ret);
