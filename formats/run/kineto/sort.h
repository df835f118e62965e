/* SPDX-License-Identifier: Apache-2.0 */

/* Sorts events in an order that depends on their content only, and finds the launching call of each
 * operation. One thread. */
#pragma once

#include "formats/run/kineto/rank.h"
#include "formats/run/write.h"

#define KINETO_NONE FMT_RUN_NONE

/* Compares two ids of processes or threads: numbers before texts. */
int kineto_id_compare(const struct fmt_strings *strings, const struct kineto_arg *a,
		      const struct kineto_arg *b);

/* Sorts the tracks of a rank (threads, then streams, by number), and its calls and operations by
 * track and time. Sets k->track_of. Returns 0 or -ENOMEM. */
int kineto_sort_events(struct kineto_rank *k, const struct kineto_templates *templates);

/* Sorts the ranges of one slice in the same way; their tracks are those of the sorted rank. */
void kineto_sort_ranges(struct fmt_event *ranges, size_t n, const int64_t *values,
			const struct kineto_templates *templates);

/* Sets k->call_of. Returns 0 or -ENOMEM. */
int kineto_find_launches(struct kineto_rank *k, const struct kineto_templates *templates);

/* Updates collectives from the ranges around their launch, and sets k->groups. Returns 0 or
 * -errno. */
int kineto_merge_collective_ranges(struct kineto_rank *k, struct kineto_templates *templates);
