/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/names.h"

static int merge_string(struct fmt_names *to, const struct fmt_names *copy, fmt_str s, fmt_str *ret)
{
	size_t len;
	const char *text = fmt_string(copy, s, &len);

	return fmt_names_string(to, text, len, ret);
}

static int merge_comms(struct fmt_names *to, const struct fmt_names *copy)
{
	int r = 0;

	for (uint32_t i = fmt_n_comms(to); i < fmt_n_comms(copy) && r == 0; i++) {
		struct fmt_comm comm = *fmt_comm(copy, i);
		uint32_t number;

		r = merge_string(to, copy, comm.name, &comm.name);
		if (r == 0)
			r = merge_string(to, copy, comm.description, &comm.description);
		if (r == 0)
			r = fmt_names_comm(to, &comm, &number);
	}
	return r;
}

static int merge_facts(struct fmt_names *to, const struct fmt_names *copy, uint32_t rank)
{
	const struct fmt_fact *fact, *known;
	int r = 0;

	for (uint32_t i = 0; r == 0 && (fact = fmt_fact(copy, rank, i)); i++) {
		size_t len;
		const char *json = fmt_string(copy, fact->value, &len);

		known = fmt_fact(to, rank, i);
		if (!known || known->value != fact->value)
			r = fmt_names_fact_json(to, rank, fmt_string(copy, fact->key, NULL), json,
						len);
	}
	return r;
}

int fmt_names_merge(struct fmt_names *to, const struct fmt_names *copy, uint32_t n_ranks)
{
	const struct fmt_rule *rule;
	uint8_t number;
	int r = merge_comms(to, copy);

	for (uint32_t i = 0; r == 0 && (rule = fmt_rule(copy, i)); i++)
		r = fmt_names_rule(to, fmt_string(copy, rule->name, NULL), rule->inferred, &number);
	if (r == 0)
		r = merge_facts(to, copy, FMT_WHOLE_TRACE);
	for (uint32_t i = 0; i < n_ranks && r == 0; i++)
		r = merge_facts(to, copy, i);
	return r;
}
