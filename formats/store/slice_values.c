/* SPDX-License-Identifier: Apache-2.0 */

/* What events carry beside their times: correlations, the values that vary, the calls of ops. Each
 * is guessed in several ways, and told by the number of the first guess that is right. Host events
 * come in the order of their starts over all threads, since that is how counters count. */
#include "formats/store/slice_impl.h"

#include "base/array.h"
#include "base/scope.h"

/* An enclosing event is asked for its value so far out. */
#define OUTWARD 8
/* A call without an op is looked for so far on. */
#define AHEAD 256

enum guess {
	GUESS_REFERENCE, /* the last of the key, and the step that the reference made there */
	GUESS_STEP,	 /* the last of the key, and the last step of this site */
	GUESS_OUTER,	 /* what encloses it has the same */
	GUESS_SITE,	 /* the site's last */
	GUESS_KEY,	 /* the key's last */
	GUESS_NEXT,	 /* one more than that */
	GUESSES,
	GUESS_NONE = 15,
};

/* ---- order ---- */

static void merge(const struct fmt_run_code *r, const uint32_t *from, uint32_t *to, uint32_t a,
		  uint32_t b, uint32_t end)
{
	uint32_t i = a, k = b;

	for (uint32_t at = a; at < end; at++)
		if (k >= end || (i < b && r->items[from[i]].start <= r->items[from[k]].start))
			to[at] = from[i++];
		else
			to[at] = from[k++];
}

int fmt_order_items(struct fmt_run_code *r)
{
	scoped(free_ptr) uint32_t *ends = malloc(sizeof(*ends) * (r->n_lanes + 1));
	scoped(free_ptr) uint32_t *spare = malloc(sizeof(*spare) * ((size_t)r->n_items + 1));
	size_t n = 0;

	r->order = malloc(sizeof(*r->order) * ((size_t)r->n_items + 1));
	r->calls = malloc(sizeof(*r->calls) * ((size_t)r->n_items + 1));
	if (!ends || !spare || !r->order || !r->calls)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_lanes; i++) {
		if (r->lanes[i].device)
			continue;
		for (uint32_t k = 0; k < r->lanes[i].n; k++)
			r->order[r->n_order++] = r->lanes[i].first + k;
		ends[n++] = r->n_order;
	}
	while (n > 1) {
		uint32_t *swap = r->order;
		size_t kept = 0;

		for (size_t i = 0; i < n; i += 2) {
			uint32_t a = i ? ends[i - 1] : 0, b = ends[i];
			uint32_t end = i + 1 < n ? ends[i + 1] : b;

			/* ends[kept] is not read any more: kept <= i - 1, or it is 0 */
			merge(r, r->order, spare, a, b, end);
			ends[i + 1 < n ? i + 1 : i] = end;
			kept++;
		}
		for (size_t i = 0; i < kept; i++)
			ends[i] = ends[2 * i + 1 < n ? 2 * i + 1 : n - 1];
		n = kept;
		r->order = spare;
		spare = swap;
	}
	return 0;
}

/* ---- values ---- */

/* The value of `key` of the nearest event around `item` that has one. */
static int outer_value(const struct fmt_run_code *r, const struct fmt_item *item, uint32_t key,
		       int64_t *ret)
{
	uint32_t at = item->parent;

	/* A file can have its starts in disorder, and ask for what is not decoded yet. */
	for (int i = 0; i < OUTWARD && at != FMT_NONE; i++, at = r->items[at].parent) {
		const struct fmt_item *outer = &r->items[at];
		const struct fmt_card *card = fmt_card(r, outer);

		for (uint32_t k = 0; k < card->site->n_values; k++)
			if (r->slots[card->first_slot + k].key == key &&
			    outer->values + k < r->n_values) {
				*ret = r->values[outer->values + k];
				return 1;
			}
	}
	return 0;
}

/* A value that is to be guessed. */
struct guessing {
	const struct fmt_item *item;
	struct fmt_slot *slot;
	int64_t key_last, site_last, site_step;
	int64_t reference_step;
	int has_reference;
};

static int guess_of(const struct fmt_run_code *r, const struct guessing *g, enum guess which,
		    int64_t *ret)
{
	switch (which) {
	case GUESS_REFERENCE:
		*ret = fmt_add(g->key_last, g->reference_step);
		return g->has_reference;
	case GUESS_STEP:
		*ret = fmt_add(g->key_last, g->site_step);
		return 1;
	case GUESS_OUTER:
		return outer_value(r, g->item, g->slot->key, ret);
	case GUESS_SITE:
		*ret = g->site_last;
		return 1;
	case GUESS_KEY:
		*ret = g->key_last;
		return 1;
	case GUESS_NEXT:
		*ret = fmt_add(g->key_last, 1);
		return 1;
	default:
		return 0;
	}
}

static uint32_t first_right(const struct fmt_run_code *r, const struct guessing *g, int64_t v)
{
	int64_t guess;

	for (int i = 0; i < GUESSES; i++)
		if (guess_of(r, g, (enum guess)i, &guess) && guess == v)
			return (uint32_t)i;
	return GUESS_NONE;
}

