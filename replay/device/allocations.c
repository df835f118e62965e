/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/allocations.h"

#include "base/array.h"
#include "formats/trace/json.h"

#include <errno.h>
#include <string.h>

void rex_allocations_done(struct rex_allocations *a)
{
	free(a->items);
}

static int by_id(const void *a, const void *b)
{
	const struct rex_allocation *x = a, *y = b;

	return array_order(x->id, y->id);
}

int rex_allocations_read(const struct rex_process *p, struct rex_allocations *ret)
{
	const struct fmt_names *names = fmt_trace_names(p->trace);

	for (size_t i = 0; i < p->n_ranks; i++) {
		const char *at = fmt_fact_value(names, p->ranks[i], FMT_FACT_ALLOCATIONS), *row;
		const char *end = at ? at + strlen(at) : NULL;
		size_t len;

		while (at && fmt_json_element(&at, end, &row, &len)) {
			if (array_reserve(&ret->items, ret->n + 1, &ret->cap) < 0)
				return -ENOMEM;
			ret->items[ret->n++] = (struct rex_allocation){
				.id = (uint64_t)fmt_json_member_i64(row, len, "id", 0),
				.address = (uint64_t)fmt_json_member_i64(row, len, "address", 0),
				.bytes = (uint64_t)fmt_json_member_i64(row, len, "bytes", 0),
				.device = fmt_json_member_i64(row, len, "device", -1),
			};
		}
	}
	if (ret->n > 0)
		qsort(ret->items, ret->n, sizeof(ret->items[0]), by_id);
	return 0;
}

bool rex_allocations_find(const struct rex_allocations *a, const struct rex_content *c,
			  uint64_t *ret)
{
	size_t i = array_bound(k, 0, a->n, a->items[k].id < c->allocation);

	if (i == a->n || a->items[i].id != c->allocation)
		return false;
	*ret = a->items[i].address + c->offset_bytes;
	return true;
}
