/* SPDX-License-Identifier: Apache-2.0 */

/* The sequence of sites of each lane, with its nesting. What comes next is guessed from where the
 * same sites followed one another before: in the reference, or earlier in this slice. Only the
 * lengths of the runs that come as guessed are coded, and what breaks them. */
#include "formats/store/slice_impl.h"

#include "base/array.h"
#include "base/scope.h"

/* So many sites before must have been the same. */
#define ORDER 3

/* All lanes one after another. Positions count the reference's items first. */
struct fmt_history {
	uint64_t *tokens; /* site, and pops above it */
	size_t n, cap;
	uint32_t base;	 /* items of the reference, which stand before */
	uint32_t *after; /* by hash of ORDER tokens: the position that followed last, plus 1 */
	uint32_t *next;	 /* by hash of one token */
	size_t slots;
	uint32_t *lanes; /* position at which each lane began, plus 1; by number */
	size_t n_lanes, lanes_cap;
};

void fmt_history_free(struct fmt_history *h)
{
	if (!h)
		return;
	free(h->tokens);
	free(h->after);
	free(h->next);
	free(h->lanes);
	free(h);
}

static struct fmt_history *make(uint32_t n_items, uint32_t base)
{
	struct fmt_history *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->base = base;
	for (h->slots = 256; h->slots < (size_t)n_items * 2;)
		h->slots *= 2;
	h->cap = n_items;
	h->tokens = malloc(sizeof(*h->tokens) * ((size_t)n_items + 1));
	h->after = calloc(h->slots, sizeof(*h->after));
	h->next = calloc(h->slots, sizeof(*h->next));
	if (h->tokens && h->after && h->next)
		return h;
	fmt_history_free(h);
	return NULL;
}

static size_t hash_of(const struct fmt_history *h, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t x = a * 0x9e3779b97f4a7c15u ^ (b + 1) * 0xc2b2ae3d27d4eb4fu ^
		     (c + 2) * 0x165667b19e3779f9u;

	return (size_t)((x ^ x >> 29) * 0xbf58476d1ce4e5b9u >> 24) & (h->slots - 1);
}

/* The token at a position of this history, or of the reference's before it. */
static uint64_t token_at(const struct fmt_history *h, const struct fmt_history *before,
			 uint32_t position)
{
	return position < h->base ? before->tokens[position] : h->tokens[position - h->base];
}

static int lane_start(const struct fmt_history *h, uint32_t number, uint32_t *ret)
{
	if (!h || number >= h->n_lanes || !h->lanes[number])
		return 0;
	*ret = h->lanes[number] - 1;
	return 1;
}

static int set_lane_start(struct fmt_history *h, uint32_t number)
{
	size_t old = h->n_lanes;

	if (number >= h->n_lanes) {
		if (array_reserve(&h->lanes, (size_t)number + 1, &h->lanes_cap) < 0)
			return -ENOMEM;
		memset(h->lanes + old, 0, sizeof(*h->lanes) * (number + 1 - old));
		h->n_lanes = (size_t)number + 1;
	}
	h->lanes[number] = h->base + (uint32_t)h->n + 1;
	return 0;
}

/* Where one is in a lane. */
struct walk {
	struct fmt_history *h;
	const struct fmt_history *before; /* the reference's, or NULL */
	uint64_t last[ORDER];
	uint32_t seen;	/* tokens of this lane */
	uint32_t guess; /* position of what is guessed to come, or FMT_NONE */
	uint32_t end;	/* no position is beyond */
};

static uint32_t look_up(const struct fmt_history *h, const uint64_t last[ORDER], int all)
{
	size_t at;

	if (!h)
		return 0;
	at = all ? hash_of(h, last[0], last[1], last[2]) : hash_of(h, last[0], 0, 0);
	return all ? h->after[at] : h->next[at];
}

/* Guesses anew, from the last tokens: those of this slice first. */
static uint32_t guess_from(const struct walk *w, int all)
{
	uint32_t found;

	if (w->seen < (all ? ORDER : 1))
		return FMT_NONE;
	found = look_up(w->h, w->last, all);
	if (!found)
		found = look_up(w->before, w->last, all);
	return found && found - 1 < w->h->base + w->h->n ? found - 1 : FMT_NONE;
}

static void append(struct walk *w, uint64_t token)
{
	struct fmt_history *h = w->h;
	uint32_t here = h->base + (uint32_t)h->n + 1;

	if (w->seen >= ORDER)
		h->after[hash_of(h, w->last[0], w->last[1], w->last[2])] = here;
	if (w->seen >= 1)
		h->next[hash_of(h, w->last[0], 0, 0)] = here;
	h->tokens[h->n++] = token;
	w->last[2] = w->last[1];
	w->last[1] = w->last[0];
	w->last[0] = token;
	w->seen++;
}

static void set_item(struct fmt_run_code *r, struct fmt_item *item, uint64_t token, uint32_t match)
{
	item->site = (uint32_t)token;
	item->pops = (uint32_t)(token >> 32);
	item->match = r->reference && match < r->reference->n_items ? match : FMT_NONE;
}

