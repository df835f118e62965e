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

static struct fmt_context *context_at(const struct fmt_contexts *m, uint32_t place)
{
	return &m->blocks[place / BLOCK][place % BLOCK];
}

static int add_block(struct fmt_contexts *m)
{
	if (array_reserve(&m->blocks, m->n_blocks + 1, &m->blocks_cap) < 0)
		return -ENOMEM;
	m->blocks[m->n_blocks] = aligned_alloc(sizeof(**m->blocks), sizeof(**m->blocks) * BLOCK);
	if (!m->blocks[m->n_blocks])
		return -ENOMEM;
	m->n_blocks++;
	return 0;
}

struct fmt_class_context *fmt_class_first_use(struct fmt_contexts *m, enum fmt_class class,
					      int mode)
{
	static const struct fmt_class_context fresh = {
		.first = FMT_DIST_EVEN,
		.more = FMT_DIST_EVEN,
		.tops = {[0 ... 31] = FMT_DIST_EVEN},
	};

	m->class_used[class][mode] = 1;
	m->classes[class][mode] = fresh;
	return &m->classes[class][mode];
}

static int copy_pool(struct fmt_contexts *m, const struct fmt_contexts *from)
{
	for (m->n = 0; m->n < from->n; m->n += BLOCK) {
		size_t n = from->n - m->n < BLOCK ? from->n - m->n : BLOCK;

		if (add_block(m) < 0)
			return -ENOMEM;
		memcpy(m->blocks[m->n / BLOCK], from->blocks[m->n / BLOCK],
		       n * sizeof(**m->blocks));
	}
	m->n = from->n;
	m->slots = malloc(from->n_slots * sizeof(*m->slots) + 1);
	if (!m->slots)
		return -ENOMEM;
	m->n_slots = from->n_slots;
	if (m->n_slots > 0)
		memcpy(m->slots, from->slots, m->n_slots * sizeof(*m->slots));
	return 0;
}

static void copy_classes(struct fmt_contexts *m, const struct fmt_contexts *from)
{
	memcpy(m->class_used, from->class_used, sizeof(m->class_used));
	for (int class = 0; class < FMT_CLASSES; class ++)
		for (int mode = 0; mode < 2; mode++)
			if (m->class_used[class][mode])
				m->classes[class][mode] = from->classes[class][mode];
}

int fmt_contexts_init(struct fmt_contexts *m, const struct fmt_contexts *reference)
{
	static struct fmt_context nobody = {.key = UINT64_MAX}, *pool = &nobody;
	static const struct fmt_contexts fresh = {.blocks = &pool, .n = 1};
	const struct fmt_contexts *from = reference ? reference : &fresh;

	memset(m, 0, sizeof(*m));
	m->classes = malloc(sizeof(*m->classes) * FMT_CLASSES);
	if (!m->classes || copy_pool(m, from) < 0)
		return -ENOMEM;
	copy_classes(m, from);
	m->last = context_at(m, 0);
	return 0;
}

void fmt_contexts_done(struct fmt_contexts *m)
{
	for (size_t i = 0; i < m->n_blocks; i++)
		free(m->blocks[i]);
	free(m->blocks);
	free(m->slots);
	free(m->classes);
	memset(m, 0, sizeof(*m));
}

size_t fmt_contexts_bytes(const struct fmt_contexts *m)
{
	return sizeof(*m->classes) * FMT_CLASSES +
	       m->n_blocks * BLOCK * sizeof(struct fmt_context) + m->n_slots * sizeof(*m->slots);
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

/* By so much that what begins as a copy hardly ever has to. */
static int grow(struct fmt_contexts *m)
{
	scoped(free_ptr) struct fmt_context_slot *old = m->slots;
	size_t n = m->n_slots;

	m->n_slots = n ? n * 4 : 256;
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

/* A new one at the end of the pool; its place, or 0 where there is no memory. */
static uint32_t make(struct fmt_contexts *m, uint64_t key, uint32_t tag,
		     const struct fmt_dist *parent)
{
	uint32_t place = (uint32_t)m->n;
	struct fmt_context *c;

	if (m->n >= m->n_slots / 2 && grow(m) < 0)
		return 0;
	if (m->n >= UINT32_MAX || (m->n == m->n_blocks * BLOCK && add_block(m) < 0))
		return 0;
	m->n++;
	c = context_at(m, place);
	c->key = key;
	c->a = c->b = 0;
	c->dist = parent ? *parent : (struct fmt_dist)FMT_DIST_EVEN;
	c->dist.n = 0;
	c->has = 0;
	c->next = 0;
	set_slot(m, (struct fmt_context_slot){tag, place});
	return place;
}

/* Finds or makes what was not guessed, and guesses it from now on. */
static struct fmt_context *look_up(struct fmt_contexts *m, uint64_t key,
				   const struct fmt_dist *parent)
{
	uint32_t tag = tag_of(key);
	uint32_t place = find(m, key, tag);

	if (!place)
		place = make(m, key, tag, parent);
	if (!place) {
		m->error = -ENOMEM;
		m->nowhere.dist = (struct fmt_dist)FMT_DIST_EVEN;
		return &m->nowhere;
	}
	m->last->next = place;
	return m->last = context_at(m, place);
}

static inline struct fmt_context *get(struct fmt_contexts *m, uint64_t key,
				      const struct fmt_dist *parent)
{
	struct fmt_context *c = context_at(m, m->last->next);

	return c->key == key ? m->last = c : look_up(m, key, parent);
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
