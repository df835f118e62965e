/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/ring/put.h"

#include "capture/library/ring/ring.h"

#include <string.h>

void *cap_reserve(uint32_t bytes, enum cap_record_kind kind)
{
	struct cap_thread *t = &cap_self;
	struct cap_record *r =
		!t->writing && cap_ring_prepare(t) ? cap_write_begin(t, bytes) : NULL;

	if (r) {
		*r = (struct cap_record){.bytes = bytes, .kind = (uint16_t)kind};
		t->reserved = bytes;
	}
	return r;
}

void cap_publish(void)
{
	cap_write_end(&cap_self, cap_self.reserved);
	cap_self.reserved = 0;
}

void cap_put_times(uint64_t id, int64_t start_ns, int64_t end_ns)
{
	struct cap_times_record *r = cap_reserve(sizeof(*r), CAP_TIMES);

	if (!r)
		return;
	r->id = id;
	r->start_ns = start_ns;
	r->end_ns = end_ns;
	cap_publish();
}

void cap_put_fact(const char *name, const char *value, size_t value_len)
{
	uint32_t key_len = (uint32_t)strlen(name);
	uint32_t len = value_len > 16384 ? 16384 : (uint32_t)value_len;
	uint32_t bytes = ((uint32_t)sizeof(struct cap_text_record) + key_len + len + 7) & ~7u;
	struct cap_text_record *r = cap_reserve(bytes, CAP_FACT);

	if (!r)
		return;
	r->number = r->spare = 0;
	r->key_len = key_len;
	r->value_len = len;
	memcpy(r->data, name, key_len);
	memcpy(r->data + key_len, value, len);
	cap_publish();
}
