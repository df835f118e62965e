/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/program/program.h"

#include "replay/program/compile.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/peers.h"
#include "formats/trace/origin.h"
#include "replay/what_if/copies.h"

#include <stdalign.h>

void program_free(struct program *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; p->ranks && i < p->n_ranks; i++) {
		free(p->ranks[i].pairs);
		launches_done(&p->ranks[i].before);
	}
	arena_done(&p->arena);
	free(p->groups);
	free(p->incomplete);
	free(p->templates);
	fmt_template_gaps_done(&p->template_gaps);
	free(p->nest);
	free(p->order);
	free(p->overlap_waits);
	launches_done(&p->launches);
	free(p);
}

define_cleanup(program_free_ptr, struct program *, program_free);

const struct program_counts *program_counts(const struct program *p)
{
	return &p->counts;
}

/* Returns the recorded rank that a rank repeats. */
static uint32_t source_of(const struct program *p, uint32_t rank)
{
	return p->copies ? p->copies->source[rank] : rank;
}

/* Reads the rank's constants; shares those of the previous rank if their text is the same. */
static const struct fmt_constants *constants_of(struct program *p, uint32_t rank, const char *text,
						const char *before)
{
	struct fmt_constants *ret;

	if (rank > 0 && text == before)
		return p->ranks[rank - 1].constants;
	ret = arena_take(&p->arena, sizeof(*ret), alignof(struct fmt_constants));
	if (ret)
		fmt_constants_get(p->names, source_of(p, rank), ret);
	return ret;
}

/* `text`: the constants of the previous rank as text; replaced by those of this rank. */
static int add_rank(struct program *p, uint32_t rank, const char **text)
{
	struct program_rank *r = &p->ranks[rank];
	const char *before = *text;
	uint32_t source = source_of(p, rank);

	*text = fmt_fact_value(p->names, source, FMT_CONSTANTS_KEY);
	r->n_tracks = fmt_n_tracks(p->names, source);
	r->constants = constants_of(p, rank, *text, before);
	r->tracks = arena_take(&p->arena, r->n_tracks * sizeof(*r->tracks),
			       alignof(struct program_track));
	if (!r->constants || !r->tracks)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_tracks; i++) {
		const struct fmt_track *track = fmt_track(p->names, source, i);

		r->tracks[i] = (struct program_track){.stream = track->kind == FMT_STREAM};
	}
	r->anchored = *text != NULL;
	r->anchor_ns = r->constants->anchor_ns;
	return sim_init_rank(p->sim, rank, r->n_tracks, r->constants->clock_ns);
}

static int by_number(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	return array_order(x->number, y->number) ?: array_order(x->index, y->index);
}

static int add_numbers(struct program *p, const uint32_t *numbers)
{
	int ascend = 1;

	p->by_number = arena_take(&p->arena, (p->n_ranks + 1ul) * sizeof(*p->by_number),
				  alignof(struct numbered));
	if (!p->by_number)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_ranks; i++) {
		p->by_number[i] = (struct numbered){numbers[i], i};
		ascend &= i == 0 || numbers[i - 1] < numbers[i];
	}
	if (!ascend)
		qsort(p->by_number, p->n_ranks, sizeof(*p->by_number), by_number);
	return 0;
}

uint32_t program_rank_of(const struct program *p, uint32_t number)
{
	size_t i = number < p->n_ranks && p->by_number[number].number == number
			   ? number
			   : array_bound(k, 0, p->n_ranks, p->by_number[k].number < number);

	return i < p->n_ranks && p->by_number[i].number == number ? p->by_number[i].index
								  : p->n_ranks;
}

uint32_t program_peer(const struct program *p, uint32_t rank, uint32_t comm, uint32_t number)
{
	const struct copies *c = p->copies;
	uint32_t n = c ? c->n_recorded * c->per_copy : 0, i = 0;

	if (!c)
		return program_rank_of(p, number);
	while (i < n && p->numbers[i] != number)
		i++;
	return i == n || c->connects[comm] != COPIES_ONE_COPY
		       ? p->n_ranks
		       : rank - rank % c->per_copy + c->place[i] % c->per_copy;
}

