/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/clock/variant.h"

#include "tests/unit/test.h"

#include <ctype.h>
#include <stdio.h>

/* Slots of a block: many more than needed, so that the simulator soon drops old blocks. */
#define SLOTS (SIM_KEPT_SLOTS / 2)

/* A small language for graphs. Ranks are separated by '|', blocks of a rank by '/', tracks by ';'.
 * A track is a row of points. Each is a letter (A to Z, one slot each, unique in the rank) with its
 * constraints:
 *
 *     A+5     5 after the preceding point       <B+2    not before B + 2
 *     @100    not before 100                    *3      meeting 3; +N is then its duration
 *                                               *3~5    the same, 5 after the last arrival
 *
 * `want`: the expected times of some points, such as "A=5 B=7"; ranks are separated by '|'. */
static const struct graph {
	const char *what, *graph, *want;
	unsigned broken, too_far;
} graphs[] = {
	{"one track", "A@10 B+5 C+1", "A=10 B=15 C=16", 0, 0},
	{"a launch", "A@0 B+5; C<B+3 D+10", "C=8 D=18", 0, 0},
	{"stream order delays an operation", "A@0 B+5 E+1 F+5; C<B+3 D+10 G+2<F+3 H+1", "G=20 H=21",
	 0, 0},
	{"the host waits", "A@0 B+5 E+1 F+2<D+2 G+7; C<B+3 D+10", "E=6 F=20 G=27", 0, 0},
	{"a wait that is already over", "A@0 B+5 E+90 F+2<D+2; C<B+3 D+10", "E=95 F=97", 0, 0},
	{"two waits, the later one counts", "A@0 B+5; C@0 D+9; E<B+1<D+2 F+1", "E=11", 0, 0},
	{"a lag may be negative", "A@0 B+5; C<B-3 D+10", "C=2 D=12", 0, 0},
	{"start to start", "A@50 B+9; C@0<A+4 D+1", "C=54", 0, 0},
	{"tracks in any order", "C<B+3 D+10; A@0 B+5", "C=8 D=18", 0, 0},

	{"ranks meet", "A@0 B+7*1 C+1 | A@10 B+4*1 C+1", "B=14 C=15 | B=14 C=15", 0, 0},
	{"the shortest duration counts, whichever rank is late", "A@10 B+7*1 | A@0 B+4*1",
	 "B=14 | B=14", 0, 0},
	{"ranks leave one by one", "A@0 B+7*1~9 C+1 | A@10 B+4*1~4 C+1", "B=19 C=20 | B=14 C=15", 0,
	 0},
	{"no rank leaves before it arrives", "A@5 B+7*1~-4 | A@2 B+1*1~2", "B=5 | B=7", 0, 0},
	{"one rank shares a collective with each of two others",
	 "A@0 B+7*1~9*2~9 | A@10 B+4*1~4 | A@50 B+4*2~4", "B=59 | B=14 | B=54", 0, 0},
	{"two collectives at once, and the longer one counts",
	 "A@0 B+7*1*2 | A@10 B+9*1 | A@5 B+2*2", "B=17 | B=17 | B=7", 0, 0},
	{"two meetings", "A@0 B+3*1 C+0 D+3*2 | A@9 B+3*1 C+5 D+3*2", "B=12 D=20 | D=20", 0, 0},
	{"one rank's recording begins later", "A@0 B+3*1 C+0 D+3*2 | C@1 D+2*2", "B=3 D=5 | D=5", 0,
	 0},
	{"one rank's recording was cut off", "A@0 B+3*1 C+0 D+3*2 | A@8 B+3*1", "B=11 D=14 | B=11",
	 0, 0},
	{"one rank never arrives", "A@0 B+3*1 | C@0", "B=3 | C=0", 0, 0},
	{"declared in a later block", "A@0 B+3*1 | C@70 / A+2 B+5*1", "B=75 | B=75", 0, 0},
	{"a duplicate is ignored", "A@0 B+3*1 C+0 D+9*1 | A@9 B+3*1", "B=12 D=21 | B=12", 0, 0},
	{"on two streams", "A@0 B+3*2; C@0 D+3*1 | C@5 D+3*1 A+1 B+3*2", "B=12 D=8 | B=12", 0, 0},

	{"over blocks", "A@0 B+5 / C+2 D+1", "C=7 D=8", 0, 0},
	{"a track without points in one block", "A@0; B@5 / B; C+1 / D+2", "C=6 D=2", 0, 0},
	{"back", "A@0 B+5; Z@0 / Z; C<B+3 D+10", "C=8 D=18", 0, 0},
	{"forth", "Z@0; C<B+3 D+10 / A@0 B+5", "C=8 D=18", 0, 0},
	{"a wait for a point that was forgotten",
	 "A@0 / B+1 / C+1 / D+1 / E+1 / F+1 / G+1 / H@3<A+90", "H=6", 0, 1},
	{"a wait for a point that never comes", "A@4<Z+9", "A=4", 0, 1},

	{"a point that waits for itself", "A@3<A+5 B+1", "A=3 B=4", 1, 0},
	{"a point that waits for a later one", "A@3<B+5 B+1", "A=3 B=4", 1, 0},
	{"a circle", "A@1<D+1 B+1; C@2<B+1 D+1", "A=1 B=2 C=3 D=4", 1, 0},
	{"two circles", "A@1<D B<E; C<B D; E<C", "A=1 B=1 C=1", 2, 0},
	{"a cycle in each rank", "A@3<A+5 B+1 | A@3<A+5 B+1", "B=4 | B=4", 2, 0},
	{"collectives in a cycle", "A@0 B+3*1 C+0 D+3*2 | C@9 D+3*2 A+0 B+3*1", "", 1, 0},
	{"a cycle and a collective", "A@0 B+3*1 | Z@0; A@7<B+1 B+3*1", "B=10 | B=10", 1, 0},
};

