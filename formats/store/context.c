/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/store/context.h"

#include "base/array.h"
#include "base/scope.h"

/* From this typical value on, it is the difference from it that is coded. */
#define TYPICAL_MIN 64
/* A context teaches the more general one while it has learnt so little itself. */
#define TEACH 4

/* The pool is made of blocks of so many. */
#define BLOCK 256
/* A guess of what comes next is a place in the pool, or with this bit in the reference's. */
#define IN_REFERENCE 0x80000000u

static struct fmt_context *context_at(const struct fmt_contexts *m, uint32_t place)
{
	return &m->blocks[place / BLOCK][place % BLOCK];
}

/* A new one at the end of the pool, as `from` is; its place, or 0 where there is no memory. */
static uint32_t add(struct fmt_contexts *m, const struct fmt_context *from)
{
	if (m->n == m->n_blocks * BLOCK) {
		struct fmt_context *block;

		if (m->n >= IN_REFERENCE ||
		    array_reserve(&m->blocks, m->n_blocks + 1, &m->blocks_cap) < 0)
			return 0;
		block = aligned_alloc(sizeof(*block), sizeof(*block) * BLOCK);
		if (!block)
			return 0;
		m->blocks[m->n_blocks++] = block;
	}
	*context_at(m, (uint32_t)m->n) = *from;
	return (uint32_t)m->n++;
}

struct fmt_class_context *fmt_class_first_use(struct fmt_contexts *m, enum fmt_class class,
					      int mode)
{
	struct fmt_class_context *c = &m->classes[class][mode];

	m->class_used[class][mode] = 1;
	if (m->reference && m->reference->class_used[class][mode]) {
		*c = m->reference->classes[class][mode];
		return c;
	}
	fmt_dist_init(&c->first);
	fmt_dist_init(&c->more);
	for (int i = 0; i < 32; i++)
		fmt_dist_init(&c->tops[i]);
	return c;
}

int fmt_contexts_init(struct fmt_contexts *m, const struct fmt_contexts *reference)
{
	static const struct fmt_context nobody = {.key = UINT64_MAX};

	memset(m, 0, sizeof(*m));
	m->classes = malloc(sizeof(*m->classes) * FMT_CLASSES);
	if (!m->classes)
		return -ENOMEM;
	if (reference) {
		m->reference = reference;
		m->copies = calloc(reference->n, sizeof(*m->copies));
		if (!m->copies)
			return -ENOMEM;
	}
	add(m, &nobody);
	if (m->n == 0)
		return -ENOMEM;
	m->last = context_at(m, 0);
	return 0;
}

void fmt_contexts_done(struct fmt_contexts *m)
{
	for (size_t i = 0; i < m->n_blocks; i++)
		free(m->blocks[i]);
	free(m->blocks);
	free(m->slots);
	free(m->copies);
	free(m->classes);
	memset(m, 0, sizeof(*m));
}

size_t fmt_contexts_bytes(const struct fmt_contexts *m)
{
	return sizeof(*m->classes) * FMT_CLASSES +
	       m->n_blocks * BLOCK * sizeof(struct fmt_context) + m->n_slots * sizeof(*m->slots) +
	       (m->reference ? m->reference->n * sizeof(*m->copies) : 0);
}

static uint32_t tag_of(uint64_t key)
{
	return (uint32_t)((key ^ key >> 31) * 0x9e3779b97f4a7c15u >> 32);
}

/* Its place, or 0. */
static uint32_t find(const struct fmt_contexts *m, uint64_t key, uint32_t tag)
{
	if (m->n_slots == 0)
		return 0;
	for (size_t at = tag & (m->n_slots - 1); m->slots[at].at; at = (at + 1) & (m->n_slots - 1))
		if (m->slots[at].tag == tag && context_at(m, m->slots[at].at)->key == key)
			return m->slots[at].at;
	return 0;
}

static void set_slot(struct fmt_contexts *m, struct fmt_context_slot slot)
{
	size_t at = slot.tag & (m->n_slots - 1);

	while (m->slots[at].at)
		at = (at + 1) & (m->n_slots - 1);
	m->slots[at] = slot;
}

