/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/tally.h"

#include "base/array.h"
#include "formats/trace/model.h"

#define MAX_ROWS 256 /* further categories are counted as none */

_Static_assert((int)FMT_KINDS == (int)KINETO_KEPT_NAME, "a kept event is counted by kind");

static const struct {
	enum kineto_outcome outcome;
	const char *text;
} outcomes[KINETO_DISPOSITIONS] = {
	[KINETO_KEPT_NAME] = {KINETO_KEPT, "name"},
	[KINETO_FLOW_LAUNCH] = {KINETO_REBUILT, "not stored, export makes it from correlation ids"},
	[KINETO_FLOW_AUTOGRAD] = {KINETO_REBUILT,
				  "not stored, export makes it from sequence numbers"},
	[KINETO_OUR_METADATA] = {KINETO_REBUILT,
				 "not stored, export makes it from facts of the rank"},
	[KINETO_NO_TIME] = {KINETO_SKIPPED, "it has no time"},
	[KINETO_BAD_TIME] = {KINETO_SKIPPED,
			     "its time is not a number, or beyond 146 years from 1970"},
	[KINETO_NEGATIVE] = {KINETO_SKIPPED, "its duration is negative"},
	[KINETO_NO_PHASE] = {KINETO_SKIPPED, "it has no phase"},
	[KINETO_MANY_ARGS] = {KINETO_SKIPPED, "it has more than 250 arguments"},
};

enum kineto_outcome kineto_disposition_outcome(enum kineto_disposition disposition)
{
	return outcomes[disposition].outcome;
}

const char *kineto_disposition_text(enum kineto_disposition disposition)
{
	return disposition < KINETO_KEPT_NAME ? fmt_kind_name((enum fmt_kind)disposition)
					      : outcomes[disposition].text;
}

int kineto_tally_count(struct kineto_tally *t, uint32_t ph, uint32_t cat,
		       enum kineto_disposition disposition)
{
	t->events++;
	if (t->n >= MAX_ROWS)
		ph = cat = 0;
	for (size_t i = 0; i < t->n; i++) {
		struct kineto_tally_row *r = &t->rows[i];

		if (r->ph == ph && r->cat == cat && r->disposition == disposition) {
			r->events++;
			return 0;
		}
	}
	if (array_reserve(&t->rows, t->n + 1, &t->cap) < 0)
		return -ENOMEM;
	t->rows[t->n++] = (struct kineto_tally_row){ph, cat, disposition, 1};
	return 0;
}

void kineto_tally_done(struct kineto_tally *t)
{
	free(t->rows);
	*t = (struct kineto_tally){0};
}
