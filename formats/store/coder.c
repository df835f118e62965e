/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/store/coder.h"

#include "base/array.h"

#include <math.h>

#define LOW ((uint64_t)1 << 31) /* the state is never below */
#define BLOCK (16u << 10)	/* symbols */

void fmt_coder_start(struct fmt_coder *c)
{
	memset(c, 0, sizeof(*c));
}

void fmt_coder_done(struct fmt_coder *c)
{
	for (size_t i = 0; i < c->n_blocks; i++)
		free(c->blocks[i]);
	free(c->blocks);
	memset(c, 0, sizeof(*c));
}

void fmt_coder_count(struct fmt_coder *c, uint32_t freq)
{
	*c->bits += FMT_PROB_BITS - log2(freq);
}

int fmt_coder_grow(struct fmt_coder *c)
{
	struct fmt_symbol *block = NULL;

	if (array_reserve(&c->blocks, c->n_blocks + 1, &c->blocks_cap) == 0)
		block = malloc(BLOCK * sizeof(*block));
	if (!block) {
		c->error = -ENOMEM;
		return -ENOMEM;
	}
	c->blocks[c->n_blocks++] = block;
	c->at = block;
	c->end = block + BLOCK;
	return 0;
}

/* What comes out of the coder, last word first. */
struct output {
	uint64_t state;
	uint32_t *words;
	size_t n, cap;
};

static int put(struct output *o, const struct fmt_symbol *symbol)
{
	uint32_t freq = symbol->freq;

	if (o->state >= (LOW >> FMT_PROB_BITS << 32) * freq) {
		if (array_reserve(&o->words, o->n + 1, &o->cap) < 0)
			return -ENOMEM;
		o->words[o->n++] = (uint32_t)o->state;
		o->state >>= 32;
	}
	o->state = (o->state / freq << FMT_PROB_BITS) + o->state % freq + symbol->start;
	return 0;
}

/* Symbols are put in backwards, last first, since they come out as from a stack. */
int fmt_coder_finish(struct fmt_coder *c, struct text *out)
{
	struct output o = {.state = LOW};
	int r = c->error;

	for (size_t i = c->n_blocks; i-- > 0 && r == 0;) {
		const struct fmt_symbol *block = c->blocks[i];
		size_t n = i + 1 == c->n_blocks ? (size_t)(c->at - block) : BLOCK;

		while (n-- > 0 && r == 0)
			r = put(&o, &block[n]);
	}
	fmt_put_u64(out, o.state);
	while (o.n-- > 0)
		fmt_put_u32(out, o.words[o.n]);
	free(o.words);
	return r < 0 ? r : out->error;
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
