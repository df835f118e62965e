/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/digest/gd128.h"

#include <pthread.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "units are read as little-endian words"
#endif

/* The keys of a page's units: 64 KiB, which fits into the L2 cache. Vector instructions are no
 * faster: a 64-bit product needs four of them, plus carries. */
static uint64_t keys[2 * GD128_PAGE_UNITS];

static void make_keys(void)
{
	for (unsigned i = 0; i < 2 * GD128_PAGE_UNITS; i++)
		keys[i] = gd128_key(GD128_KEYS_OF_UNITS + i);
}

/* Eight bytes at any address. */
typedef uint64_t word __attribute__((aligned(1), may_alias));

/* Distance of prefetches; the hardware's own prefetching stops at each 4 KiB. */
#define AHEAD_BYTES 1024

/* Adds complete units of one page. */
static void add_units(struct gd128 *sum, unsigned unit, const uint8_t *data, size_t n)
{
	const uint64_t *k = keys + 2 * unit;
	const word *w = (const word *)data;
	struct gd128 s = *sum;

	for (; n >= 4; n -= 4, w += 8, k += 8) {
		__builtin_prefetch((const uint8_t *)w + AHEAD_BYTES);
		gd128_unit(&s, w[0], w[1], k[0], k[1]);
		gd128_unit(&s, w[2], w[3], k[2], k[3]);
		gd128_unit(&s, w[4], w[5], k[4], k[5]);
		gd128_unit(&s, w[6], w[7], k[6], k[7]);
	}
	for (; n > 0; n--, w += 2, k += 2)
		gd128_unit(&s, w[0], w[1], k[0], k[1]);
	*sum = s;
}

/* Adds bytes of one page, from offset `at`. */
static void add_page(struct gd128 *sum, unsigned at, const uint8_t *data, size_t bytes)
{
	size_t units = bytes / GD128_UNIT_BYTES, tail = bytes % GD128_UNIT_BYTES;
	unsigned unit = at / GD128_UNIT_BYTES;

	add_units(sum, unit, data, units);
	if (tail) {
		uint8_t last[GD128_UNIT_BYTES] = {0};

		memcpy(last, data + bytes - tail, tail);
		add_units(sum, unit + (unsigned)units, last, 1);
	}
}

void gd128_add(struct gd128 *pages, uint64_t offset_bytes, const void *data, size_t bytes)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const uint8_t *from = data;

	pthread_once(&once, make_keys);
	while (bytes > 0) {
		unsigned at = offset_bytes % GD128_PAGE_BYTES;
		size_t n = GD128_PAGE_BYTES - at;

		n = n < bytes ? n : bytes;
		add_page(&pages[offset_bytes / GD128_PAGE_BYTES], at, from, n);
		from += n;
		offset_bytes += n;
		bytes -= n;
	}
}

static void fold_page(struct gd128 *sum, uint64_t page, const struct gd128 *page_sum)
{
	uint64_t key = GD128_KEYS_OF_PAGES + 2 * page;

	gd128_unit(sum, page_sum->lo, page_sum->hi, gd128_key(key), gd128_key(key + 1));
}

static void fold_length(struct gd128 *sum, uint64_t bytes)
{
	gd128_unit(sum, bytes, 0, gd128_key(GD128_KEYS_OF_LENGTH),
		   gd128_key(GD128_KEYS_OF_LENGTH + 1));
}

struct gd128 gd128_fold(const struct gd128 *pages, uint64_t bytes)
{
	struct gd128 sum = {0, 0};

	for (uint64_t i = 0; i < gd128_pages(bytes); i++)
		fold_page(&sum, i, &pages[i]);
	fold_length(&sum, bytes);
	return sum;
}

struct gd128 gd128_of(const void *data, size_t bytes)
{
	struct gd128 sum = {0, 0};
	const uint8_t *from = data;

	for (uint64_t at = 0; at < bytes; at += GD128_PAGE_BYTES) {
		struct gd128 page = {0, 0};
		size_t left = bytes - at;

		gd128_add(&page, 0, from + at, left < GD128_PAGE_BYTES ? left : GD128_PAGE_BYTES);
		fold_page(&sum, at / GD128_PAGE_BYTES, &page);
	}
	fold_length(&sum, bytes);
	return sum;
}
