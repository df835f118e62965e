/* SPDX-License-Identifier: Apache-2.0 */

/* Keeps in the executed trace which operations differ from themselves. */
#include "base/scope.h"
#include "formats/trace/fact_keys.h"
#include "formats/trace/store/shared.h"
#include "tools/gpureplay/reexecution.h"

#include <errno.h>

/* Appends the numbers of the rank's nondeterministic operations. */
static void put_numbers(const struct fmt_unordered *u, uint32_t rank, struct text *out)
{
	struct fmt_json j = {.text = out};

	fmt_json_open(&j, NULL, '[');
	for (size_t i = 0; i < u->n; i++)
		if (u->ops[i].rank == rank)
			fmt_json_u64(&j, NULL, u->ops[i].number);
	fmt_json_close(&j, ']');
}

static int put_json(const struct reexecution *job, struct text *out)
{
	struct fmt_json j = {.text = out};
	int r;

	fmt_json_open(&j, NULL, '{');
	fmt_json_i64(&j, "executions", job->repeat);
	r = fmt_unordered_json(&job->unordered, fmt_trace_names(job->replayed), &j);
	fmt_json_close(&j, '}');
	return r;
}

int reexecution_keep_unordered(const struct reexecution *job, struct fmt_error *err)
{
	uint32_t n = fmt_trace_n_ranks(job->replayed);
	scoped(free_ptr) struct fmt_added_fact *facts = calloc(n + 1u, sizeof(*facts));
	scoped(free_ptr) struct text *texts = calloc(n + 1u, sizeof(*texts));
	int r = facts && texts ? put_json(job, &texts[n]) : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i <= n; i++) {
		if (i < n)
			put_numbers(&job->unordered, i, &texts[i]);
		r = texts[i].error;
		facts[i] = (struct fmt_added_fact){i < n ? i : FMT_WHOLE_TRACE, FMT_UNORDERED_KEY,
						   texts[i].data, texts[i].len};
	}
	if (r == 0)
		r = fmt_shared_add_facts(job->replayed, facts, n + 1u, err);
	for (uint32_t i = 0; texts && i <= n; i++)
		text_done(&texts[i]);
	return r;
}
