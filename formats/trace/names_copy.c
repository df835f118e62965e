/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/names.h"

#include <errno.h>

static int copy_strings(const struct fmt_names *n, struct fmt_names *to)
{
	for (uint32_t i = 1; i <= fmt_n_strings(n); i++) {
		size_t len;
		const char *s = fmt_string(n, i, &len);
		fmt_str number;
		int r = fmt_names_string(to, s, len, &number);

		if (r < 0)
			return r;
	}
	return 0;
}

static int copy_tables(const struct fmt_names *n, struct fmt_names *to)
{
	const struct fmt_rule *rule;
	uint32_t number;
	uint8_t unused;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < fmt_n_templates(n); i++)
		r = fmt_names_template(to, fmt_template(n, i), &number);
	for (uint32_t i = 0; r == 0 && i < fmt_n_comms(n); i++)
		r = fmt_names_comm(to, fmt_comm(n, i), &number);
	for (uint32_t i = 0; r == 0 && (rule = fmt_rule(n, i)); i++)
		r = fmt_names_rule(to, fmt_string(n, rule->name, NULL), rule->inferred, &unused);
	return r;
}

static int copy_facts(const struct fmt_names *n, uint32_t rank, struct fmt_names *to)
{
	const struct fmt_fact *fact;
	int r = 0;

	for (uint32_t i = 0; r == 0 && (fact = fmt_fact(n, rank, i)); i++)
		r = fmt_names_fact(to, rank, fmt_string(n, fact->key, NULL), fact->value);
	return r;
}

static int copy_rank(const struct fmt_names *n, uint32_t rank, struct fmt_names *to)
{
	const struct fmt_device *device;
	uint32_t number;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < fmt_n_tracks(n, rank); i++)
		r = fmt_names_track(to, rank, fmt_track(n, rank, i), &number);
	for (uint32_t i = 0; r == 0 && (device = fmt_device(n, rank, i)); i++)
		r = fmt_names_device(to, rank, device);
	return r < 0 ? r : copy_facts(n, rank, to);
}

int fmt_names_copy(const struct fmt_names *n, uint32_t n_ranks, struct fmt_names **ret)
{
	struct fmt_names *to;
	int r = fmt_names_new(&to);

	if (r < 0)
		return r;
	r = copy_strings(n, to);
	if (r == 0)
		r = copy_tables(n, to);
	if (r == 0)
		r = copy_facts(n, FMT_WHOLE_TRACE, to);
	for (uint32_t i = 0; r == 0 && i < n_ranks; i++)
		r = copy_rank(n, i, to);
	if (r == 0 &&
	    (fmt_n_templates(to) != fmt_n_templates(n) || fmt_n_comms(to) != fmt_n_comms(n)))
		r = -EBADMSG;
	if (r < 0)
		fmt_names_free(to);
	else
		*ret = to;
	return r;
}
