/* SPDX-License-Identifier: Apache-2.0 */

/* One rank of a run, executed without the others, on one GPU. No communicator is made: what a
 * collective or receive wrote into memory of the rank is copied there from the recorded contents,
 * in the order of its stream. */
#pragma once

#include "replay/device/build.h"

#include <stdbool.h>

/* A call that cannot be made alone. */
struct rex_alone_refusal {
	size_t index;	 /* among the calls of the process */
	bool is_missing; /* what it received is not recorded */
	char why[200];
};

/* Finds the first call that this rank cannot make without the others. Returns 1 if there is one,
 * and *ret has the call and the reason; 0 if there is none; or a negative errno as
 * fmt_slice_load(), with *err. */
int rex_alone_check(const struct rex_process *p, struct rex_alone_refusal *ret,
		    struct fmt_error *err);

struct rex_alone;

/* `checks_inputs`: compares what the rank puts into collectives with the recorded contents. */
int rex_alone_new(const struct rex_process *p, bool checks_inputs, struct rex_alone **ret);
void rex_alone_free(struct rex_alone *a);

/* Whether a call is not made, but replaced by rex_alone_call(). */
bool rex_alone_replaces(const struct rex_call *c);

/* Copies what the call b->call received, or at the end of a group what all calls of the group did.
 * 0, -EIO: the driver refused; or a negative errno as rex_build(). Any thread. */
int rex_alone_call(struct rex_alone *a, struct rex_built *b);

/* Adds what was copied and compared to the counts. */
void rex_alone_count(const struct rex_alone *a, struct rex_counts *counts);
