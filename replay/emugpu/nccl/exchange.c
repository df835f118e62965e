/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/nccl/exchange.h"

#include "base/scope.h"

#include <errno.h>

/* One step: each rank writes at most a slot, all meet, each reads what it needs. Two steps take
 * turns with the memory, so that one meeting a step is enough: who writes step i + 2 has met the
 * others in step i + 1, which they reached after reading step i. */
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

/* Reduces elements [at, at + count) of a block that starts at `block` of every slot. */
static int reduce(const struct step *t, uint64_t block, uint64_t at, uint64_t count, void *out)
{
	scoped(free_ptr) const void **inputs = malloc(t->n * sizeof(*inputs));
	scoped(free_ptr) double *scalars = malloc(t->n * sizeof(*scalars));

	if (!inputs || !scalars)
		return -ENOMEM;
	for (uint32_t r = 0; r < t->n; r++) {
		inputs[r] = slot(t, r, block + at);
		scalars[r] = emu_segment_member(t->s, r)->scalar;
	}
	emu_reduce(t->o->type, t->o->reduction, out, inputs, t->n, count, scalars);
	return 0;
}

/* Each rank reduces its share of the step; then all read the whole. */
static int all_reduce(const struct step *t)
{
	uint64_t share = (t->count + t->n - 1) / t->n, at = t->rank * share;
	uint64_t count = at >= t->count ? 0 : t->count - at < share ? t->count - at : share;
	uint8_t *result = emu_segment_result(t->s, t->turn);
	int r = reduce(t, 0, at, count, result + at * t->element);

	if (r == 0)
		r = emu_segment_meet(t->s, EMU_MEETING_DEVICE);
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

/* All ranks say what they have come for and since when they could start. */
static int arrive(struct emu_segment *s, const struct emu_operation *o, int64_t ready_ns,
		  int64_t *start_ns)
{
	struct emu_member *me = emu_segment_member(s, emu_segment_rank(s));
	int64_t latest = ready_ns;
	int r;

	me->ready_ns = ready_ns;
	me->operation = summary_of(o);
	me->scalar = o->scalar;
	r = emu_segment_meet(s, EMU_MEETING_DEVICE);
	for (uint32_t i = 0; r == 0 && i < emu_segment_size(s); i++) {
		const struct emu_member *m = emu_segment_member(s, i);

		if (m->operation != me->operation)
			r = -EINVAL;
		if (m->ready_ns > latest)
			latest = m->ready_ns;
	}
	if (r == -EINVAL)
		emu_segment_abort(s);
	*start_ns = latest;
	return r;
}

int emu_exchange(struct emu_segment *s, const struct emu_operation *o, int64_t ready_ns,
		 int64_t *start_ns)
{
	struct step t = {s, o, emu_segment_size(s), emu_segment_rank(s), *o->step, 0, 0, 0, 0};
	int r = arrive(s, o, ready_ns, start_ns);

	t.element = emu_type_bytes(o->type);
	t.room = emu_segment_slot_bytes(s) / t.element / (by_blocks(o->kind) ? t.n : 1);
	for (; r == 0 && t.at < o->count; t.at += t.count) {
		t.count = o->count - t.at < t.room ? o->count - t.at : t.room;
		put(&t);
		r = emu_segment_meet(s, EMU_MEETING_DEVICE);
		if (r == 0)
			r = get(&t);
		t.turn ^= 1;
	}
	/* Nobody writes the scalars and times of the next one before all have read these. */
	if (r == 0)
		r = emu_segment_meet(s, EMU_MEETING_DEVICE);
	*o->step = t.turn;
	return r;
}
