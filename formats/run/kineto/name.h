/* SPDX-License-Identifier: Apache-2.0 */

/* Maps the importer's numbers of strings and templates to those of the trace, which are assigned at
 * first use. One thread. */
#pragma once

#include "formats/run/kineto/rank.h"

struct kineto_naming {
	struct fmt_names *names; /* not owned */
	struct kineto_templates *templates;
	uint32_t *string_of; /* owned: 1 + the trace's number, by the importer's number */
	size_t n_strings;
};

/* Prepares the mapping, after all strings were added. Returns 0 or -ENOMEM. */
int kineto_naming_init(struct kineto_naming *t, struct fmt_names *names,
		       struct kineto_templates *templates);
void kineto_naming_done(struct kineto_naming *t);

/* Converts the template and the values of `e` from the importer's numbers to the trace's. Appends
 * the values to *values, which it grows. Puts communicator and number of a collective first, as
 * unknown. */
int kineto_name_event(struct kineto_naming *t, struct fmt_event *e, const int64_t *from,
		      int64_t **values, size_t *n, size_t *cap);

/* Converts the strings of groups to the trace's numbers. Returns 0 or -ENOMEM. */
int kineto_name_groups(struct kineto_naming *t, struct fmt_run_group *groups, size_t n);

/* Adds tracks (in their order), devices and facts of the rank with index `rank`. */
int kineto_name_rank(struct kineto_naming *t, const struct kineto_rank *k, uint32_t rank);
