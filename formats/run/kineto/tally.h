/* SPDX-License-Identifier: Apache-2.0 */

/* Counts events by category and outcome. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The first values are those of enum fmt_kind: the event was kept as that kind. */
enum kineto_disposition {
	KINETO_KEPT_NAME = 8, /* metadata: a fact */
	KINETO_FLOW_LAUNCH,   /* rebuilt from correlation ids */
	KINETO_FLOW_AUTOGRAD, /* rebuilt from sequence numbers */
	KINETO_OUR_METADATA,  /* metadata events of a file with several ranks, whose facts contain
				 them */
	KINETO_NO_TIME,
	KINETO_BAD_TIME,
	KINETO_NEGATIVE,
	KINETO_NO_PHASE,
	KINETO_MANY_ARGS,
	KINETO_DISPOSITIONS,
};

/* KINETO_REBUILT: not stored; an export makes the event from others. */
enum kineto_outcome { KINETO_KEPT, KINETO_REBUILT, KINETO_SKIPPED };

enum kineto_outcome kineto_disposition_outcome(enum kineto_disposition disposition);
/* Returns the kind, or the reason: "call", "it has no time". */
const char *kineto_disposition_text(enum kineto_disposition disposition);

struct kineto_tally_row {
	uint32_t ph, cat;     /* string numbers */
	uint32_t disposition; /* enum kineto_disposition */
	uint64_t events;
};

struct kineto_tally {
	struct kineto_tally_row *rows;
	size_t n, cap;
	uint64_t events;
	uint64_t no_duration;	      /* kept with duration 0 */
	uint64_t rounded;	      /* kept with a time rounded to the nanosecond */
	uint64_t not_numbers, commas; /* of the file, counted in its first rank: json.h */
};

/* Returns 0 or -ENOMEM. */
int kineto_tally_count(struct kineto_tally *t, uint32_t ph, uint32_t cat,
		       enum kineto_disposition disposition);
void kineto_tally_done(struct kineto_tally *t);
