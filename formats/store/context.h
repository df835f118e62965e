/* SPDX-License-Identifier: Apache-2.0 */

/* What is known of the numbers that are coded, by kind of number, by site and by pair of sites:
 * distributions that begin as a copy of their more general one when they are first met, and a
 * typical value. doc/format.md is the specification. */
#pragma once

#include "formats/store/coder.h"

/* Kinds of numbers. Part of the format: add at the end only. */
enum fmt_class {
	FMT_TIME_FIRST,	 /* gap between a parent's start and its first child's */
	FMT_TIME_NEXT,	 /* gap between an end and the next start */
	FMT_TIME_LEAF,	 /* duration of what has nothing inside */
	FMT_TIME_TAIL,	 /* between the last child's end and the parent's */
	FMT_OP_LAUNCHED, /* start of an op against its call's start, the stream being idle */
	FMT_OP_QUEUED,	 /* start of an op against the end before it on the stream */
	FMT_OP_ALONE,	 /* the same for an op without a call */
	FMT_OP_LEAF,	 /* duration of an op */
	FMT_REST,	 /* what a time is above a multiple of the unit */
	FMT_RUN,	 /* how many sites come as predicted */
	FMT_LITERAL,	 /* how a site that was not predicted is told */
	FMT_SITE,	 /* digits of its number */
	FMT_POPS,	 /* how many enclosing events end before it */
	FMT_GUESS,	 /* which guess is right, of a value */
	FMT_VALUE,	 /* how far from the guess it is, if none is */
	FMT_CALL_GUESS,	 /* the same for the call of an op */
	FMT_CALL_STEP,
	FMT_EDGE,	 /* fields of edges */
	FMT_NAME_GUESS,	 /* which guess is right, of a part of a site */
	FMT_NAME_NUMBER, /* the part, if none is */
	FMT_CLASSES,
};

/* A cache line. */
struct fmt_context {
	uint64_t key;
	int64_t a, b; /* typical value; or the last value, and its last step */
	struct fmt_dist dist;
	uint16_t has;
	uint32_t next; /* the place of what was asked for after it the last time: a guess */
};
_Static_assert(sizeof(struct fmt_context) == 64, "a cache line");

struct fmt_class_context {
	struct fmt_dist first, more;
	struct fmt_dist tops[32]; /* the bits below the highest one, by its place */
};

struct fmt_context_slot {
	uint32_t tag; /* hash of the key, so that others need not be looked at */
	uint32_t at;  /* place in the pool; 0: free */
};

struct fmt_contexts {
	struct fmt_class_context (*classes)[2]; /* by class and mode; owned */
	uint8_t class_used[FMT_CLASSES][2];	/* 1: it is there; see fmt_class_context() */
	struct fmt_context_slot *slots;
	struct fmt_context **blocks; /* the pool; nothing in it moves. Place 0 belongs to no key */
	size_t n_slots, n, n_blocks, blocks_cap;
	struct fmt_context *last;   /* what was asked for last */
	struct fmt_context nowhere; /* stands in when memory runs out */
	int error;
};

/* With a reference all is as at the reference's end, else fresh. */
int fmt_contexts_init(struct fmt_contexts *m, const struct fmt_contexts *reference);
void fmt_contexts_done(struct fmt_contexts *m);
/* Bytes of memory that it holds. */
size_t fmt_contexts_bytes(const struct fmt_contexts *m);

struct fmt_class_context *fmt_class_first_use(struct fmt_contexts *m, enum fmt_class class,
					      int mode);

/* What is general to a class. */
static inline struct fmt_class_context *fmt_class_context(struct fmt_contexts *m,
							  enum fmt_class class, int mode)
{
	if (__builtin_expect(m->class_used[class][mode], 1))
		return &m->classes[class][mode];
	return fmt_class_first_use(m, class, mode);
}

static inline uint64_t fmt_context_key(enum fmt_class class, unsigned int sub, uint32_t a,
				       uint32_t b)
{
	return (uint64_t) class << 59 | (uint64_t)(sub & 7) << 56 |
	       (uint64_t)(a & 0xfffffff) << 28 | (b & 0xfffffff);
}

/* Finds or makes; a new one's distribution is a copy of `parent`, or even. The pointer stands until
 * fmt_contexts_done(). */
struct fmt_context *fmt_context(struct fmt_contexts *m, uint64_t key,
				const struct fmt_dist *parent);

/* A symbol 0..15 of a class, given what `a` and `b` are. */
uint32_t fmt_code_kind(struct fmt_coder *c, struct fmt_contexts *m, enum fmt_class class,
		       uint32_t a, uint32_t b, uint32_t symbol);

/* The contexts of the integers of one class at one site, each found at its first use. */
struct fmt_int_contexts {
	struct fmt_context *of_site[2], *more[2]; /* by mode: doc/format.md */
};

/* An integer of a class, given a site; and, unless it is FMT_NO_PAIR, what stands before it.
 * `known` belongs to the class and the site, and begins as zeroes. */
#define FMT_NO_PAIR UINT32_MAX
int64_t fmt_code_int_at(struct fmt_coder *c, struct fmt_contexts *m, enum fmt_class class,
			uint32_t site, struct fmt_int_contexts *known, uint32_t pair, int64_t v);
/* The same of a class and site that nothing is kept of. */
int64_t fmt_code_int(struct fmt_coder *c, struct fmt_contexts *m, enum fmt_class class,
		     uint32_t site, uint32_t pair, int64_t v);
