/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/keyframe.h"

#include "base/array.h"
#include "formats/trace/json.h"
#include "formats/trace/store/blobs.h"
#include "replay/device/driver.h"

#include <errno.h>

/* An allocation in the fact of a rank. */
struct allocation {
	uint64_t id, address, bytes;
	int64_t device;
};

struct allocations {
	struct allocation *items; /* owned: by id */
	size_t n, cap;
};

static void allocations_done(struct allocations *a)
{
	free(a->items);
}

static int by_id(const void *a, const void *b)
{
	const struct allocation *x = a, *y = b;

	return array_order(x->id, y->id);
}

/* Reads the allocations of all ranks of the process. */
static int read_allocations(const struct rex_process *p, struct allocations *ret)
{
	const struct fmt_names *names = fmt_trace_names(p->trace);

	for (size_t i = 0; i < p->n_ranks; i++) {
		const char *at = fmt_fact_value(names, p->ranks[i], FMT_FACT_ALLOCATIONS), *row;
		const char *end = at ? at + strlen(at) : NULL;
		size_t len;

		while (at && fmt_json_element(&at, end, &row, &len)) {
			if (array_reserve(&ret->items, ret->n + 1, &ret->cap) < 0)
				return -ENOMEM;
			ret->items[ret->n++] = (struct allocation){
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

/* Any context of the process can copy to all its memory. */
static int make_current(const struct allocations *a)
{
	void *context;
	int device = 0;

	for (size_t i = 0; i < a->n; i++)
		device = a->items[i].device >= 0 ? (int)a->items[i].device : device;
	return rex_driver.retain && rex_driver.retain(&context, device) == 0 &&
			       rex_driver.push(context) == 0
		       ? 0
		       : -EIO;
}

/* Copies a page to where it belongs; *missing counts it if that is not known. */
static int restore(const struct rex_process *p, const struct allocations *a,
		   struct rex_objects *objects, const struct rex_content *c, uint64_t *missing)
{
	scoped(free_ptr) uint8_t *data = NULL;
	size_t i = array_bound(k, 0, a->n, a->items[k].id < c->allocation), len;
	uint64_t here = 0;
	int r;

	if (i == a->n || a->items[i].id != c->allocation ||
	    !rex_address(objects, a->items[i].address + c->offset_bytes, &here) ||
	    !rex_address_holds(objects, a->items[i].address + c->offset_bytes, c->length_bytes)) {
		*missing += c->length_bytes;
		return 0;
	}
	r = fmt_blob_read(p->trace, c->name, &data, &len, NULL);
	if (r == -ENOENT || (r == 0 && len != c->length_bytes)) {
		*missing += c->length_bytes;
		return 0;
	}
	if (r < 0)
		return r;
	return rex_driver.copy(here, (uint64_t)data, len) == 0 ? 0 : -EIO;
}

int rex_keyframe_restore(const struct rex_process *p, struct rex_objects *objects,
			 uint64_t *missing_bytes)
{
	scoped(allocations_done) struct allocations a = {0};
	void *context;
	int r;

	if (p->range.first == FMT_BEFORE)
		return 0;
	r = read_allocations(p, &a);
	for (size_t i = 0; i < a.n && r == 0 && p->n_keyframe == 0; i++)
		*missing_bytes += a.items[i].bytes;
	if (r < 0 || p->n_keyframe == 0)
		return r;
	r = make_current(&a);
	if (r < 0)
		return r;
	for (size_t i = 0; i < p->n_keyframe && r == 0; i++)
		r = restore(p, &a, objects, &p->keyframe[i], missing_bytes);
	if (r == 0 && rex_driver.synchronize() != 0)
		r = -EIO;
	rex_driver.pop(&context);
	return r;
}