/* State of the search for the ranks of communicators: the ranks of the current one, and for each
 * rank the last communicator (from 1) in which it was found. */
struct present {
	uint32_t *ranks, *last;
};

static void present_done(struct present *m)
{
	free(m->ranks);
	free(m->last);
}

/* Makes the group of a communicator, from its ranks in the trace; none if fewer than two. */
static int add_group(struct program *p, uint32_t comm, struct present *m)
{
	const struct fmt_comm *c = fmt_comm(p->names, comm);
	uint32_t n = 0, missing = 0;

	p->groups[comm] = SIM_NONE;
	for (uint32_t i = 0; i < (c->n_ranks == 0 ? p->n_ranks : c->n_ranks); i++) {
		uint32_t rank = c->n_ranks == 0 ? i : program_rank_of(p, c->ranks[i]);

		missing |= rank == p->n_ranks;
		if (rank == p->n_ranks || m->last[rank] == comm + 1)
			continue;
		m->last[rank] = comm + 1;
		m->ranks[n++] = rank;
	}
	p->incomplete[comm] = missing != 0;
	return n < 2 ? 0 : sim_add_group(sim_collectives(p->sim), m->ranks, n, &p->groups[comm]);
}

/* Makes the groups of each copy: of its own communicators, and of those that connect copies. */
static int add_copies(struct program *p, struct present *m)
{
	const struct copies *c = p->copies;
	uint32_t n_recorded = c->n_recorded * c->per_copy;

	for (uint32_t comm = 0; comm < p->n_groups; comm++) {
		uint32_t shared = SIM_NONE;

		for (uint32_t k = 0; k < c->n; k++) {
			uint32_t *to = &p->groups[(size_t)k * p->n_groups + comm];
			int one = c->connects[comm] == COPIES_ONE_COPY;
			uint32_t n = one || k == 0 ? copies_group(c, p->names, p->numbers,
								  n_recorded, comm, k, m->ranks)
						   : 0;

			*to = shared;
			if (n >= 2 && sim_add_group(sim_collectives(p->sim), m->ranks, n, to) < 0)
				return -ENOMEM;
			if (!one)
				shared = *to;
		}
	}
	return 0;
}

static int add_groups(struct program *p)
{
	uint32_t n = fmt_n_comms(p->names), n_copies = p->copies ? p->copies->n : 1;
	scoped(present_done) struct present m = {
		.ranks = malloc((p->n_ranks + 1ul) * sizeof(*m.ranks)),
		.last = calloc(p->n_ranks + 1ul, sizeof(*m.last)),
	};

	p->groups = malloc(((size_t)n_copies * n + 1ul) * sizeof(*p->groups));
	p->incomplete = calloc(n + 1ul, sizeof(*p->incomplete));
	if (!m.ranks || !m.last || !p->groups || !p->incomplete)
		return -ENOMEM;
	p->n_groups = n;
	for (uint32_t i = 0; i < p->n_ranks; i++)
		p->ranks[i].groups =
			&p->groups[p->copies ? (size_t)(i / p->copies->per_copy) * n : 0];
	if (p->copies)
		return add_copies(p, &m);
	for (uint32_t i = 0; i < n; i++) {
		int r = add_group(p, i, &m);

		if (r < 0)
			return r;
	}
	return 0;
}

static struct program_pair *add_pair(struct program_rank *r)
{
	if (array_reserve(&r->pairs, r->n_pairs + 1, &r->pairs_cap) < 0)
		return NULL;
	return &r->pairs[r->n_pairs];
}

uint32_t program_pair(struct program *p, uint32_t rank, uint32_t comm, uint32_t peer)
{
	struct program_rank *r = &p->ranks[rank], *other = &p->ranks[peer];
	struct sim_collectives *collectives = sim_collectives(p->sim);
	struct program_pair *mine, *theirs;
	uint32_t group;

	for (size_t i = 0; i < r->n_pairs; i++)
		if (r->pairs[i].comm == comm && r->pairs[i].peer == peer)
			return r->pairs[i].member;
	mine = add_pair(r);
	theirs = add_pair(other);
	if (!mine || !theirs || sim_add_group(collectives, (uint32_t[]){rank, peer}, 2, &group) < 0)
		return SIM_NONE;
	r->n_pairs++;
	other->n_pairs++;
	*mine = (struct program_pair){comm, peer, sim_participant(collectives, rank, group)};
	*theirs = (struct program_pair){comm, rank, sim_participant(collectives, peer, group)};
	return mine->member;
}

