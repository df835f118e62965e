/* SPDX-License-Identifier: Apache-2.0 */

/* Executes one rank of a run alone, on one GPU. No communicator is created: the recorded output of
 * each collective and receive is copied into the rank's memory instead, in stream order. */
#pragma once

#include "replay/device/build.h"

#include <stdbool.h>

/* A call that cannot be executed without the other ranks. */
struct rex_single_rank_refusal {
	size_t index;	 /* among the calls of the process */
	bool is_missing; /* the received data was not recorded */
	char why[200];
};

/* Finds the first call that this rank cannot execute without the others. Returns 1 with the call
 * and the reason in *ret; 0 if it can execute all calls; or a negative errno as fmt_slice_load(),
 * with *err. */
int rex_single_rank_check(const struct rex_process *p, struct rex_single_rank_refusal *ret,
			  struct fmt_error *err);

struct rex_single_rank;

/* `checks_inputs`: compares the inputs of collectives with the recorded contents. */
int rex_single_rank_new(const struct rex_process *p, bool checks_inputs,
			struct rex_single_rank **ret);
void rex_single_rank_free(struct rex_single_rank *a);

/* Returns true if a call is not executed, but replaced by rex_single_rank_call(). */
bool rex_single_rank_replaces(const struct rex_call *c);

/* Copies the recorded output of b->call, or at the end of a group that of all calls of the group.
 * Returns 0; -EIO: the driver failed; or a negative errno as rex_build(). Any thread. */
int rex_single_rank_call(struct rex_single_rank *a, struct rex_frame *b);

/* Adds the numbers of copied and compared buffers to the counts. */
void rex_single_rank_count(const struct rex_single_rank *a, struct rex_counts *counts);
