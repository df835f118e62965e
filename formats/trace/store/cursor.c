/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/cursor.h"

uint64_t fmt_varint_slow(struct fmt_cursor *c)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t b = fmt_u8(c);

		if (shift == 63 && b > 1)
			break;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80)
			return c->bad ? 0 : v;
	}
	c->bad = 1;
	return 0;
}

void fmt_put_u32(struct text *t, uint32_t v)
{
	const char b[4] = {(char)v, (char)(v >> 8), (char)(v >> 16), (char)(v >> 24)};

	text_bytes(t, b, sizeof(b));
}

void fmt_put_u64(struct text *t, uint64_t v)
{
	fmt_put_u32(t, (uint32_t)v);
	fmt_put_u32(t, (uint32_t)(v >> 32));
}

void fmt_put_varint(struct text *t, uint64_t v)
{
	char b[10];
	size_t n = 0;

	while (v >= 0x80) {
		b[n++] = (char)(v | 0x80);
		v >>= 7;
	}
	b[n++] = (char)v;
	text_bytes(t, b, n);
}
