/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/call/put.h"

#include "capture/library/ring/ring.h"

#include <string.h>

void cap_put_bytes(const struct cap_call *c, unsigned arg, enum cap_blob_kind what, unsigned field,
		   const void *bytes, uint64_t len)
{
	struct cap_thread *t = &cap_self;
	uint64_t most = t->ring->data_bytes / 8 - sizeof(struct cap_blob_record);
	uint32_t kept = (uint32_t)(len < most ? len : most);
	uint32_t size = ((uint32_t)sizeof(struct cap_blob_record) + kept + 7) & ~7u;
	struct cap_blob_record *r = (void *)cap_write_begin(t, size);

	if (!r)
		return;
	*r = (struct cap_blob_record){
		.head = {.bytes = size, .kind = CAP_BLOB, .flags = (uint8_t)what},
		.arg = (uint16_t)arg,
		.field = (uint16_t)field,
		.len = kept,
		.id = c->id,
		.whole_len = len,
	};
	memcpy(r->data, bytes, kept);
	cap_write_end(t, size);
}