/* With a reference, the slots hold what the reference has not. */
static int grow(struct fmt_contexts *m)
{
	scoped(free_ptr) struct fmt_context_slot *old = m->slots;
	size_t n = m->n_slots;

	m->n_slots = n ? n * 2 : 256;
	m->slots = calloc(m->n_slots, sizeof(*m->slots));
	if (!m->slots) {
		m->n_slots = 0;
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		if (old[i].at)
			set_slot(m, old[i]);
	return 0;
}

/* The copy of what stands at a place of the reference's pool; 0 where there is no memory. */
static uint32_t copy_of(struct fmt_contexts *m, uint32_t place)
{
	uint32_t *copy = &m->copies[place];

	if (*copy)
		return *copy;
	*copy = add(m, context_at(m->reference, place));
	if (*copy)
		context_at(m, *copy)->next |= IN_REFERENCE;
	return *copy;
}

static uint32_t make(struct fmt_contexts *m, uint64_t key, uint32_t tag,
		     const struct fmt_dist *parent)
{
	struct fmt_context fresh = {.key = key};
	uint32_t place;

	fmt_dist_init(&fresh.dist);
	if (parent)
		memcpy(fresh.dist.cdf, parent->cdf, sizeof(parent->cdf));
	if (m->n >= m->n_slots / 2 && grow(m) < 0)
		return 0;
	place = add(m, &fresh);
	if (place)
		set_slot(m, (struct fmt_context_slot){tag, place});
	return place;
}

/* Finds or makes what was not guessed, and guesses it from now on. */
static struct fmt_context *look_up(struct fmt_contexts *m, uint64_t key,
				   const struct fmt_dist *parent)
{
	uint32_t tag = tag_of(key);
	uint32_t place = m->reference ? find(m->reference, key, tag) : 0;

	if (place)
		place = copy_of(m, place);
	else if (!(place = find(m, key, tag)))
		place = make(m, key, tag, parent);
	if (!place) {
		m->error = -ENOMEM;
		fmt_dist_init(&m->nowhere.dist);
		return &m->nowhere;
	}
	m->last->next = place;
	return m->last = context_at(m, place);
}

static inline struct fmt_context *get(struct fmt_contexts *m, uint64_t key,
				      const struct fmt_dist *parent)
{
	uint32_t guess = m->last->next;
	struct fmt_context *c;

	if (guess & IN_REFERENCE) {
		guess &= ~IN_REFERENCE;
		guess = context_at(m->reference, guess)->key == key ? copy_of(m, guess) : 0;
	}
	c = context_at(m, guess);
	if (c->key != key)
		return look_up(m, key, parent);
	return m->last = c;
}

struct fmt_context *fmt_context(struct fmt_contexts *m, uint64_t key, const struct fmt_dist *parent)
{
	return get(m, key, parent);
}

uint32_t fmt_code_kind(struct fmt_coder *c, struct fmt_contexts *m, enum fmt_class class,
		       uint32_t a, uint32_t b, uint32_t symbol)
{
	struct fmt_dist *up = &fmt_class_context(m, class, 0)->first;
	struct fmt_context *k = get(m, fmt_context_key(class, 0, a, b), up);

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

static struct fmt_context *known_context(struct fmt_contexts *m, struct fmt_context **known,
					 uint64_t key, const struct fmt_dist *parent)
{
	if (!*known)
		*known = get(m, key, parent);
	return *known;
}

/* What is coded, and how: an integer of a class at a site. */
struct int_code {
	struct fmt_coder *c;
	struct fmt_contexts *m;
	enum fmt_class class;
	uint32_t site;
	struct fmt_int_contexts *known;
	int mode;
};

/* The bits of a number that the first symbol does not tell. */
static unsigned int code_length(const struct int_code *i, uint64_t z)
{
	struct fmt_class_context *k = fmt_class_context(i->m, i->class, i->mode);
	struct fmt_dist *d =
		&known_context(i->m, &i->known->more[i->mode],
			       fmt_context_key(i->class, 4 | (unsigned int)i->mode, i->site, 0),
			       &k->more)
			 ->dist;
	uint32_t more = bit_length(z) - ESCAPE_BITS;

	more = fmt_code_symbol(i->c, d, more < 15 ? more : 15);
	fmt_dist_learn(d, more);
	if (d->n <= TEACH)
		fmt_dist_learn(&k->more, more);
	if (more < 15)
		return more + ESCAPE_BITS;
	more = fmt_code_bits(i->c, 6, bit_length(z) - 1) + 1;
	return more < ESCAPE_BITS ? ESCAPE_BITS : more;
}

/* What follows the first symbol of a number that is not told by it alone. */
static uint64_t code_rest(const struct int_code *i, uint32_t symbol, uint64_t z)
{
	unsigned int bits = symbol == ESCAPE ? code_length(i, z) : symbol - DIRECT + 4;
	struct fmt_dist *tops =
		&fmt_class_context(i->m, i->class, i->mode)->tops[bits < 31 ? bits : 31];
	uint64_t top = fmt_code_symbol(i->c, tops, (uint32_t)(z >> (bits - 4) & 7));

	fmt_dist_learn(tops, (uint32_t)top);
	top = (top & 7) | 8;
	if (bits == 4)
		return top;
	return top << (bits - 4) |
	       fmt_code_long(i->c, bits - 4, z & (((uint64_t)1 << (bits - 4)) - 1));
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

int64_t fmt_code_int_at(struct fmt_coder *c, struct fmt_contexts *m, enum fmt_class class,
			uint32_t site, struct fmt_int_contexts *known, uint32_t pair, int64_t v)
{
	struct fmt_context *of_site =
		known_context(m, &known->of_site[0], fmt_context_key(class, 0, site, 0),
			      &fmt_class_context(m, class, 0)->first);
	int64_t typical = of_site->has ? of_site->a : 0;
	int mode = absolute(typical) >= TYPICAL_MIN;
	struct int_code i = {c, m, class, site, known, mode};
	struct fmt_dist *top = &fmt_class_context(m, class, mode)->first, *leaf = &of_site->dist,
			*up = NULL;
	uint64_t z = fmt_fold(fmt_sub(v, mode ? typical : 0));
	uint32_t symbol;

	if (mode)
		leaf = &known_context(m, &known->of_site[1], fmt_context_key(class, 1, site, 0),
				      top)
				->dist;
	if (pair != FMT_NO_PAIR) {
		up = leaf;
		leaf = &get(m, fmt_context_key(class, 6 | (unsigned int)mode, site, pair + 1), up)
				->dist;
	}
	symbol = fmt_code_symbol(c, leaf, first_symbol(z));
	learn(leaf, up, top, symbol);
	z = symbol < DIRECT ? symbol : code_rest(&i, symbol, z);
	v = fmt_add(fmt_unfold(z), mode ? typical : 0);
	move_typical(of_site, v);
	return v;
}

int64_t fmt_code_int(struct fmt_coder *c, struct fmt_contexts *m, enum fmt_class class,
		     uint32_t site, uint32_t pair, int64_t v)
{
	struct fmt_int_contexts known = {0};

	return fmt_code_int_at(c, m, class, site, &known, pair, v);
}
