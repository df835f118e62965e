/* SPDX-License-Identifier: Apache-2.0 */

/* A ring overwritten by its thread: eight bytes give its header (u16 tail in units of 8 bytes, u16
 * head beyond it, u32 data bytes - 64 KiB), the rest is the data from the tail on. */
#include "base/scope.h"
#include "capture/consumer.h"

#define SIZE (CAP_RING_HEADER_BYTES + CAP_MIN_RING_BYTES)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void nothing(struct cap_consumer **d)
{
	cap_consumer_close(*d);
}

/* Reads all of each record, as the recorder would. */
static unsigned read_records(struct fmt_cursor *c)
{
	const struct cap_record *r;
	unsigned sum = 0;

	while (cap_record_next(c, &r) == 1)
		for (uint32_t i = 0; i < r->bytes; i++)
			sum += ((const uint8_t *)r)[i];
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	scoped(free_ptr) struct cap_ring *ring = aligned_alloc(CAP_LINE, SIZE);
	scoped(nothing) struct cap_consumer *d = NULL;
	struct fmt_cursor c = fmt_cursor(data, len), records;
	uint64_t tail = fmt_u32(&c), head = tail >> 16;
	uint8_t *at = (uint8_t *)ring + CAP_RING_HEADER_BYTES;

	tail &= 0xffff;
	memset(ring, 0, SIZE);
	ring->magic = CAP_MAGIC;
	ring->version = CAP_VERSION;
	ring->data_offset = CAP_RING_HEADER_BYTES;
	ring->data_bytes = CAP_MIN_RING_BYTES + (uint64_t)fmt_u32(&c);
	if (cap_consumer_attach(ring, SIZE, &d) < 0)
		return 0;
	/* The thread advances to `tail` with empty records, and then writes the input. */
	for (uint64_t i = 0; i < fmt_left(&c); i++)
		at[(tail * 8 + i) % CAP_MIN_RING_BYTES] = c.at[i];
	ring->head = tail * 8;
	cap_consumer_read(d, &records);
	ring->head += head * 8;
	if (cap_consumer_read(d, &records) == 1)
		read_records(&records);
	cap_consumer_status(d);
	return cap_consumer_read(d, &records) == 1;
}