static void read_rules(struct program *p)
{
	const struct fmt_rule *rule;

	for (uint32_t i = 0; i < 256 && (rule = fmt_rule(p->names, i)); i++) {
		const char *name = fmt_string(p->names, rule->name, NULL);

		/* Earlier versions called the rule "room". */
		int capacity = strcmp(name, "capacity") == 0 || strcmp(name, "room") == 0;

		p->has_transfers |= strcmp(name, "transfer") == 0;
		p->scales[i] = capacity				? PROGRAM_FROM
			       : strcmp(name, "graph-gap") == 0 ? PROGRAM_DEVICE
								: PROGRAM_CONSTANT;
		p->shares[i] = capacity || strcmp(name, "queue-order") == 0;
	}
}

int program_new(const struct fmt_names *names, const uint32_t *numbers, uint32_t n_ranks,
		struct sim *sim, struct change *change, enum what_if_overlap overlap,
		const struct copies *copies, struct program **ret)
{
	scoped(program_free_ptr) struct program *p = calloc(1, sizeof(*p));
	const char *constants = NULL;

	if (!p)
		return -ENOMEM;
	p->names = names;
	p->sim = sim;
	p->change = change;
	p->overlap = overlap;
	p->copies = copies;
	p->n_ranks = n_ranks;
	p->misses_ranks = !copies && fmt_origin_ranks(names) > n_ranks;
	p->ranks = arena_take(&p->arena, (n_ranks + 1ul) * sizeof(*p->ranks),
			      alignof(struct program_rank));
	if (!p->ranks)
		return -ENOMEM;
	memset(p->ranks, 0, (n_ranks + 1ul) * sizeof(*p->ranks));
	read_rules(p);
	if (change && change_attach(change, sim) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_ranks; i++) {
		if (add_rank(p, i, &constants) < 0)
			return -ENOMEM;
	}
	p->numbers = numbers;
	if (add_numbers(p, copies ? copies->numbers : numbers) < 0 || add_groups(p) < 0 ||
	    fmt_template_gaps_init(&p->template_gaps, fmt_n_templates(names)) < 0)
		return -ENOMEM;
	fmt_template_gaps_get(names, &p->template_gaps);
	*ret = take(p);
	return 0;
}

/* Extracts the members of a template that each of its events needs. */
static int read_templates(struct program *p)
{
	uint32_t n = fmt_n_templates(p->names);

	if (array_reserve(&p->templates, n, &p->templates_cap) < 0)
		return -ENOMEM;
	for (; p->n_templates < n; p->n_templates++) {
		const struct fmt_template *template = fmt_template(p->names, p->n_templates);
		struct template *s = &p->templates[p->n_templates];

		*s = (struct template){.kind = template->kind};
		s->is_numbered =
			template->kind == FMT_COLLECTIVE &&
			fmt_template_varying(p->names, template, FMT_KEY_COMM, &s->comm_at) &&
			fmt_template_varying(p->names, template, FMT_KEY_SEQ, &s->seq_at);
		s->bytes = -1;
		if (s->is_numbered &&
		    !fmt_template_varying(p->names, template, FMT_KEY_BYTES, &s->bytes_at)) {
			s->bytes_at = UINT32_MAX;
			fmt_template_const(p->names, template, FMT_KEY_BYTES, &s->bytes);
		}
		s->peers = fmt_template_peers(p->names, template);
		s->is_sized = (uint8_t)fmt_template_const(p->names, template, "Group size",
							  &(int64_t){0});
	}
	return 0;
}

