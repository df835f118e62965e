/* SPDX-License-Identifier: Apache-2.0 */

/* Variants of the times of a clock. All variants have the same waits and the same order of
 * processing points: only sums and maxima differ. So each variant follows the clock, a row of
 * points at a time, and never has to wait. */
#include "replay/clock/variant.h"

#include "replay/clock/sim_impl.h"

#include "base/array.h"
#include "formats/run/infer/network.h"

#include <stdbool.h>

/* Ranks leave a collective some microseconds apart on any network: up to this time beyond the
 * shortest transfer is not scaled. */
#define APART_NS FMT_NETWORK_APART_NS

#define SIDE_BY_SIDE 2 /* variants that follow a row of points together */

/* A collective of a variant. */
struct variant_collective {
	int64_t latest_ns, shortest_ns;
	uint64_t last; /* as in struct sim_collective */
};

/* The recorded transfers of the participants that have joined. */
struct variant_apart {
	int64_t least_ns, most_ns;
	uint32_t n;
};

struct variants {
	uint32_t n;
	double *factors; /* by scale, then variant */
	uint32_t n_scales;
	size_t factors_cap;
	uint16_t *table; /* scales by hash; 0: none */
	uint32_t table_size;

	struct variant_collective *collectives; /* by collective, then variant */
	struct variant_apart *apart;		/* by collective */
	struct sim_expected *expected;		/* by collective */
	size_t collectives_cap, apart_cap, expected_cap, n_expected;
};

void sim_variants_free(struct variants *v)
{
	if (!v)
		return;
	free(v->factors);
	free(v->table);
	free(v->collectives);
	free(v->apart);
	free(v->expected);
	free(v);
}

uint32_t sim_n_variants(const struct sim *s)
{
	return s->variants ? s->variants->n : 0;
}

int sim_add_variants(struct sim *s, uint32_t n)
{
	struct variants *v = calloc(1, sizeof(*v));
	double ones[SIM_VARIANTS];
	uint16_t none;

	if (!v)
		return -ENOMEM;
	s->variants = v;
	v->n = n;
	for (uint32_t i = 0; i < n; i++)
		ones[i] = 1;
	return sim_get_scale(s, ones, &none);
}

/* ---- scales ---- */

static uint32_t bucket(const struct variants *v, const double *factors)
{
	const unsigned char *bytes = (const unsigned char *)factors;
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < v->n * sizeof(*factors); i++)
		h = (h ^ bytes[i]) * 0x100000001b3u;
	return (uint32_t)(h ^ h >> 32) & (v->table_size - 1);
}

/* Scale 0 is number 0 in the table, which looks like an empty bucket: check it first. */
static uint32_t find_variant(const struct variants *v, const double *factors)
{
	uint32_t i = bucket(v, factors);

	while (v->table[i] != 0 && memcmp(&v->factors[(size_t)v->table[i] * v->n], factors,
					  v->n * sizeof(*factors)) != 0)
		i = (i + 1) & (v->table_size - 1);
	return i;
}

static int grow_table(struct variants *v)
{
	uint32_t size = v->table_size ? v->table_size * 2 : 64;
	uint16_t *table = calloc(size, sizeof(*table));

	if (!table)
		return -ENOMEM;
	free(v->table);
	v->table = table;
	v->table_size = size;
	for (uint32_t i = 1; i < v->n_scales; i++)
		table[find_variant(v, &v->factors[(size_t)i * v->n])] = (uint16_t)i;
	return 0;
}

int sim_get_scale(struct sim *s, const double *factors, uint16_t *ret)
{
	struct variants *v = s->variants;
	size_t bytes = v->n * sizeof(*factors);
	uint32_t at;

	*ret = 0;
	if (v->n_scales > 0 && memcmp(v->factors, factors, bytes) == 0)
		return 0;
	if (v->n_scales * 2 >= v->table_size && grow_table(v) < 0)
		return -ENOMEM;
	at = find_variant(v, factors);
	if (v->table[at] == 0) {
		if (v->n_scales == SIM_SCALES ||
		    array_reserve(&v->factors, (v->n_scales + 1ul) * v->n, &v->factors_cap) < 0)
			return -ENOMEM;
		memcpy(&v->factors[(size_t)v->n_scales * v->n], factors, bytes);
		v->table[at] = (uint16_t)v->n_scales++;
	}
	*ret = v->table[at];
	return 0;
}