/* Each graph has two variants: all times as they are, and all doubled. */
#define VARIANTS 2

struct rank_spec {
	uint16_t scale;
	int apart; /* ranks leave a collective at different times: that part is not doubled */
	char blocks[8][64];
	int n_blocks, pushed;
	int64_t times[26];
};

static void split(const char *s, char by, char parts[][64], int *n)
{
	*n = 0;
	for (;;) {
		const char *end = strchr(s, by);
		size_t len = end ? (size_t)(end - s) : strlen(s);

		snprintf(parts[(*n)++], 64, "%.*s", (int)len, s);
		if (!end)
			return;
		s = end + 1;
	}
}

/* Returns the block of the rank that defines the point `letter`, or -1. */
static int defined_in(const struct rank_spec *r, char letter)
{
	for (int k = 0; k < r->n_blocks; k++) {
		const char *s = r->blocks[k];

		for (const char *at = strchr(s, letter); at; at = strchr(at + 1, letter))
			if (at == s || at[-1] == ' ')
				return k;
	}
	return -1;
}

static const char *wait_for_letter(struct rank_spec *r, struct sim_block *b, const char *s,
				   struct sim_wait *w)
{
	struct sim_program *p = b->program;
	int block = defined_in(r, *s);
	uint64_t moment =
		(uint64_t)SLOTS * (unsigned)(block < 0 ? 99 : block) + (uint64_t)(*s - 'A');
	char *end = (char *)s + 1;

	if (*end == '+' || *end == '-')
		w->lag_ns = strtol(end, &end, 10);
	w->kind = moment - b->first < SLOTS ? SIM_MOMENT : SIM_FAR;
	w->operand = w->kind == SIM_FAR ? p->n_far : (uint32_t)(*s - 'A');
	if (w->kind == SIM_FAR)
		p->far[p->n_far++] = moment;
	return end;
}

/* Parses one point, such as "A+5<B+2". Slots of a rank's block k begin at SLOTS k. */
static const char *add_point(struct sim *sim, uint32_t rank, struct rank_spec *r,
			     struct sim_block *b, const char *s)
{
	struct sim_program *p = b->program;
	struct sim_point point = {.slot = (uint32_t)(*s++ - 'A'), .wait = SIM_NONE};
	uint32_t member = sim_participant(sim_collectives(sim), rank, 0);
	char *end;

