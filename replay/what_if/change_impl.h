/* SPDX-License-Identifier: Apache-2.0 */

/* State of change.c and change_scale.c. */
#pragma once

#include "replay/what_if/change.h"

#include "replay/what_if/model.h"
#include "replay/what_if/network.h"

/* The changes of one variant that apply to a rank, a template, or a communicator: one bit each. */
typedef uint32_t change_set;
_Static_assert(WHAT_IF_CHANGES == 32, "a bit each");

/* Returns the lowest change of a non-empty set. */
static inline unsigned change_first(change_set set)
{
	return (unsigned)__builtin_ctz(set) & 31;
}

struct variant {
	const struct what_if *spec;
	change_set by_key[WHAT_IF_KEYS];
	change_set *by_rank, *by_template, *by_comm;
	size_t templates_cap;
	int straggler;			       /* straggler=none is one of the changes */
	struct model *models[WHAT_IF_CHANGES]; /* of the changes to another GPU model; owned */
};

/* The scales of the templates, for ranks with the same changes. */
struct rank_group {
	uint32_t first; /* its first rank */
	uint16_t host, launch, device;
	uint16_t *by_template; /* NOT_YET if not computed */
	size_t cap;
	uint32_t n;
};

#define NOT_YET UINT16_MAX

struct change {
	const struct fmt_names *names;
	const uint32_t *numbers;
	uint32_t n_ranks, n_templates, n_comms;
	struct variant *variants;
	uint32_t n_specs;
	uint32_t *group_of; /* by rank */
	struct network network;
	struct rank_group *groups;
	size_t n_groups, groups_cap;
	const struct copies *copies;   /* NULL: as recorded */
	const float *factors_of_ranks; /* for straggler=none: by rank, then template */
	uint32_t n_factors;
	uint8_t *unknown; /* by template: kernels of which only the number of threads is known */
	size_t unknown_cap;
	double *factors; /* of the scale being computed, by variant */
	struct sim *sim;
	int error;
};

/* Sets the bits of new templates. Returns 0 or -ENOMEM. */
int change_add_templates(struct change *c);
