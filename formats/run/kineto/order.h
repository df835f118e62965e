/* SPDX-License-Identifier: Apache-2.0 */

/* Sorts events in an order that depends on their content only, and joins operations to their calls.
 * One thread. */
#pragma once

#include "formats/run/kineto/rank.h"
#include "formats/run/write.h"

#define KINETO_NONE FMT_RUN_NONE

/* Sorts the tracks of a rank (threads, then streams, by number), and its calls and operations by
 * track and time. *track_of says where each track went, for the ranges in the spool; the caller
 * frees it. 0 or -ENOMEM. */
int kineto_order(struct kineto_rank *k, const struct kineto_templates *templates,
		 uint32_t **track_of);

/* Sorts ranges of one slice in the same way; their tracks are those of the sorted rank. */
void kineto_order_ranges(struct fmt_event *ranges, size_t n, const int64_t *values,
			 const struct kineto_templates *templates);

/* For each event the call that launched it, or KINETO_NONE; for the caller to free. 0 or -ENOMEM.
 */
int kineto_join(const struct kineto_rank *k, const struct kineto_templates *templates,
		uint32_t **ret);

/* Updates collectives from the ranges around their launch. 0 or -errno. */
int kineto_join_collectives(struct kineto_rank *k, struct kineto_templates *templates,
			    const uint32_t *call_of);