	ck_assert_int_eq(
		sim_reserve(sim, p, p->n_points + 1ul, p->n_waits + strlen(s), p->n_far + 8ul), 0);
	p->scales[p->n_points] = 0;
	while (*s && !isspace(*s)) {
		struct sim_wait w = {0};
		char what = *s++;
		int64_t value = what == '<' ? 0 : strtol(s, &end, 10);

		s = what == '<' ? wait_for_letter(r, b, s, &w) : end;
		if (what == '+') {
			point.own_ns = value;
			p->scales[p->n_points] = r->scale;
			continue;
		}
		if (what == '@')
			w = (struct sim_wait){
				.kind = SIM_AT, .lag_ns = value, .operand = (uint32_t)value};
		if (what == '*')
			w.kind = SIM_COLLECTIVE;
		if (what == '*' && *s == '~') {
			w.kind = SIM_TRANSFER;
			w.lag_ns = strtol(s + 1, &end, 10);
			s = end;
		}
		if (what == '*' &&
		    sim_declare(sim_collectives(sim), member, value, &w.operand) != 1)
			continue;
		if (point.wait == SIM_NONE)
			point.wait = p->n_waits;
		w.scale = r->scale;
		p->waits[p->n_waits++] = w;
	}
	if (point.wait != SIM_NONE)
		p->waits[p->n_waits - 1].last = 1;
	p->points[p->n_points++] = point;
	return s;
}

static void push(struct sim *sim, uint32_t rank, struct rank_spec *r)
{
	char tracks[8][64];
	struct sim_block *b;
	int n;

	ck_assert_int_eq(sim_block_new(sim, rank, SLOTS, &b), 0);
	split(r->blocks[r->pushed], ';', tracks, &n);
	for (int i = 0; i < n; i++) {
		const char *s = tracks[i];
		struct sim_range range = {.at = b->program->n_points, .first_slot = SLOTS};

		while (*(s += strspn(s, " "))) {
			uint32_t slot = (uint32_t)(*s - 'A');

			range.first_slot = slot < range.first_slot ? slot : range.first_slot;
			range.end_slot = slot >= range.end_slot ? slot + 1 : range.end_slot;
			s = add_point(sim, rank, r, b, s);
		}
		range.end = b->program->n_points;
		b->ranges[i] = range;
	}
	b->owner = r;
	r->pushed++;
	ck_assert_int_eq(sim_push(sim, rank, b), 0);
}

static void collect(struct sim *sim)
{
	struct sim_block *b;
	uint32_t rank;

	while ((b = sim_next_finished(sim, &rank))) {
		struct rank_spec *r = b->owner;

		for (int i = 0; i < 26; i++) {
			if (b->times[i] == SIM_PENDING)
				continue;
			r->times[i] = b->times[i];
			if (r->apart)
				continue;
			ck_assert_int_eq(b->variants[i], b->times[i]);
			ck_assert_int_eq(b->variants[SLOTS + i], 2 * b->times[i]);
		}
		sim_release(sim, b);
	}
}

/* Gives each rank its next block on request, and breaks deadlocks. */
static void run_graph(struct sim *sim, struct rank_spec *ranks, int n)
{
	for (;;) {
		uint32_t rank;

		ck_assert_int_eq(sim_advance(sim), 0);
		collect(sim);
		rank = sim_next_idle(sim);
		if (rank != SIM_NONE && ranks[rank].pushed < ranks[rank].n_blocks)
			push(sim, rank, &ranks[rank]);
		else if (rank != SIM_NONE)
			sim_end_rank(sim, rank);
		else if (sim_break_deadlock(sim) == 0)
			break;
	}
	for (int i = 0; i < n; i++)
		ck_assert_uint_eq(sim_unfinished(sim, (uint32_t)i), 0);
}

static void check_times(const struct graph *g, const char *want, const struct rank_spec *r)
{
	for (const char *s = want + strspn(want, " "); *s; s += strspn(s, " ")) {
		char *end;
		int64_t value = strtol(s + 2, &end, 10), got = r->times[*s - 'A'];

		ck_assert_msg(got == value, "%s: %c is %ld instead of %ld", g->what, *s, (long)got,
			      (long)value);
		s = end;
	}
}