/* Checks what later functions assume about the slice; finds the range of the launch table. */
static const char *check_slice(const struct program *p, const struct program_rank *r,
			       const struct fmt_slice *s, struct survey *ret)
{
	uint8_t stream = 0;

	*ret = (struct survey){.first = UINT64_MAX, .earliest_ns = INT64_MAX};
	for (size_t i = 0; i < s->n_events; i++) {
		const struct fmt_event *e = &s->events[i];

		if (i == 0 || e->track != e[-1].track) {
			if (e->track >= r->n_tracks || (i > 0 && e->track < e[-1].track))
				return "its tracks are out of order";
			stream = r->tracks[e->track].stream;
		}
		if (e->template >= p->n_templates)
			return "an event has no template";
		if (stream)
			continue;
		if (e->start_ns < ret->earliest_ns)
			ret->earliest_ns = e->start_ns;
		if (e->correlation == 0)
			continue;
		ret->n_launches++;
		if (e->correlation < ret->first)
			ret->first = e->correlation;
		if (e->correlation > ret->last)
			ret->last = e->correlation;
	}
	return NULL;
}

static void fill_program(struct compile *c)
{
	const struct fmt_slice *s = c->slice;

	for (int streams = 0; streams < 2; streams++) {
		if (streams && c->p->overlap == OVERLAP_OFF)
			overlap_begin(c);
		for (size_t i = 0, end; i < s->n_events; i = end) {
			uint32_t track = s->events[i].track;
			struct sim_range *range = &c->block->ranges[track];

			end = array_bound(k, i, s->n_events, s->events[k].track <= track);
			if (c->rank->tracks[track].stream != streams)
				continue;
			range->at = c->n_points;
			compile_seek_edges(c, s->first_number + i);
			if (streams)
				compile_stream(c, track, i, end);
			else
				compile_thread(c, track, i, end);
			range->end = c->n_points;
			range->first_slot = (uint32_t)(2 * i);
			range->end_slot = (uint32_t)(2 * end);
		}
	}
}

int program_compile_slice(struct program *p, uint32_t rank, const struct fmt_slice *slice, int more,
			  struct sim_block **ret, struct fmt_error *err)
{
	struct program_rank *r = &p->ranks[rank];
	struct compile c = {.p = p,
			    .rank = r,
			    .index = rank,
			    .host = change_host_scale(p->change, rank),
			    .launch = change_launch_scale(p->change, rank),
			    .slice = slice};
	struct survey found;
	const char *why;

	if (read_templates(p) < 0)
		return -ENOMEM;
	why = slice->n_events >= UINT32_MAX / 4 ? "it is too large"
						: check_slice(p, r, slice, &found);
	if (why)
		return fmt_fail(err, -EBADMSG, "", FMT_NO_OFFSET, "slice %u of rank %u: %s",
				slice->index, rank, why);
	if (!r->anchored && found.earliest_ns < INT64_MAX) {
		r->anchor_ns = found.earliest_ns;
		r->anchored = 1;
	}
	if (launches_begin(&p->launches, found.n_launches, found.first, found.last) < 0 ||
	    array_reserve(&p->nest, slice->n_events, &p->nest_cap) < 0 ||
	    sim_block_new(p->sim, rank, (uint32_t)(2 * slice->n_events), &c.block) < 0 ||
	    sim_reserve(p->sim, c.block->program, 2 * slice->n_events,
			slice->n_events + slice->n_edges, 0) < 0)
		return -ENOMEM;
	if (c.block->first != 2 * slice->first_number)
		return fmt_fail(err, -EBADMSG, "", FMT_NO_OFFSET,
				"slice %u of rank %u does not follow the one before it",
				slice->index, rank);
	c.to = c.block->program;
	c.points = c.to->points;
	c.scales = c.to->scales;
	fill_program(&c);
	c.to->n_points = c.n_points;
	if (c.error == 0)
		c.error = change_error(p->change);
	if (c.error < 0)
		return c.error;
	if (more) {
		struct launches swap = r->before;

		r->before = p->launches;
		p->launches = swap;
		r->before_first = c.block->first;
	} else {
		launches_done(&r->before);
	}
	*ret = c.block;
	return 0;
}
