/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/parity.h"

/* A chunk has at most this many blocks, and no block is smaller than this. */
#define BLOCKS 64
#define BLOCK_MIN 64

static size_t block_of(size_t len)
{
	size_t block = (len + BLOCKS - 1) / BLOCKS;

	return block < BLOCK_MIN ? BLOCK_MIN : block;
}

/* Adds all blocks of `data` to sum[]. */
static void add_blocks(uint8_t *sum, const uint8_t *data, size_t len, size_t block)
{
	for (size_t at = 0; at < len; at += block)
		for (size_t i = 0; i < block && at + i < len; i++)
			sum[i] ^= data[at + i];
}

void fmt_parity_put(struct text *t, const void *data, size_t len)
{
	size_t block = block_of(len);
	char *sum;

	fmt_put_varint(t, len);
	sum = text_reserve(t, block);
	if (!sum)
		return;
	memset(sum, 0, block);
	add_blocks((uint8_t *)sum, data, len, block);
	t->len += block;
}

uint64_t fmt_parity_covers(const uint8_t *payload, size_t payload_len)
{
	struct fmt_cursor c = fmt_cursor(payload, payload_len);
	uint64_t len = fmt_varint(&c);

	return c.bad ? 0 : len;
}

/* Whether the chunk is whole. */
static int is_right(const uint8_t *data, size_t len, struct fmt_chunk *ret)
{
	const char *why;

	return fmt_chunk_header_get(data, len, ret, &why) == 0 &&
	       ret->header_bytes + ret->frame_bytes == len &&
	       fmt_hash(data + ret->header_bytes, ret->frame_bytes) == ret->hash;
}

static void flip(uint8_t *data, size_t len, size_t at, const uint8_t *with, size_t block)
{
	for (size_t i = 0; i < block && at + i < len; i++)
		data[at + i] ^= with[i];
}

int fmt_parity_repair(uint8_t *data, size_t len, const uint8_t *payload, size_t payload_len,
		      struct fmt_chunk *ret)
{
	struct fmt_cursor c = fmt_cursor(payload, payload_len);
	size_t block = block_of(len);
	const uint8_t *parity;
	uint8_t *wrong;

	if (fmt_varint(&c) != len || fmt_left(&c) != block)
		return -EBADMSG;
	parity = fmt_bytes(&c, block);
	wrong = malloc(block);
	if (!wrong)
		return -ENOMEM;
	/* The difference between the parity and the sum of all blocks is the damage of one block.
	 */
	memcpy(wrong, parity, block);
	add_blocks(wrong, data, len, block);
	for (size_t at = 0; at < len; at += block) {
		flip(data, len, at, wrong, block);
		if (is_right(data, len, ret)) {
			free(wrong);
			return 0;
		}
		flip(data, len, at, wrong, block);
	}
	free(wrong);
	return -EBADMSG;
}