TEST_ROWS(test_graphs, graphs)
{
	const struct graph *g = row;
	char specs[8][64], wants[8][64];
	struct rank_spec ranks[8] = {0};
	uint32_t all[8] = {0, 1, 2, 3, 4, 5, 6, 7}, group;
	struct sim *sim;
	int n, n_wants;

	split(g->graph, '|', specs, &n);
	split(g->want, '|', wants, &n_wants);
	ck_assert_int_eq(sim_new((uint32_t)n, &sim), 0);
	ck_assert_int_eq(sim_add_variants(sim, VARIANTS), 0);
	ck_assert_int_eq(sim_add_group(sim_collectives(sim), all, (uint32_t)n, &group), 0);
	for (int k = 0; k < n; k++) {
		split(specs[k], '/', ranks[k].blocks, &ranks[k].n_blocks);
		ck_assert_int_eq(sim_get_scale(sim, (double[VARIANTS]){1, 2}, &ranks[k].scale), 0);
		ck_assert_uint_eq(ranks[k].scale, 1);
		ranks[k].apart = strchr(g->graph, '~') != NULL;
		ck_assert_int_eq(sim_init_rank(sim, (uint32_t)k, 8, 0), 0);
	}
	run_graph(sim, ranks, n);
	for (int k = 0; k < n_wants; k++)
		check_times(g, wants[k], &ranks[k]);
	ck_assert_msg(sim_counts(sim)->broken == g->broken, "%s: %u broken", g->what,
		      (unsigned)sim_counts(sim)->broken);
	ck_assert_msg(sim_counts(sim)->too_far == g->too_far, "%s: %u too far", g->what,
		      (unsigned)sim_counts(sim)->too_far);
	sim_free(sim);
}

/* Two ranks leave a collective 4 us apart. The shortest transfer is taken as 4 us less than the
 * shorter one and is doubled; the rest of each duration stays. */
TEST(test_transfers)
{
	static const int64_t transfers_ns[] = {1000000, 1004000}, want_ns[] = {1996000, 2000000};
	struct sim *sim;
	uint32_t group, rank;
	uint16_t scale, same;
	struct sim_block *b;

	ck_assert_int_eq(sim_new(2, &sim), 0);
	ck_assert_int_eq(sim_add_variants(sim, 1), 0);
	ck_assert_int_eq(sim_get_scale(sim, (double[]){2}, &scale), 0);
	ck_assert_int_eq(sim_get_scale(sim, (double[]){2}, &same), 0);
	ck_assert_uint_eq(scale, same);
	ck_assert_int_eq(sim_get_scale(sim, (double[]){1}, &same), 0);
	ck_assert_uint_eq(same, 0);
	ck_assert_int_eq(sim_add_group(sim_collectives(sim), (uint32_t[]){0, 1}, 2, &group), 0);
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert_int_eq(sim_init_rank(sim, i, 1, 0), 0);
		ck_assert_int_eq(sim_block_new(sim, i, 2, &b), 0);
		ck_assert_int_eq(sim_reserve(sim, b->program, 2, 2, 0), 0);
		b->program->waits[0] = (struct sim_wait){.kind = SIM_AT, .last = 1};
		b->program->waits[1] = (struct sim_wait){
			.kind = SIM_TRANSFER, .lag_ns = transfers_ns[i], .scale = scale, .last = 1};
		ck_assert_int_eq(sim_declare(sim_collectives(sim),
					     sim_participant(sim_collectives(sim), i, 0), 1,
					     &b->program->waits[1].operand),
				 1);
		for (uint32_t k = 0; k < 2; k++) {
			b->program->points[k] = (struct sim_point){.slot = k, .wait = k};
			b->program->scales[k] = 0;
		}
		b->program->n_points = b->program->n_waits = 2;
		b->ranges[0] = (struct sim_range){0, 2, 0, 2};
		ck_assert_int_eq(sim_push(sim, i, b), 0);
		sim_end_rank(sim, i);
	}
	ck_assert_int_eq(sim_advance(sim), 0);
	for (int n = 0; n < 2; n++) {
		b = sim_next_finished(sim, &rank);
		ck_assert_ptr_nonnull(b);
		ck_assert_int_eq(b->times[1], transfers_ns[rank]);
		ck_assert_int_eq(b->variants[1], want_ns[rank]);
		sim_release(sim, b);
	}
	sim_free(sim);
}