/* Takes what is guessed, as the next item; the guess moves on. */
static void take_guess(struct fmt_run_code *r, struct walk *w, struct fmt_item *item)
{
	uint64_t token = token_at(w->h, w->before, w->guess);

	set_item(r, item, token, w->guess);
	append(w, token);
	w->guess++;
	if (w->guess >= w->h->base + w->h->n)
		w->guess = FMT_NONE;
}

static uint64_t token_of(const struct fmt_item *i)
{
	return (uint64_t)i->pops << 32 | i->site;
}

/* How many items from `from` on come as guessed: what take_guess() would make of them. */
static uint32_t run_length(const struct walk *w, const struct fmt_item *items, uint32_t n)
{
	uint32_t run = 0, have = w->h->base + (uint32_t)w->h->n;

	while (run < n) {
		uint32_t at = w->guess + run;
		uint64_t token =
			at < have ? token_at(w->h, w->before, at) : token_of(&items[at - have]);

		if (token != token_of(&items[run]))
			break;
		run++;
	}
	return run;
}

enum literal { ALL_ELSE, SECOND_GUESS, SAME_SITE };

static uint32_t code_site(struct fmt_run_code *r, uint32_t site)
{
	uint32_t got = 0;
	unsigned int digits = 1;

	while (digits < 8 && (r->n_sites - 1) >> 4 * digits)
		digits++;
	while (digits-- > 0)
		got = got << 4 | fmt_code_kind(&r->coder, &r->contexts, FMT_SITE, digits, got,
					       site >> 4 * digits & 15);
	return got;
}

/* An item that was not guessed. */
static uint64_t code_literal(struct fmt_run_code *r, struct walk *w, const struct fmt_item *item,
			     uint32_t *match)
{
	uint64_t want = token_of(item), token;
	uint32_t second = guess_from(w, 0), kind = ALL_ELSE;
	uint64_t guess = second == FMT_NONE ? 0 : token_at(w->h, w->before, second);

	if (second != FMT_NONE && guess == want)
		kind = SECOND_GUESS;
	else if (second != FMT_NONE && (uint32_t)guess == (uint32_t)want)
		kind = SAME_SITE;
	kind = fmt_code_kind(&r->coder, &r->contexts, FMT_LITERAL, second == FMT_NONE, 0, kind);
	*match = kind == ALL_ELSE ? FMT_NONE : second;
	if (kind == SECOND_GUESS)
		return guess;
	token = kind == SAME_SITE ? (uint32_t)guess : code_site(r, item->site);
	return token |
	       (uint64_t)fmt_code_int(&r->coder, &r->contexts, FMT_POPS, 0, FMT_NO_PAIR, item->pops)
		       << 32;
}

static int prepare(struct fmt_run_code *r)
{
	if (!r->history)
		r->history = make(r->n_items, r->reference ? r->reference->n_items : 0);
	return r->history ? 0 : -ENOMEM;
}

/* Checks what was decoded, and fills in what follows from it. */
static int check(struct fmt_run_code *r, struct fmt_item *item, uint32_t open)
{
	if (item->pops > open)
		return -EBADMSG;
	return fmt_set_card(r, item);
}

int fmt_code_tokens(struct fmt_run_code *r, struct fmt_item_lane *lane)
{
	struct walk w = {.guess = FMT_NONE};
	struct fmt_item *items = r->items + lane->first;
	uint32_t open = 0, i = 0;
	int e;

	if (prepare(r) < 0)
		return -ENOMEM;
	w.h = r->history;
	w.before = r->reference ? r->reference->history : NULL;
	if (!lane_start(w.before, lane->number, &w.guess))
		w.guess = FMT_NONE;
	if (set_lane_start(w.h, lane->number) < 0)
		return -ENOMEM;
	while (i < lane->n) {
		uint32_t run = 0, match = FMT_NONE;
		uint64_t token;

		if (w.guess != FMT_NONE)
			run = (uint32_t)fmt_code_int(
				&r->coder, &r->contexts, FMT_RUN, 0, FMT_NO_PAIR,
				r->coder.decoding ? 0 : run_length(&w, items + i, lane->n - i));
		if (run > lane->n - i)
			return -EBADMSG;
		for (; run > 0 && w.guess != FMT_NONE; run--, i++) {
			take_guess(r, &w, &items[i]);
			e = check(r, &items[i], open);
			if (e < 0)
				return e;
			open = open - items[i].pops + 1;
		}
		if (i == lane->n)
			break;
		token = code_literal(r, &w, &items[i], &match);
		set_item(r, &items[i], token, match);
		e = check(r, &items[i], open);
		if (e < 0)
			return e;
		open = open - items[i].pops + 1;
		i++;
		append(&w, token);
		w.guess = guess_from(&w, 1);
		if (w.guess == FMT_NONE && match != FMT_NONE && match + 1 < w.h->base + w.h->n)
			w.guess = match + 1;
	}
	return 0;
}