static int64_t scaled(int64_t ns, double factor)
{
	double x = (double)ns * factor;

	return __builtin_fabs(x) < 9e18 ? (int64_t)(x + __builtin_copysign(0.5, x)) : ns;
}

/* Returns variant k of a time with the scale `scale`. */
static inline int64_t variant_of(const struct variants *v, uint32_t k, int64_t ns, uint16_t scale)
{
	return scale ? scaled(ns, v->factors[(size_t)scale * v->n + k]) : ns;
}

/* ---- memory ---- */

int sim_variants_rank(struct sim *s, struct rank *r)
{
	size_t n = (size_t)r->n_tracks * sim_n_variants(s);

	if (n == 0)
		return 0;
	r->variant_now = arena_take(&s->arena, n * sizeof(*r->variant_now), sizeof(int64_t));
	if (!r->variant_now)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		r->variant_now[i] = SIM_NEVER;
	return 0;
}

int sim_variants_block(struct sim *s, struct sim_block *b)
{
	size_t n = (size_t)b->n_slots * sim_n_variants(s);

	if (n == 0)
		return 0;
	return n <= UINT32_MAX ? arena_reserve(&s->arena, &b->variants, n, &b->variants_cap)
			       : -ENOMEM;
}

void sim_variants_drop_wait(const struct sim *s, struct sim_block *b, uint64_t slot)
{
	for (uint32_t k = 0; k < sim_n_variants(s); k++)
		b->variants[(size_t)k * b->n_slots + slot] = SIM_PENDING;
}

int sim_variants_collectives(struct sim *s)
{
	struct variants *v = s->variants;
	size_t n = v ? sim_n_collectives(s->collectives) : 0;

	if (n == 0)
		return 0;
	return array_reserve(&v->collectives, n * v->n, &v->collectives_cap) < 0 ||
			       array_reserve(&v->apart, n, &v->apart_cap) < 0
		       ? -ENOMEM
		       : 0;
}

int sim_expect_transfer(struct sim *s, uint32_t collective, const struct sim_expected *e)
{
	struct variants *v = s->variants;
	size_t n = sim_n_collectives(s->collectives);

	if (array_reserve(&v->expected, n, &v->expected_cap) < 0)
		return -ENOMEM;
	for (; v->n_expected < n; v->n_expected++)
		v->expected[v->n_expected] = (struct sim_expected){0};
	if (sim_collective(s->collectives, collective)->expected == 1 ||
	    e->line_ns > v->expected[collective].line_ns)
		v->expected[collective] = *e;
	return 0;
}

/* ---- time ---- */

/* Returns the moment in variant k that the wait refers to; SIM_NEVER if it is not known, in which
 * case the clock has dropped the wait as well. */
static int64_t moment_of(const struct sim *s, const struct rank *r, const struct sim_block *b,
			 const int64_t *times, const struct sim_wait *w, uint32_t k)
{
	uint32_t slot;

	switch (w->kind) {
	case SIM_AT:
		return 0; /* see lag_of() */
	case SIM_FAR:
	case SIM_OTHER:
		b = sim_far_block(s, r, b->program, w, &slot);
		return b ? b->variants[(size_t)k * b->n_slots + slot] : SIM_NEVER;
	default:
		return times[w->operand];
	}
}

static int64_t lag_of(const struct variants *v, uint32_t k, const struct sim_wait *w)
{
	if (w->kind == SIM_AT)
		return fmt_add(w->lag_ns,
			       variant_of(v, k, w->operand, w->scale) - (int64_t)w->operand);
	return variant_of(v, k, w->lag_ns, w->scale);
}

