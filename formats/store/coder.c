/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/store/coder.h"

#include "base/array.h"
#include "base/scope.h"

#include <math.h>

#define LOW ((uint64_t)1 << 31) /* the state is never below */

void fmt_coder_start(struct fmt_coder *c)
{
	memset(c, 0, sizeof(*c));
}

void fmt_coder_done(struct fmt_coder *c)
{
	free(c->symbols);
	memset(c, 0, sizeof(*c));
}

void fmt_coder_count(struct fmt_coder *c, uint32_t freq)
{
	*c->bits += FMT_PROB_BITS - log2(freq);
}

void fmt_coder_push(struct fmt_coder *c, uint32_t start, uint32_t freq)
{
	if (c->n == c->cap && array_reserve(&c->symbols, c->n + 1, &c->cap) < 0) {
		c->error = -ENOMEM;
		return;
	}
	c->symbols[c->n++] = (struct fmt_symbol){(uint16_t)start, (uint16_t)freq};
	if (c->bits)
		fmt_coder_count(c, freq);
}

/* Symbols are put in backwards, last first, since they come out as from a stack. */
int fmt_coder_finish(struct fmt_coder *c, struct text *out)
{
	scoped(free_ptr) uint32_t *words = NULL;
	size_t n = 0, cap = 0;
	uint64_t x = LOW;

	for (size_t i = c->n; i-- > 0;) {
		uint32_t freq = c->symbols[i].freq, start = c->symbols[i].start;

		if (x >= (LOW >> FMT_PROB_BITS << 32) * freq) {
			if (array_reserve(&words, n + 1, &cap) < 0)
				return -ENOMEM;
			words[n++] = (uint32_t)x;
			x >>= 32;
		}
		x = (x / freq << FMT_PROB_BITS) + x % freq + start;
	}
	fmt_put_u64(out, x);
	while (n-- > 0)
		fmt_put_u32(out, words[n]);
	return c->error ? c->error : out->error;
}

void fmt_decoder_start(struct fmt_coder *c, const struct fmt_cursor *in)
{
	memset(c, 0, sizeof(*c));
	c->decoding = 1;
	c->in = *in;
	c->state = fmt_u64(&c->in);
	if (c->state >> 63 || c->state < LOW)
		c->in.bad = 1;
}

int fmt_coder_bad(const struct fmt_coder *c)
{
	return c->in.bad || fmt_left(&c->in) > 0 || c->state != LOW;
}

uint64_t fmt_code_long(struct fmt_coder *c, unsigned int n, uint64_t v)
{
	uint64_t got = 0;

	for (unsigned int at = 0; at < n; at += 15) {
		unsigned int part = n - at < 15 ? n - at : 15;

		got |= (uint64_t)fmt_code_bits(c, part, v >> at & ((1u << part) - 1)) << at;
	}
	return got;
}

void fmt_dist_init(struct fmt_dist *d)
{
	for (int i = 0; i < 16; i++)
		d->cdf[i] = (int16_t)(i * (FMT_PROB_ONE / 16));
	d->n = 0;
}
