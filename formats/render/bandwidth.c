/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/bandwidth.h"

#include "base/array.h"
#include "formats/trace/memberships.h"
#include "formats/trace/origin.h"
#include "formats/trace/store/part.h"

/* The factor of the bus bandwidth: `times` (n - 1) / n, or 1. */
static const struct {
	const char *op;
	int times; /* 0: the factor is 1 */
} factors[] = {
	{"all_reduce", 2}, {"all_gather", 1}, {"reduce_scatter", 1}, {"all_to_all", 1},
	{"broadcast", 0},  {"reduce", 0},     {"send_recv", 0},
};

struct fmt_bandwidth fmt_bandwidth(const char *op, uint32_t n_ranks, int64_t bytes, int64_t ns)
{
	struct fmt_bandwidth b = {-1, -1};

	for (size_t i = 0; i < ARRAY_SIZE(factors) && bytes > 0 && ns > 0; i++) {
		if (strcmp(op, factors[i].op) != 0)
			continue;
		b.algorithm = (double)bytes * 1e9 / (double)ns;
		if (factors[i].times == 0)
			b.bus = b.algorithm;
		else if (n_ranks > 1)
			b.bus = b.algorithm * factors[i].times * (n_ranks - 1) / n_ranks;
	}
	return b;
}

/* Returns the recorded size of a communicator, from the first of its ranks; 0: none. */
static uint32_t noted_size(const struct fmt_trace *t, uint32_t number, const struct fmt_comm *comm)
{
	const struct fmt_names *names = fmt_trace_names(t);
	struct fmt_membership *list = NULL;
	uint32_t size = 0;

	for (uint32_t i = 0; i < comm->n_ranks; i++) {
		int64_t rank = fmt_rank_index(t, comm->ranks[i]);
		size_t n = 0;

		if (rank < 0)
			continue;
		if (fmt_memberships_get(names, (uint32_t)rank, &list, &n) < 0)
			return 0;
		for (size_t k = 0; k < n; k++)
			size = list[k].comm == number ? list[k].n : size;
		break;
	}
	free(list);
	return size;
}

/* Returns true if the communicator contains a rank that is missing in the trace: then its list of
 * ranks is complete. */
static bool lists_absent(const struct fmt_trace *t, const struct fmt_comm *comm)
{
	for (uint32_t i = 0; i < comm->n_ranks; i++)
		if (fmt_rank_index(t, comm->ranks[i]) < 0)
			return true;
	return false;
}

uint32_t fmt_comm_size(const struct fmt_trace *t, int64_t comm, const struct fmt_template *template)
{
	const struct fmt_names *names = fmt_trace_names(t);
	const struct fmt_comm *c =
		comm < 0 || comm > UINT32_MAX ? NULL : fmt_comm(names, (uint32_t)comm);
	int64_t size;

	if (fmt_template_const(names, template, "Group size", &size) && size > 0 &&
	    size <= UINT32_MAX)
		return (uint32_t)size;
	if (!c)
		return 0;
	size = noted_size(t, (uint32_t)comm, c);
	if (size > 0)
		return (uint32_t)size;
	if (fmt_origin_ranks(names) <= fmt_trace_n_ranks(t) || lists_absent(t, c))
		return c->n_ranks;
	return 0;
}