/* The context of a key; there are few keys, which many sites share. */
static struct fmt_context *context_of_key(struct fmt_run_code *r, uint32_t key)
{
	struct fmt_key_context *k = &r->keys[key % ARRAY_SIZE(r->keys)];

	if (!k->context || k->key != key)
		*k = (struct fmt_key_context){
			key,
			fmt_context(&r->contexts, fmt_context_key(FMT_VALUE, 7, key, 0), NULL)};
	return k->context;
}

/* The contexts of a slot, found if this is its first use. */
static void find_contexts(struct fmt_run_code *r, const struct guessing *g)
{
	struct fmt_contexts *m = &r->contexts;
	struct fmt_slot *s = g->slot;
	int which = g->has_reference;

	if (!s->of_key)
		s->of_key = context_of_key(r, s->key);
	if (!s->of_slot[which])
		s->of_slot[which] = fmt_context(
			m,
			fmt_context_key(FMT_GUESS, (unsigned int)which, g->item->site, s->number),
			&fmt_class_context(m, FMT_GUESS, which)->first);
}

/* Codes a value by guesses; sets the step that it made. */
static int64_t code_guessed(struct fmt_run_code *r, struct guessing *g, int64_t v, int64_t *step)
{
	struct fmt_contexts *m = &r->contexts;
	struct fmt_context *of_key, *of_slot;
	uint32_t which;

	find_contexts(r, g);
	of_key = g->slot->of_key;
	of_slot = g->slot->of_slot[g->has_reference];
	g->key_last = of_key->a;
	g->site_last = of_slot->a;
	g->site_step = of_slot->b;
	which = fmt_code_symbol(&r->coder, &of_slot->dist,
				r->coder.decoding ? 0 : first_right(r, g, v));
	fmt_dist_learn(&of_slot->dist, which);
	if (of_slot->dist.n <= 4)
		fmt_dist_learn(&fmt_class_context(m, FMT_GUESS, g->has_reference)->first, which);
	if (which == GUESS_NONE || which >= GUESSES)
		v = fmt_add(g->key_last, fmt_code_int(&r->coder, m, FMT_VALUE, g->slot->key,
						      FMT_NO_PAIR, fmt_sub(v, g->key_last)));
	else if (r->coder.decoding && !guess_of(r, g, (enum guess)which, &v))
		r->coder.in.bad = 1;
	*step = fmt_sub(v, g->key_last);
	of_slot->a = v;
	of_slot->b = *step;
	of_key->a = v;
	return v;
}

/* The reference's step at the value that this one repeats. */
static void refer(const struct fmt_run_code *r, struct guessing *g)
{
	const struct fmt_reference *ref = r->reference;
	uint32_t match = g->item->match;

	if (!ref || match == FMT_NONE || ref->sites[match] != g->item->site)
		return;
	if (g->slot->number == FMT_SLOT_CORRELATION)
		g->reference_step = ref->call_steps[match];
	else
		g->reference_step = ref->steps[ref->values[match] + g->slot->number];
	g->has_reference = 1;
}

static int code_item_values(struct fmt_run_code *r, uint32_t index)
{
	struct fmt_item *item = &r->items[index];
	const struct fmt_card *card = fmt_card(r, item);
	uint32_t n = card->site->n_values;
	size_t first = r->n_values;

	if (n > 0 && (first + n > r->most_values ||
		      array_reserve(&r->values, first + n, &r->values_cap) < 0 ||
		      array_reserve(&r->steps, first + n, &r->steps_cap) < 0))
		return first + n <= r->most_values ? -ENOMEM
		       : r->coder.decoding	   ? -EBADMSG
						   : -EOVERFLOW;
	for (uint32_t k = 0; k < n; k++) {
		struct guessing g = {.item = item, .slot = &r->slots[card->first_slot + k]};
		int64_t v = r->source ? r->source[item->values + k] : 0, step = 0;

		if (g.slot->type == FMT_RATE) {
			v = fmt_code_int(&r->coder, &r->contexts, FMT_VALUE, g.slot->key,
					 item->site, v);
		} else {
			refer(r, &g);
			v = code_guessed(r, &g, v, &step);
		}
		r->values[first + k] = v;
		r->steps[first + k] = step;
	}
	item->values = (uint32_t)first;
	r->n_values += n;
	return r->contexts.error;
}

/* ---- calls ---- */

/* Whether calls of that site launch ops: told once, where it is first met. */
static int launches(struct fmt_run_code *r, const struct fmt_item *item)
{
	struct fmt_card *card = fmt_card(r, item);
	struct fmt_dist *d = &fmt_class_context(&r->contexts, FMT_CALL_GUESS, 1)->first;
	struct fmt_context *k;

	if (card->launches >= 0)
		return card->launches;
	k = fmt_context(&r->contexts, fmt_context_key(FMT_CALL_GUESS, 1, item->site, 0), d);
	if (!k->has) {
		uint32_t symbol = fmt_code_symbol(&r->coder, d, item->launches);

		fmt_dist_learn(d, symbol);
		k->has = 1;
		k->a = symbol != 0;
	}
	card->launches = k->a != 0;
	return card->launches;
}

