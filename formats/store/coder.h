/* SPDX-License-Identifier: Apache-2.0 */

/* The entropy coder of slices: one stream of symbols, coded near the logarithm of their
 * probability (rANS: 63-bit state, 32-bit words, probabilities of 15 bits), and the adaptive
 * distributions that give the probabilities. The same calls code and decode, so that a layout is
 * written once: coding, they take the value and return it; decoding, they return what was coded.
 * Neither direction can overrun: what is not there decodes as something, and fmt_coder_bad() tells.
 * doc/format.md is the specification.
 */
#pragma once

#include "formats/store/cursor.h"

#define FMT_PROB_BITS 15
#define FMT_PROB_ONE (1u << FMT_PROB_BITS)

struct fmt_symbol {
	uint16_t start, freq;
};

struct fmt_coder {
	int decoding;
	int error;		     /* coding: out of memory */
	uint64_t state;		     /* decoding */
	struct fmt_cursor in;	     /* decoding: the words to come */
	struct fmt_symbol *at, *end; /* coding: the room that is left in the last block */
	struct fmt_symbol **blocks;  /* coding: all symbols, in blocks that are full; owned */
	size_t n_blocks, blocks_cap;
	double *bits; /* what was coded so far is added up here, if not NULL: sizes.c */
};

void fmt_coder_start(struct fmt_coder *c);
/* Appends the coded stream. 0 or -errno. */
int fmt_coder_finish(struct fmt_coder *c, struct text *out);
void fmt_coder_done(struct fmt_coder *c);

void fmt_decoder_start(struct fmt_coder *c, const struct fmt_cursor *in);
/* Decoding is over: 1 if the stream was not what a coder made. */
int fmt_coder_bad(const struct fmt_coder *c);

void fmt_coder_count(struct fmt_coder *c, uint32_t freq);
/* One more block; 0, or -ENOMEM, which is kept in c->error. */
int fmt_coder_grow(struct fmt_coder *c);

static inline void fmt_coder_push(struct fmt_coder *c, uint32_t start, uint32_t freq)
{
	if (__builtin_expect(c->at == c->end, 0) && fmt_coder_grow(c) < 0)
		return;
	*c->at++ = (struct fmt_symbol){(uint16_t)start, (uint16_t)freq};
	if (__builtin_expect(c->bits != NULL, 0))
		fmt_coder_count(c, freq);
}

/* One step of the decoder behind a symbol of that range. */
static inline void fmt_coder_step(struct fmt_coder *c, uint32_t start, uint32_t freq)
{
	uint64_t x = c->state;

	x = (x >> FMT_PROB_BITS) * freq + (x & (FMT_PROB_ONE - 1)) - start;
	if (x < (uint64_t)1 << 31)
		x = x << 32 | fmt_u32(&c->in);
	c->state = x;
	if (__builtin_expect(c->bits != NULL, 0))
		fmt_coder_count(c, freq);
}

/* `n` <= 15 bits that are as likely 0 as 1. */
static inline uint32_t fmt_code_bits(struct fmt_coder *c, unsigned int n, uint32_t v)
{
	uint32_t freq = FMT_PROB_ONE >> n;

	if (c->decoding) {
		v = (uint32_t)(c->state & (FMT_PROB_ONE - 1)) >> (FMT_PROB_BITS - n);
		fmt_coder_step(c, v << (FMT_PROB_BITS - n), freq);
	} else {
		fmt_coder_push(c, v << (FMT_PROB_BITS - n), freq);
	}
	return v;
}

/* Any number of bits up to 64, low ones first. */
uint64_t fmt_code_long(struct fmt_coder *c, unsigned int n, uint64_t v);

/* Eight numbers at once. */
typedef int16_t fmt_eight __attribute__((vector_size(16), aligned(2)));

/* The distribution of 16 symbols: cdf[i] of 2^15 lie below symbol i. */
struct fmt_dist {
	union {
		int16_t cdf[16];
		fmt_eight half[2];
	};
	uint16_t n; /* how often it has learnt, up to FMT_LEARNT */
};
#define FMT_LEARNT 31

/* All symbols alike, and nothing learnt. */
#define FMT_DIST_EVEN                                                                              \
	{                                                                                          \
		{{0x0000, 0x0800, 0x1000, 0x1800, 0x2000, 0x2800, 0x3000, 0x3800, 0x4000, 0x4800,  \
		  0x5000, 0x5800, 0x6000, 0x6800, 0x7000, 0x7800}},                                \
			0                                                                          \
	}

/* Moves the distribution towards one where nearly all lies on the symbol. */
static inline void fmt_dist_learn(struct fmt_dist *d, uint32_t symbol)
{
	static const uint8_t rates[FMT_LEARNT + 1] = {1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4,
						      4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
						      4, 4, 5, 5, 5, 5, 5, 5, 5, 5};
	const fmt_eight low = {0, 1, 2, 3, 4, 5, 6, 7}, high = {8, 9, 10, 11, 12, 13, 14, 15};
	const int16_t s = (int16_t)symbol, most = (int16_t)(FMT_PROB_ONE - 16);
	int16_t rate = rates[d->n];

	d->n = (uint16_t)(d->n + (d->n < FMT_LEARNT));
	d->half[0] += ((low + ((low > s) & most)) - d->half[0]) >> rate;
	d->half[1] += ((high + ((high > s) & most)) - d->half[1]) >> rate;
}

/* The symbol that `slot` of 2^15 falls on. */
static inline uint32_t fmt_dist_find(const struct fmt_dist *d, uint16_t slot)
{
	const int16_t at = (int16_t)slot;
	union {
		fmt_eight eight;
		uint64_t words[2];
	} below = {.eight = -((d->half[0] <= at) + (d->half[1] <= at))};

	return (uint32_t)((below.words[0] + below.words[1]) * 0x0001000100010001u >> 48) - 1;
}

static inline uint32_t fmt_dist_end(const struct fmt_dist *d, uint32_t symbol)
{
	return symbol == 15 ? FMT_PROB_ONE : (uint16_t)d->cdf[symbol + 1];
}

/* A symbol 0..15; the distribution is not changed. */
static inline uint32_t fmt_code_symbol(struct fmt_coder *c, const struct fmt_dist *d,
				       uint32_t symbol)
{
	if (c->decoding) {
		symbol = fmt_dist_find(d, (uint16_t)(c->state & (FMT_PROB_ONE - 1)));
		fmt_coder_step(c, (uint16_t)d->cdf[symbol],
			       fmt_dist_end(d, symbol) - (uint16_t)d->cdf[symbol]);
	} else {
		fmt_coder_push(c, (uint16_t)d->cdf[symbol],
			       fmt_dist_end(d, symbol) - (uint16_t)d->cdf[symbol]);
	}
	return symbol;
}
