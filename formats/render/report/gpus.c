/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/gpus.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/render/report/machine.h"
#include "formats/trace/json.h"

struct gpu_id {
	const char *host; /* JSON; "": unknown */
	const char *id;	  /* within the host; NULL: unknown */
	size_t id_len;
	uint32_t rank;
};

static struct gpu_id gpu_id_of(const struct fmt_trace *t, uint32_t rank)
{
	const struct fmt_names *names = fmt_trace_names(t);
	const struct fmt_device *device = fmt_report_device(t, rank);
	struct gpu_id p = {fmt_fact_value(names, rank, "host") ?: "", NULL, 0, rank};
	const char *properties;
	size_t len;

	if (!device)
		return p;
	properties = fmt_string(names, device->properties, &len);
	p.id_len = fmt_json_member_text(properties, len, "uuid", &p.id);
	if (p.id_len == 0)
		p.id_len = fmt_json_member_text(properties, len, "pci", &p.id);
	p.id = p.id_len > 0 ? p.id : NULL;
	return p;
}

/* Ranks with unknown GPUs differ from all others. */
static int by_gpu_id(const void *a, const void *b)
{
	const struct gpu_id *x = a, *y = b;
	int order = array_order(x->id_len, y->id_len);

	if (order == 0 && x->id_len > 0)
		order = memcmp(x->id, y->id, x->id_len);
	return order ?: strcmp(x->host, y->host);
}

static int by_gpu_id_and_rank(const void *a, const void *b)
{
	const struct gpu_id *x = a, *y = b;

	return by_gpu_id(a, b) ?: array_order(x->rank, y->rank);
}

int fmt_report_gpus(const struct fmt_trace *t, uint32_t **ret)
{
	uint32_t n = fmt_trace_n_ranks(t);
	scoped(free_ptr) struct gpu_id *ids = calloc(n + (size_t)1, sizeof(*ids));
	uint32_t *first = calloc(n + (size_t)1, sizeof(*first));

	if (!ids || !first) {
		free(first);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		ids[i] = gpu_id_of(t, i);
	if (n > 0)
		qsort(ids, n, sizeof(*ids), by_gpu_id_and_rank);
	for (uint32_t i = 0; i < n; i++) {
		bool same = i > 0 && ids[i].id && by_gpu_id(&ids[i - 1], &ids[i]) == 0;

		first[ids[i].rank] = same ? first[ids[i - 1].rank] : ids[i].rank;
	}
	*ret = first;
	return 0;
}

uint32_t fmt_report_n_gpus(const struct fmt_trace *t)
{
	scoped(free_ptr) uint32_t *first = NULL;
	uint32_t n = 0;

	if (fmt_report_gpus(t, &first) < 0)
		return 0;
	for (uint32_t i = 0; i < fmt_trace_n_ranks(t); i++)
		n += first[i] == i;
	return n;
}
