/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/context.h"

#include "base/array.h"

/* From this typical value on, it is the difference from it that is coded. */
#define TYPICAL_MIN 64
/* A context teaches the more general one while it has learnt so little itself. */
#define TEACH 4

int fmt_contexts_init(struct fmt_contexts *m, const struct fmt_contexts *reference)
{
	memset(m, 0, sizeof(*m));
	if (reference) {
		memcpy(m->classes, reference->classes, sizeof(m->classes));
		m->reference = reference;
		return 0;
	}
	for (int k = 0; k < FMT_CLASSES; k++)
		for (int mode = 0; mode < 2; mode++) {
			struct fmt_class_context *c = &m->classes[k][mode];

			fmt_dist_init(&c->first);
			fmt_dist_init(&c->more);
			for (int i = 0; i < 32; i++)
				fmt_dist_init(&c->tops[i]);
		}
	return 0;
}

void fmt_contexts_done(struct fmt_contexts *m)
{
	free(m->slots);
	free(m->pool);
	memset(m, 0, sizeof(*m));
}

static uint64_t mix(uint64_t key)
{
	key ^= key >> 31;
	key *= 0x9e3779b97f4a7c15u;
	return key ^ key >> 32;
}

static struct fmt_context *find(const struct fmt_contexts *m, uint64_t key, uint64_t mixed)
{
	uint32_t tag = (uint32_t)(mixed >> 32);

	if (m->n_slots == 0)
		return NULL;
	for (size_t at = mixed & (m->n_slots - 1); m->slots[at].at;
	     at = (at + 1) & (m->n_slots - 1))
		if (m->slots[at].tag == tag && m->pool[m->slots[at].at - 1].key == key)
			return &m->pool[m->slots[at].at - 1];
	return NULL;
}

static void set_slot(struct fmt_context_slot *slots, size_t n, uint64_t mixed, size_t index)
{
	size_t at = mixed & (n - 1);

	while (slots[at].at)
		at = (at + 1) & (n - 1);
	slots[at].tag = (uint32_t)(mixed >> 32);
	slots[at].at = (uint32_t)index + 1;
}

static int grow(struct fmt_contexts *m)
{
	size_t n = m->n_slots ? m->n_slots * 2 : 1024;
	struct fmt_context_slot *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(m->slots);
	m->slots = slots;
	m->n_slots = n;
	for (size_t i = 0; i < m->n; i++)
		set_slot(slots, n, mix(m->pool[i].key), i);
	return 0;
}

struct fmt_context *fmt_context(struct fmt_contexts *m, uint64_t key, const struct fmt_dist *parent)
{
	uint64_t mixed = mix(key);
	struct fmt_context *c = find(m, key, mixed), *old;
	struct fmt_dist from;

	if (c)
		return c;
	if (parent) /* which may move with the pool */
		from = *parent;
	else
		fmt_dist_init(&from);
	if ((m->n >= m->n_slots / 2 && grow(m) < 0) ||
	    array_reserve(&m->pool, m->n + 1, &m->cap) < 0) {
		m->error = -ENOMEM;
		fmt_dist_init(&m->nowhere.dist);
		return &m->nowhere;
	}
	set_slot(m->slots, m->n_slots, mixed, m->n);
	c = &m->pool[m->n++];
	old = m->reference ? find(m->reference, key, mixed) : NULL;
	if (old) {
		*c = *old;
		return c;
	}
	memset(c, 0, sizeof(*c));
	c->key = key;
	memcpy(c->dist.cdf, from.cdf, sizeof(from.cdf));
	return c;
}

uint32_t fmt_code_kind(struct fmt_coder *c, struct fmt_contexts *m, enum fmt_class class,
		       uint32_t a, uint32_t b, uint32_t symbol)
{
	struct fmt_dist *up = &m->classes[class][0].first;
	struct fmt_context *k = fmt_context(m, fmt_context_key(class, 0, a, b), up);

	symbol = fmt_code_symbol(c, &k->dist, symbol);
	fmt_dist_learn(&k->dist, symbol);
	if (k->dist.n <= TEACH)
		fmt_dist_learn(up, symbol);
	return symbol;
}

static unsigned int bit_length(uint64_t v)
{
	return v ? 64 - (unsigned int)__builtin_clzll(v) : 0;
}

/* Folded: 0..7 is the symbol; above, the number of its bits, up to 10; above that a second symbol.
 * Then the three bits below the highest, and the rest as they are. */
#define DIRECT 8
#define ESCAPE 15
#define ESCAPE_BITS 11

