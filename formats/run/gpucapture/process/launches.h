/* SPDX-License-Identifier: Apache-2.0 */

/* Finds repeated sequences in the launches of a process, which are its iterations if it has no
 * markers. Keeps only the latest launches in memory. One thread. */
#pragma once

#include "formats/run/repetition.h"

#include <stdbool.h>

struct rec_launch {
	int64_t start_ns; /* of the outermost call around it */
	fmt_str name;	  /* of the operation */
};

/* The launches of one thread on one device. */
struct rec_launches {
	uint32_t track;
	int device;
	uint64_t n_all;
	struct rec_launch *list; /* owned: the launches that were not searched, and the last
				    iteration before them */
	size_t n, cap;
	uint32_t *pattern; /* owned: the names of the launches of the last iteration */
	size_t n_pattern;
	struct fmt_iterations found; /* numbered from 0; the last lasts as long as the one before */
};

void rec_launches_done(struct rec_launches *l);

/* Appends a launch. Returns 0 or -ENOMEM. */
int rec_launches_add(struct rec_launches *l, const struct rec_launch *launch);

/* Finds the remaining iterations. l->found is empty if nothing repeats. Returns 0 or -ENOMEM. */
int rec_launches_end(struct rec_launches *l);
