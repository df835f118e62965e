/* SPDX-License-Identifier: Apache-2.0 */

/* Checks whether inferred waits keep their partner from iteration to iteration.
 *
 * A *site* is a call or an operation at one position in the iterations of a rank: the n-th of its
 * name on its thread or stream. Its *partner* is the operation that it waits for by an inferred
 * edge, described by the same kind of position. A program that repeats an iteration waits for the
 * same operation each time, so a partner that changes was probably inferred wrongly. This check
 * needs no reference edges. Only iterations that run the same operations are compared.
 *
 * Only edges of the rules for events and synchronising calls are checked. Other rules (capacity,
 * queue-full) depend on times and may differ between iterations. One thread. Functions return 0 or
 * -ENOMEM. */
#pragma once

#include "formats/trace/store/trace.h"

#define STABILITY_WORST 5 /* maximum number of sites in the report */

/* The position of an event: the n-th of its name on its track in an iteration, from 1. A partner in
 * the iteration before is counted from the end of that iteration. */
struct stability_position {
	fmt_str name;
	uint32_t track, nth;
};

/* A site whose partner changes. */
struct stability_site {
	uint32_t gpu;	   /* the recorder's number of the rank; of several ranks, the first */
	uint32_t gpus;	   /* ranks with such a site of this name and position */
	uint32_t last_gpu; /* the last of these ranks */
	uint8_t rule;
	struct stability_position position, partner; /* partner: the most frequent partner */
	uint32_t back;	     /* iterations from the partner to the site; at least 2: older ones */
	uint32_t iterations; /* compared iterations of the rank */
	uint32_t seen;	     /* iterations in which the site waits */
	uint32_t partners, usual; /* different partners; iterations with the most frequent one */
};

struct stability_report {
	uint64_t sites;	  /* in iterations that can be compared with others */
	uint64_t stable;  /* the same partner in all iterations */
	uint64_t partial; /* sites with one partner that do not wait in each iteration */
	struct stability_site worst[STABILITY_WORST];
	uint32_t n_worst;
};

struct stability;

int stability_new(const struct fmt_names *names, uint32_t n_ranks, struct stability **ret);
void stability_free(struct stability *s);

/* Takes the next slice of the rank; `whole`: it is a whole iteration. */
int stability_slice(struct stability *s, uint32_t rank, const struct fmt_slice *slice, int whole);

/* `numbers`: the recorder's, by rank. */
int stability_finish(struct stability *s, const uint32_t *numbers, struct stability_report *ret);