int64_t sim_variants_lag(const struct sim *s, uint32_t k, const struct sim_wait *w)
{
	return lag_of(s->variants, k, w);
}

static int64_t after_waits(const struct sim *s, uint32_t k, const struct rank *r,
			   const struct track *l, const int64_t *times, const struct sim_wait *w,
			   int64_t t)
{
	for (;; w++) {
		int64_t when = moment_of(s, r, l->block, times, w, k);

		t = moment_wait(t, when, lag_of(s->variants, k, w));
		if (w->last)
			return t;
	}
}

/* The points of variants k .. k + n - 1, side by side: n is a constant of the caller. */
static inline __attribute__((always_inline)) void
run_variants(const struct sim *s, uint32_t k, uint32_t n, struct rank *r, struct track *l,
	     const struct sim_point *at, const struct sim_point *end)
{
	const struct variants *v = s->variants;
	const struct sim_program *p = l->block->program;
	const uint16_t *scale = p->scales + (at - p->points);
	int64_t *now = &r->variant_now[(size_t)(l - r->tracks) * v->n + k], t[SIDE_BY_SIDE];
	int64_t *times[SIDE_BY_SIDE];

	for (uint32_t i = 0; i < n; i++) {
		times[i] = l->block->variants + (size_t)(k + i) * l->block->n_slots;
		t[i] = now[i];
	}
	for (; at < end; at++, scale++) {
		const struct sim_wait *w = p->waits + at->wait;
		bool waits = at->wait != SIM_NONE, one = waits && w->last && w->kind == SIM_MOMENT;

		for (uint32_t i = 0; i < n; i++) {
			int64_t next = moment_after(t[i], variant_of(v, k + i, at->own_ns, *scale));

			if (one)
				next = moment_wait(next, times[i][w->operand],
						   variant_of(v, k + i, w->lag_ns, w->scale));
			else if (waits)
				next = after_waits(s, k + i, r, l, times[i], w, next);
			t[i] = next + (next == SIM_PENDING);
			times[i][at->slot] = t[i];
		}
	}
	for (uint32_t i = 0; i < n; i++)
		now[i] = t[i];
}

void sim_variants_run(struct sim *s, uint32_t rank, struct track *l, const struct sim_point *at,
		      const struct sim_point *end)
{
	uint32_t n = at < end ? s->variants->n : 0, k = 0;

	for (; k + SIDE_BY_SIDE <= n; k += SIDE_BY_SIDE)
		run_variants(s, k, SIDE_BY_SIDE, &s->ranks[rank], l, at, end);
	for (; k < n; k++)
		run_variants(s, k, 1, &s->ranks[rank], l, at, end);
}

/* ---- collectives ---- */

static uint16_t scale_at(const struct track *l)
{
	return l->block->program->scales[l->at - l->block->program->points];
}

static void add_transfer(struct variant_apart *a, int64_t lag_ns)
{
	a->least_ns = lag_ns < a->least_ns ? lag_ns : a->least_ns;
	a->most_ns = lag_ns > a->most_ns ? lag_ns : a->most_ns;
	a->n++;
}

void sim_variants_join(struct sim *s, const struct rank *r, const struct track *l,
		       const struct sim_wait *w)
{
	struct variants *v = s->variants;
	const int64_t *now = &r->variant_now[(size_t)(l - r->tracks) * v->n];
	const struct sim_collective *m = sim_collective(s->collectives, w->operand);
	struct variant_collective *to = &v->collectives[(size_t)w->operand * v->n];
	struct variant_apart *apart = &v->apart[w->operand];
	uint64_t who = sim_arrival(s, r, l);

	if (m->end_ns != SIM_PENDING)
		return;
	if (m->joined == 0) {
		*apart = (struct variant_apart){INT64_MAX, INT64_MIN, 0};
		for (uint32_t k = 0; k < v->n; k++)
			to[k] = (struct variant_collective){INT64_MIN, INT64_MAX, 0};
	}
	if (w->kind == SIM_TRANSFER)
		add_transfer(apart, w->lag_ns);
	for (uint32_t k = 0; k < v->n; k++) {
		int64_t at = fmt_sub(now[k], r->clock_ns);
		int64_t own = variant_of(v, k, l->at->own_ns, scale_at(l));

		if (at > to[k].latest_ns)
			to[k].last = who;
		to[k].latest_ns = at > to[k].latest_ns ? at : to[k].latest_ns;
		to[k].shortest_ns = own < to[k].shortest_ns ? own : to[k].shortest_ns;
	}
}

