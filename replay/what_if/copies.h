/* SPDX-License-Identifier: Apache-2.0 */

/* A run with another number of data-parallel copies of its model (ranks.dp=N).
 *
 * A copy is a set of ranks that together contain the model once. Data-parallel communicators
 * connect ranks with the same part of the model. They are recognised by their name ("dp",
 * "data_parallel", "fsdp"), or if there is no other communicator. Every other communicator lies
 * within a copy, or contains all ranks.
 *
 * The ranks of the first copies repeat the recorded ranks. Each further copy repeats one recorded
 * copy, drawn with a fixed seed, so that ranks of a copy keep their differences. Data-parallel
 * collectives take the recorded time multiplied by a ratio: the cost of NCCL's ring or tree with
 * the new and the recorded number of ranks (replay/cost/nccl.h). The links are those of
 * gpu_links.h. */
#pragma once

#include "replay/what_if/gpu_links.h"
#include "replay/what_if/what_if.h"

#define COPIES_SEED 1
#define COPIES_RANKS (1u << 20)

struct copies {
	uint32_t n, n_recorded; /* copies in the changed run, and in the recorded one */
	uint32_t per_copy;	/* ranks */
	uint32_t n_ranks;	/* of the changed run: copy k has ranks [k * per_copy ..] */
	uint32_t *source;	/* by rank: the recorded rank that it repeats; owned */
	uint32_t *numbers;	/* by rank: numbers of the recorder, then new numbers; owned */
	uint32_t *place;   /* by recorded rank: the rank of the changed run with its number, if the
			      run has enough copies; owned */
	uint8_t *connects; /* by communicator: enum copies_comm; owned */
	uint32_t data;	   /* one of the communicators for data parallelism */
	struct links links;
};

enum copies_comm { COPIES_NO_RANKS, COPIES_ONE_COPY, COPIES_SAME_PART, COPIES_ALL };

/* `numbers[i]` is the recorder's number of rank i. Returns 0, -ENOMEM, or -EINVAL with the reason
 * if the copies cannot be determined. */
int copies_new(const struct fmt_names *names, const uint32_t *numbers, uint32_t n_ranks, uint32_t n,
	       struct copies **ret, struct what_if_error *err);
void copies_free(struct copies *c);

/* Lists the ranks of a communicator in copy `copy`. Returns their number; 0 if the copy does not
 * take part. `ranks` must have space for all ranks. */
uint32_t copies_group(const struct copies *c, const struct fmt_names *names,
		      const uint32_t *numbers, uint32_t n_recorded, uint32_t comm, uint32_t copy,
		      uint32_t *ranks);

/* Returns the factor of a transfer of `bytes` (-1: unknown) on a communicator, for the kind of
 * collectives `op`. `fit`: the line of its recorded transfers, or NULL. */
double copies_factor(const struct copies *c, uint32_t comm, const char *op,
		     const struct fmt_network_fit *fit, int64_t bytes);