static uint32_t first_symbol(uint64_t z)
{
	unsigned int bits = bit_length(z);

	return z < DIRECT ? (uint32_t)z : bits >= ESCAPE_BITS ? ESCAPE : bits + DIRECT - 4;
}

/* What follows the first symbol of a number that is not told by it alone. */
static uint64_t code_rest(struct fmt_coder *c, struct fmt_contexts *m, enum fmt_class class,
			  int mode, uint32_t site, uint32_t symbol, uint64_t z)
{
	struct fmt_class_context *k = &m->classes[class][mode];
	unsigned int bits = symbol - DIRECT + 4;
	struct fmt_dist *tops;
	uint64_t top;

	if (symbol == ESCAPE) {
		struct fmt_dist *d =
			&fmt_context(m, fmt_context_key(class, 4 | (unsigned int)mode, site, 0),
				     &k->more)
				 ->dist;
		uint32_t more = bit_length(z) - ESCAPE_BITS;

		more = fmt_code_symbol(c, d, more < 15 ? more : 15);
		fmt_dist_learn(d, more);
		if (d->n <= TEACH)
			fmt_dist_learn(&k->more, more);
		bits = more + ESCAPE_BITS;
		if (more == 15)
			bits = fmt_code_bits(c, 6, bit_length(z) - 1) + 1;
		if (bits < ESCAPE_BITS)
			bits = ESCAPE_BITS;
	}
	tops = &k->tops[bits < 31 ? bits : 31];
	top = fmt_code_symbol(c, tops, (uint32_t)(z >> (bits - 4) & 7));
	fmt_dist_learn(tops, (uint32_t)top);
	top = (top & 7) | 8;
	return top << (bits - 4) |
	       fmt_code_long(c, bits - 4, z & (((uint64_t)1 << (bits - 4)) - 1));
}

static int64_t absolute(int64_t v)
{
	return v < 0 ? (int64_t)(0 - (uint64_t)v) : v;
}

/* Moves the typical value a quarter of the way, and never further than it is itself. */
static void move_typical(struct fmt_context *k, int64_t v)
{
	const int64_t far = (int64_t)1 << 60;
	int64_t limit, way;

	v = v > far ? far : v < -far ? -far : v;
	if (!k->has) {
		k->a = v;
		k->has = 1;
		return;
	}
	limit = absolute(k->a) > TYPICAL_MIN ? absolute(k->a) : TYPICAL_MIN;
	way = v - k->a;
	way = way > limit ? limit : way < -limit ? -limit : way;
	k->a += way >> 2;
}

/* Teaches a symbol to a distribution, and to the more general ones while they still need it. */
static void learn(struct fmt_dist *leaf, struct fmt_dist *up, struct fmt_dist *top, uint32_t symbol)
{
	fmt_dist_learn(leaf, symbol);
	if (leaf->n > TEACH)
		return;
	if (up) {
		fmt_dist_learn(up, symbol);
		if (up->n > TEACH)
			return;
	}
	fmt_dist_learn(top, symbol);
}

int64_t fmt_code_int(struct fmt_coder *c, struct fmt_contexts *m, enum fmt_class class,
		     uint32_t site, uint32_t pair, int64_t v)
{
	struct fmt_context *of_site =
		fmt_context(m, fmt_context_key(class, 0, site, 0), &m->classes[class][0].first);
	int64_t typical = of_site->has ? of_site->a : 0;
	int mode = absolute(typical) >= TYPICAL_MIN;
	size_t typical_at = (size_t)(of_site - m->pool), leaf_at = typical_at;
	struct fmt_dist *top = &m->classes[class][mode].first, *leaf = &of_site->dist, *up = NULL;
	uint64_t z = fmt_fold(fmt_sub(v, mode ? typical : 0));
	uint32_t symbol;

	if (mode) {
		struct fmt_context *k = fmt_context(m, fmt_context_key(class, 1, site, 0), top);

		leaf = &k->dist;
		leaf_at = (size_t)(k - m->pool);
	}
	if (pair != FMT_NO_PAIR) {
		leaf = &fmt_context(m,
				    fmt_context_key(class, 6 | (unsigned int)mode, site, pair + 1),
				    leaf)
				->dist;
		up = m->error ? NULL : &m->pool[leaf_at].dist;
	}
	symbol = fmt_code_symbol(c, leaf, first_symbol(z));
	learn(leaf, up, top, symbol);
	z = symbol < DIRECT ? symbol : code_rest(c, m, class, mode, site, symbol, z);
	v = fmt_add(fmt_unfold(z), mode ? typical : 0);
	if (!m->error)
		move_typical(&m->pool[typical_at], v);
	return v;
}
