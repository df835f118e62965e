/* SPDX-License-Identifier: Apache-2.0 */

/* A run with another number of data-parallel copies of its model (ranks.dp=N).
 *
 * A copy is a set of ranks that have one model together. Communicators for data parallelism connect
 * ranks that have the same part of it. They are recognised by their name ("dp", "data_parallel",
 * "fsdp"), or because there is no other communicator. Every other one lies within a copy, or
 * contains all ranks.
 *
 * Ranks of the first copies repeat the recorded ones; each further copy repeats one of the recorded
 * copies, drawn with a fixed seed, so that ranks of a copy keep their differences. Collectives of
 * data parallelism take the recorded time, times the ratio of what NCCL's ring or tree costs with
 * both numbers of ranks (replay/cost/collective.h). A node has COPIES_NODE GPUs. The bandwidth is
 * the one fitted to the recorded collectives, and on links that they did not use that of the GPU
 * model.
 */
#pragma once

#include "formats/run/infer/network.h"

#include "replay/engine/what_if.h"

#define COPIES_NODE 8
#define COPIES_SEED 1
#define COPIES_RANKS (1u << 20)

struct copies {
	uint32_t n, n_recorded; /* copies in the changed run, and in the recorded one */
	uint32_t per_copy;	/* ranks */
	uint32_t n_ranks;	/* of the changed run: copy k has ranks [k * per_copy ..] */
	uint32_t *source;	/* by rank: the recorded rank that it repeats; owned */
	uint32_t *numbers;	/* by rank: the recorder's, or further ones; owned */
	uint32_t *place;   /* by recorded rank: the rank in the changed run that has its number, if
			      there are as many copies; owned */
	uint8_t *connects; /* by communicator: enum copies_comm; owned */
	uint32_t data;	   /* one of the communicators for data parallelism */
	double within_bytes_per_s, between_bytes_per_s; /* of a GPU in a node, and between nodes, by
							   the GPU model */
	int compute_capability;
};

enum copies_comm { COPIES_NOBODY, COPIES_ONE_COPY, COPIES_SAME_PART, COPIES_ALL };

/* `numbers[i]` is the recorder's number of rank i. 0, -ENOMEM, or -EINVAL with the reason if the
 * copies are not known. */
int copies_new(const struct fmt_names *names, const uint32_t *numbers, uint32_t n_ranks, uint32_t n,
	       struct copies **ret, struct what_if_error *err);
void copies_free(struct copies *c);

/* Lists the ranks of a communicator as copy `copy` has it; returns their number, 0 if the copy has
 * no part in it. `ranks` has space for all ranks. */
uint32_t copies_group(const struct copies *c, const struct fmt_names *names,
		      const uint32_t *numbers, uint32_t n_recorded, uint32_t comm, uint32_t copy,
		      uint32_t *ranks);

/* By what a transfer of `bytes` (-1: unknown) on a communicator is multiplied, for the kind of
 * collectives `op`; `fit`: the line of its recorded transfers, or NULL. */
double copies_factor(const struct copies *c, uint32_t comm, const char *op,
		     const struct fmt_network_fit *fit, int64_t bytes);
