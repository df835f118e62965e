/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/nccl/exchange.h"

#include "base/scope.h"
#include "replay/engine/moment.h"

#include <errno.h>

enum { SHARED_BYTES = 256 << 10 };

/* One step: each rank writes at most a slot and what it has come for, all meet, the last one does
 * what needs doing once, each reads what it needs. Two steps take turns with the memory, so that
 * one meeting a step is enough: who writes step i + 2 has met the others in step i + 1, which they
 * reached after reading step i. */
struct step {
	struct emu_segment *s;
	const struct emu_operation *o;
	uint32_t n, rank;
	unsigned turn;
	size_t element;	    /* bytes */
	uint64_t at, count; /* elements of this step: from where, how many (of each block) */
	uint64_t room;	    /* elements of one block in a slot */
};

static const uint8_t *from(const struct step *t, uint64_t element)
{
	return (const uint8_t *)t->o->send + element * t->element;
}

static uint8_t *to(const struct step *t, uint64_t element)
{
	return (uint8_t *)t->o->receive + element * t->element;
}

static uint8_t *slot(const struct step *t, uint32_t rank, uint64_t element)
{
	return emu_segment_slot(t->s, rank, t->turn) + element * t->element;
}

/* Does a slot hold a block for each rank? */
static int by_blocks(enum emu_collective kind)
{
	return kind == EMU_REDUCE_SCATTER || kind == EMU_ALL_TO_ALL || kind == EMU_SCATTER;
}

static void put(const struct step *t)
{
	enum emu_collective kind = t->o->kind;

	if ((kind == EMU_BROADCAST || kind == EMU_SCATTER) && t->rank != t->o->root)
		return;
	if (!by_blocks(kind)) {
		memcpy(slot(t, t->rank, 0), from(t, t->at), t->count * t->element);
		return;
	}
	for (uint32_t r = 0; r < t->n; r++)
		memcpy(slot(t, t->rank, r * t->room), from(t, r * t->o->count + t->at),
		       t->count * t->element);
}

static struct emu_arrival *arrival(const struct step *t, uint32_t rank)
{
	return &emu_segment_member(t->s, rank)->arrivals[t->turn];
}

/* Reduces elements [at, at + count) of a block that starts at `block` of every slot. */
static int reduce(const struct step *t, uint64_t block, uint64_t at, uint64_t count, void *out)
{
	scoped(free_ptr) const void **inputs = malloc(t->n * sizeof(*inputs));
	scoped(free_ptr) double *scalars = malloc(t->n * sizeof(*scalars));

	if (!inputs || !scalars)
		return -ENOMEM;
	for (uint32_t r = 0; r < t->n; r++) {
		inputs[r] = slot(t, r, block + at);
		scalars[r] = arrival(t, r)->scalar;
	}
	emu_reduce(t->o->type, t->o->reduction, out, inputs, t->n, count, scalars);
	return 0;
}

static int reduces_to_one(enum emu_collective kind)
{
	return kind == EMU_ALL_REDUCE || kind == EMU_REDUCE;
}

/* Is it worth another meeting to let each rank reduce its share? */
static int is_shared(const struct step *t)
{
	return t->count * t->element * t->n > SHARED_BYTES;
}

/* Each rank reduces its share of the step, unless the last to come did it; then all read it. */
static int all_reduce(const struct step *t)
{
	uint64_t share = (t->count + t->n - 1) / t->n, at = t->rank * share;
	uint64_t count = at >= t->count ? 0 : t->count - at < share ? t->count - at : share;
	uint8_t *result = emu_segment_result(t->s, t->turn);
	int r = 0;

	if (is_shared(t)) {
		r = reduce(t, 0, at, count, result + at * t->element);
		if (r == 0)
			r = emu_segment_meet(t->s, EMU_MEETING_DEVICE);
	}
	if (r == 0 && (t->o->kind == EMU_ALL_REDUCE || t->rank == t->o->root))
		memcpy(to(t, t->at), result, t->count * t->element);
	return r;
}

static int get(const struct step *t)
{
	size_t bytes = t->count * t->element;

	switch (t->o->kind) {
	case EMU_ALL_REDUCE:
	case EMU_REDUCE:
		return all_reduce(t);
	case EMU_BROADCAST:
		if (t->rank != t->o->root || t->o->receive != t->o->send)
			memcpy(to(t, t->at), slot(t, t->o->root, 0), bytes);
		return 0;
	case EMU_REDUCE_SCATTER:
		return reduce(t, t->rank * t->room, 0, t->count, to(t, t->at));
	case EMU_SCATTER:
		memcpy(to(t, t->at), slot(t, t->o->root, t->rank * t->room), bytes);
		return 0;
	case EMU_GATHER:
		if (t->rank != t->o->root)
			return 0;
		__attribute__((fallthrough));
	case EMU_ALL_GATHER:
		for (uint32_t r = 0; r < t->n; r++)
			memcpy(to(t, r * t->o->count + t->at), slot(t, r, 0), bytes);
		return 0;
	case EMU_ALL_TO_ALL:
		for (uint32_t r = 0; r < t->n; r++)
			memcpy(to(t, r * t->o->count + t->at), slot(t, r, t->rank * t->room),
			       bytes);
		return 0;
	default:
		return -EINVAL;
	}
}

/* What all ranks have to agree on. */
static uint64_t summary_of(const struct emu_operation *o)
{
	uint64_t h = 0xcbf29ce484222325;
	const uint64_t values[] = {o->kind, o->type, o->reduction, o->root, o->count};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		h = (h ^ values[i]) * 0x100000001b3;
	return h;
}

/* Whether all have come for the same. */
static int agree(const struct step *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (arrival(t, i)->operation != arrival(t, t->rank)->operation)
			return 0;
	return 1;
}

static int meet(const struct step *t)
{
	int r = emu_segment_arrive(t->s, EMU_MEETING_DEVICE), done = 0;

	if (r < 0)
		return r;
	if (r > 0) {
		if (agree(t) && reduces_to_one(t->o->kind) && !is_shared(t))
			done = reduce(t, 0, 0, t->count, emu_segment_result(t->s, t->turn));
		emu_segment_release(t->s, EMU_MEETING_DEVICE);
	}
	return agree(t) ? done : -EINVAL;
}

static int64_t end_of(const struct step *t)
{
	struct moment_meeting m = moment_meeting();

	for (uint32_t i = 0; i < t->n; i++)
		moment_join(&m, arrival(t, i)->ready_ns, arrival(t, i)->duration_ns);
	return moment_end(&m);
}

int emu_exchange(struct emu_segment *s, const struct emu_operation *o, int64_t ready_ns,
		 int64_t duration_ns, int64_t *end_ns)
{
	struct step t = {s, o, emu_segment_size(s), emu_segment_rank(s), *o->step, 0, 0, 0, 0};
	const struct emu_arrival mine = {summary_of(o), ready_ns, duration_ns, o->scalar};
	int r;

	*end_ns = moment_after(ready_ns, duration_ns);
	t.element = emu_type_bytes(o->type);
	t.room = emu_segment_slot_bytes(s) / t.element / (by_blocks(o->kind) ? t.n : 1);
	do {
		t.count = o->count - t.at < t.room ? o->count - t.at : t.room;
		*arrival(&t, t.rank) = mine;
		put(&t);
		r = meet(&t);
		if (r == 0) {
			*end_ns = end_of(&t);
			r = get(&t);
		}
		t.turn ^= 1;
		t.at += t.count;
	} while (r == 0 && t.at < o->count);
	if (r < 0)
		emu_segment_abort(s);
	*o->step = t.turn;
	return r;
}