static void code_correlation(struct fmt_run_code *r, uint32_t index)
{
	struct fmt_item *item = &r->items[index];
	const struct fmt_card *card = fmt_card(r, item);
	struct guessing g = {.item = item,
			     .slot = &r->slots[card->first_slot + card->site->n_values]};

	refer(r, &g);
	item->correlation =
		(uint64_t)code_guessed(r, &g, (int64_t)item->correlation, &r->call_steps[index]);
}

int fmt_code_values(struct fmt_run_code *r)
{
	for (uint32_t i = 0; i < r->n_order; i++) {
		uint32_t index = r->order[i];
		struct fmt_item *item = &r->items[index];
		int e;

		if (item->kind < FMT_RANGE || r->ranges_correlate)
			code_correlation(r, index);
		if (item->kind == FMT_CALL && item->correlation && launches(r, item))
			r->calls[r->n_calls++] = index;
		e = code_item_values(r, index);
		if (e < 0)
			return e;
	}
	return 0;
}

int fmt_code_op_values(struct fmt_run_code *r, const struct fmt_item_lane *lane)
{
	for (uint32_t i = 0; i < lane->n; i++) {
		int e = code_item_values(r, lane->first + i);

		if (e < 0)
			return e;
	}
	return 0;
}

/* ---- the calls of ops ---- */

enum call_guess {
	CALL_REFERENCE, /* as far on as in the reference */
	CALL_NEXT,	/* the next that has no op yet */
	CALL_SAME,	/* that of the op before */
	CALL_ELSE,	/* so many on */
	CALL_MISSING,	/* none in this slice: the correlation is told */
	CALL_ZERO,	/* none, and no correlation */
};

struct call_walk {
	int64_t last; /* index into r->calls; -1 at first */
	uint64_t last_missing;
};

static int64_t next_free(const struct fmt_run_code *r, int64_t from)
{
	int64_t at = from + 1;

	for (int i = 0; i < AHEAD && at < r->n_calls && r->taken[at]; i++)
		at++;
	return at;
}

static int64_t reference_call(const struct fmt_run_code *r, const struct fmt_item *item,
			      const struct call_walk *w)
{
	if (!r->reference || item->match == FMT_NONE)
		return -1;
	return fmt_add(w->last, r->reference->call_steps[item->match]);
}

static uint32_t call_guess(const struct fmt_run_code *r, const struct fmt_item *item,
			   const struct call_walk *w)
{
	int64_t call = item->call;

	if (item->call == FMT_NONE)
		return item->correlation ? CALL_MISSING : CALL_ZERO;
	if (call == reference_call(r, item, w))
		return CALL_REFERENCE;
	if (call == next_free(r, w->last))
		return CALL_NEXT;
	return call == w->last ? CALL_SAME : CALL_ELSE;
}

static void code_call(struct fmt_run_code *r, uint32_t index, struct call_walk *w)
{
	struct fmt_item *item = &r->items[index];
	int64_t call = item->call;
	uint32_t guess = r->coder.decoding ? 0 : call_guess(r, item, w);

	guess = fmt_code_kind(&r->coder, &r->contexts, FMT_CALL_GUESS, item->site,
			      r->reference && item->match != FMT_NONE, guess);
	if (guess == CALL_MISSING) {
		item->correlation = w->last_missing +
				    (uint64_t)fmt_code_int(
					    &r->coder, &r->contexts, FMT_CALL_STEP, 1, FMT_NO_PAIR,
					    (int64_t)(item->correlation - w->last_missing));
		w->last_missing = item->correlation;
	}
	if (guess == CALL_MISSING || guess == CALL_ZERO) {
		item->parent = FMT_NONE;
		return;
	}
	if (guess == CALL_REFERENCE)
		call = reference_call(r, item, w);
	else if (guess == CALL_NEXT)
		call = next_free(r, w->last);
	else if (guess == CALL_SAME)
		call = w->last;
	else
		call = fmt_add(w->last, fmt_code_int(&r->coder, &r->contexts, FMT_CALL_STEP, 0,
						     FMT_NO_PAIR, fmt_sub(call, w->last)));
	item->parent = FMT_NONE;
	if (call < 0 || call >= r->n_calls) {
		r->coder.in.bad = 1;
		return;
	}
	item->parent = r->calls[call];
	item->correlation = r->items[item->parent].correlation;
	r->call_steps[index] = fmt_sub(call, w->last);
	r->taken[call] = 1;
	w->last = call;
}

void fmt_code_calls(struct fmt_run_code *r, const struct fmt_item_lane *lane)
{
	struct call_walk w = {.last = -1};

	for (uint32_t i = lane->first; i < lane->first + lane->n; i++)
		if (r->items[i].kind < FMT_RANGE)
			code_call(r, i, &w);
		else
			r->items[i].parent = FMT_NONE;
}
