/* SPDX-License-Identifier: Apache-2.0 */

/* From the importer's numbers to those of the trace, given in the order in which they are asked
 * for. One thread. */
#pragma once

#include "formats/run/kineto/rank.h"

struct kineto_naming {
	struct fmt_names *names; /* not owned */
	struct kineto_templates *templates;
	uint32_t *string_of; /* owned: the trace's number plus 1, by the importer's */
	size_t n_strings;
};

/* Prepares for the names of the trace, once no more strings are added. 0 or -ENOMEM. */
int kineto_naming_init(struct kineto_naming *t, struct fmt_names *names,
		       struct kineto_templates *templates);
void kineto_naming_done(struct kineto_naming *t);

/* Gives `e`, whose template and values are the importer's, those of the trace: appends its values
 * to *values, which is grown, and points the event there. A collective's communicator and number
 * are put first, as unknown. */
int kineto_name_event(struct kineto_naming *t, struct fmt_event *e, const int64_t *from,
		      int64_t **values, size_t *n, size_t *cap);

/* Gives the strings of groups the numbers of the trace. 0 or -ENOMEM. */
int kineto_name_groups(struct kineto_naming *t, struct fmt_run_group *groups, size_t n);

/* Tracks (in their order), devices and facts of rank `rank`, an index. */
int kineto_name_rank(struct kineto_naming *t, const struct kineto_rank *k, uint32_t rank);
