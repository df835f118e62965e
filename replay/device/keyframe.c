/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/keyframe.h"

#include "formats/trace/store/blobs.h"
#include "replay/device/driver.h"
#include "replay/device/functions.h"
#include "replay/device/placement.h"

#include <errno.h>

/* Makes any context of the process current: each can copy to all memory. */
static int make_current(const struct rex_process *p, const struct rex_allocations *a)
{
	void *context;
	int device = 0;

	for (size_t i = 0; i < a->n; i++)
		device = a->items[i].device >= 0 ? (int)a->items[i].device : device;
	device = rex_device(device, p->device);
	return rex_driver.retain && rex_driver.retain(&context, device) == 0 &&
			       rex_driver.push(context) == 0
		       ? 0
		       : -EIO;
}

/* Copies a page to its address; if that is unknown, counts it in *missing. */
static int restore(const struct rex_process *p, const struct rex_allocations *a,
		   struct rex_objects *objects, const struct rex_content *c, uint64_t *missing)
{
	scoped(free_ptr) uint8_t *data = NULL;
	uint64_t recorded, here = 0;
	size_t len;
	int r;

	if (!rex_allocations_find(a, c, &recorded) || !rex_address(objects, recorded, &here) ||
	    !rex_address_is_mapped(objects, recorded, c->length_bytes)) {
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
	rex_placement_count_stale(objects, data, len);
	return rex_driver.copy(here, (uint64_t)data, len) == 0 ? 0 : -EIO;
}

int rex_keyframe_restore(const struct rex_process *p, const struct rex_allocations *a,
			 struct rex_objects *objects, uint64_t *missing_bytes)
{
	void *context;
	int r;

	if (p->range.first == FMT_BEFORE)
		return 0;
	for (size_t i = 0; i < a->n && p->n_keyframe == 0; i++)
		*missing_bytes += a->items[i].bytes;
	if (p->n_keyframe == 0)
		return 0;
	r = make_current(p, a);
	if (r < 0)
		return r;
	for (size_t i = 0; i < p->n_keyframe && r == 0; i++)
		r = restore(p, a, objects, &p->keyframe[i], missing_bytes);
	if (r == 0 && rex_driver.synchronize() != 0)
		r = -EIO;
	rex_driver.pop(&context);
	return r;
}