static int64_t at_least_0(int64_t ns)
{
	return ns > 0 ? ns : 0;
}

/* Estimates the shortest possible transfer of a collective whose ranks leave it at random times:
 * from the shortest transfer of its ranks, corrected towards the line fitted to all such
 * collectives by the share that is noise. If nothing is known of other collectives, exits are
 * assumed to be spread evenly. */
static int64_t shortest_of(const struct variant_apart *a, const struct sim_expected *e)
{
	int64_t ns = fmt_sub(a->least_ns, e->first_exit_ns);
	double off = e->noise_share * (double)fmt_sub(e->line_ns, ns);

	if (e->line_ns <= 0)
		return a->n > 1 ? ns - fmt_sub(a->most_ns, ns) / (int64_t)(a->n - 1) : ns;
	return ns + (int64_t)(off > APART_NS ? APART_NS : off < -APART_NS ? -APART_NS : off);
}

/* Returns a rank's transfer. The time beyond the shortest possible transfer, the rank's exit, is
 * not scaled. If ranks have parts of different sizes, the exit is not known and the mean one is
 * used. */
static int64_t transfer_of(const struct variants *v, uint32_t k, const struct sim_wait *w)
{
	const struct variant_apart *a = &v->apart[w->operand];
	const struct sim_expected e =
		w->operand < v->n_expected ? v->expected[w->operand] : (struct sim_expected){0};
	int64_t own = e.line_ns > 0 ? e.exit_ns : APART_NS / 2;

	if (w->scale == 0)
		return w->lag_ns;
	if (!e.uneven && fmt_sub(a->most_ns, a->least_ns) <= APART_NS)
		own = fmt_sub(w->lag_ns, shortest_of(a, &e));
	own = own < w->lag_ns ? own : w->lag_ns;
	return at_least_0(fmt_add(variant_of(v, k, fmt_sub(w->lag_ns, own), w->scale), own));
}

/* Sets *last to the last rank to arrive. */
static int64_t leave_collective(const struct variants *v, uint32_t k, const struct rank *r,
				const struct sim_wait *w, int64_t now, uint64_t *last)
{
	int64_t t = now;

	for (;; w++) {
		const struct variant_collective *m = &v->collectives[(size_t)w->operand * v->n + k];
		int64_t end = moment_after(m->latest_ns, m->shortest_ns), lag = r->clock_ns;

		if (w->kind == SIM_TRANSFER) {
			end = m->latest_ns;
			lag = fmt_add(transfer_of(v, k, w), lag);
		} else {
			t = moment_wait(t, moment_after(now, m->shortest_ns), 0);
		}
		if (moment_wait(t, end, lag) > t)
			*last = m->last;
		t = moment_wait(t, end, lag);
		if (w->last)
			return t;
	}
}

void sim_variants_leave(struct sim *s, struct rank *r, struct track *l, const struct sim_wait *w)
{
	struct variants *v = s->variants;

	for (uint32_t k = 0; k < v->n; k++) {
		int64_t *now = &r->variant_now[(size_t)(l - r->tracks) * v->n + k];
		uint64_t last = sim_arrival(s, r, l);
		int64_t t = leave_collective(v, k, r, w, *now, &last);

		if (s->causes)
			sim_causes_variant(s, k, last);
		t += t == SIM_PENDING;
		l->block->variants[(size_t)k * l->block->n_slots + l->at->slot] = t;
		*now = t;
	}
}
