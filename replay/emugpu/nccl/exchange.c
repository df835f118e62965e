/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/nccl/exchange.h"

#include "base/scope.h"
#include "replay/clock/moment.h"
#include "replay/emugpu/absent.h"
#include "replay/emugpu/data.h"

#include <errno.h>

enum { SHARED_BYTES = 256 << 10 };

/* One step: each rank writes its slot; all wait at a barrier, where the last rank does the work
 * that is done once; each rank reads the slots that it needs.
 *
 * An operation that fits into the slots of its entry is one step, and posting is its barrier. For a
 * larger operation, only its description is posted; its steps alternate between two sets of larger
 * slots, so that one barrier per step is enough: a rank that writes step i + 2 has passed the
 * barrier of step i + 1, which the others reached after reading step i.
 *
 * Where the input of every rank is zero, a step covers all elements that are zero on all ranks, so
 * that operations on gigabytes that were never written take few steps, and use no memory. */
struct step {
	struct emu_segment *s;
	const struct emu_operation *o;
	uint64_t operation; /* its number */
	uint32_t n, rank;
	int is_small;
	size_t element;	    /* bytes */
	uint64_t at, count; /* first element and number of elements of this step (of each block) */
	uint64_t capacity;  /* elements of one block in a slot */
};

/* Returns 1 if the operation moves data; the same on all ranks. */
static int moves(const struct step *t)
{
	return emu_moves(t->o->count * t->element * t->n);
}

static const uint8_t *input_at(const struct step *t, uint64_t element)
{
	return (const uint8_t *)t->o->send + element * t->element;
}

static uint8_t *output_at(const struct step *t, uint64_t element)
{
	return (uint8_t *)t->o->receive + element * t->element;
}

static uint8_t *slot_of(const struct step *t, uint32_t rank, uint64_t element)
{
	uint8_t *at = t->is_small ? emu_segment_small(t->s, t->operation, rank)
				  : emu_segment_slot(t->s, rank, t->s->turn);

	return at + element * t->element;
}

/* Returns how many elements of the rank are zero. If not 0, its slot of this step was not
 * written. */
static uint64_t zeros(const struct step *t, uint32_t rank)
{
	return t->is_small ? 0 : emu_segment_member(t->s, rank)->zeros[t->s->turn];
}

static uint64_t all_zeros(const struct step *t)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t rank = 0; rank < t->n; rank++)
		if (zeros(t, rank) < least)
			least = zeros(t, rank);
	return least;
}

static uint8_t *result(const struct step *t)
{
	return t->is_small ? emu_segment_small(t->s, t->operation, t->n)
			   : emu_segment_slot(t->s, t->n, t->s->turn);
}

/* Returns 1 if a slot contains a block for each rank. */
static int by_blocks(enum cost_collective kind)
{
	return kind == COST_REDUCE_SCATTER || kind == COST_ALL_TO_ALL || kind == COST_SCATTER;
}

/* Returns how many elements of each block, from the first of this step on, are zero; 0 if fewer
 * than the step's, or if it fits into the slots of its entry. */
static uint64_t zeros_of_input(const struct step *t)
{
	uint64_t least = t->is_small ? 0 : t->o->count - t->at;

	for (uint32_t r = 0; r < (by_blocks(t->o->kind) ? t->n : 1) && least > 0; r++) {
		const uint8_t *in = input_at(t, r * t->o->count + t->at);

		least = emu_zero_bytes(in, least * t->element) / t->element;
		if (least < t->count)
			least = 0;
	}
	return least;
}

static void write_slots(const struct step *t)
{
	enum cost_collective kind = t->o->kind;
	int reads = (kind != COST_BROADCAST && kind != COST_SCATTER) || t->rank == t->o->root;
	uint64_t none = reads ? zeros_of_input(t) : t->o->count - t->at;

	if (!t->is_small)
		emu_segment_member(t->s, t->rank)->zeros[t->s->turn] = none;
	if (none > 0 || !moves(t))
		return;
	if (!by_blocks(kind)) {
		memcpy(slot_of(t, t->rank, 0), input_at(t, t->at), t->count * t->element);
		return;
	}
	for (uint32_t r = 0; r < t->n; r++)
		memcpy(slot_of(t, t->rank, r * t->capacity), input_at(t, r * t->o->count + t->at),
		       t->count * t->element);
}

static const struct emu_arrival *arrival(const struct step *t, uint32_t rank)
{
	return emu_segment_arrival(t->s, t->operation, rank);
}

/* Reduces elements [at, at + count) of a block that starts at `block` of every slot. All reductions
 * of zeros are zero. */
static int reduce(const struct step *t, uint64_t block, uint64_t at, uint64_t count, void *out)
{
	static const uint8_t no_input[EMU_SLOT_BYTES];
	scoped(free_ptr) const void **inputs = malloc(t->n * sizeof(*inputs));
	scoped(free_ptr) double *scalars = malloc(t->n * sizeof(*scalars));

	if (!inputs || !scalars)
		return -ENOMEM;
	if (all_zeros(t)) {
		emu_clear(out, count * t->element);
		return 0;
	}
	for (uint32_t r = 0; r < t->n; r++) {
		inputs[r] = zeros(t, r) ? no_input : slot_of(t, r, block + at);
		scalars[r] = arrival(t, r)->scalar;
	}
	emu_reduce(t->o->type, t->o->reduction, out, inputs, t->n, count, scalars);
	return 0;
}

static int reduces_to_one(enum cost_collective kind)
{
	return kind == COST_ALL_REDUCE || kind == COST_REDUCE;
}

/* Returns 1 if each rank reduces a share, at the cost of another barrier. */
static int is_split(const struct step *t)
{
	return !t->is_small && t->count * t->element * t->n > SHARED_BYTES && !all_zeros(t);
}

/* Copies `bytes` of the slot of `rank` to this rank's output. */
static void receive(const struct step *t, uint64_t element, uint32_t rank, uint64_t slot_element,
		    size_t bytes)
{
	if (zeros(t, rank))
		emu_clear(output_at(t, element), bytes);
	else
		memcpy(output_at(t, element), slot_of(t, rank, slot_element), bytes);
}

/* Reduces the share of this rank, unless the last rank to arrive reduced all; then reads the
 * result. */
static int all_reduce(const struct step *t)
{
	uint64_t share = (t->count + t->n - 1) / t->n, at = t->rank * share;
	uint64_t count = at >= t->count ? 0 : t->count - at < share ? t->count - at : share;
	int r = 0;

	if (is_split(t)) {
		r = reduce(t, 0, at, count, result(t) + at * t->element);
		if (r == 0)
			r = emu_segment_barrier(t->s, EMU_BARRIER_DEVICE);
	}
	if (r < 0 || (t->o->kind != COST_ALL_REDUCE && t->rank != t->o->root))
		return r;
	if (all_zeros(t))
		emu_clear(output_at(t, t->at), t->count * t->element);
	else
		memcpy(output_at(t, t->at), result(t), t->count * t->element);
	return 0;
}

static int read_slots(const struct step *t)
{
	size_t bytes = t->count * t->element;

	if (!moves(t))
		return 0;
	switch (t->o->kind) {
	case COST_ALL_REDUCE:
	case COST_REDUCE:
		return all_reduce(t);
	case COST_BROADCAST:
		if (t->rank != t->o->root || t->o->receive != t->o->send)
			receive(t, t->at, t->o->root, 0, bytes);
		return 0;
	case COST_REDUCE_SCATTER:
		return reduce(t, t->rank * t->capacity, 0, t->count, output_at(t, t->at));
	case COST_SCATTER:
		receive(t, t->at, t->o->root, t->rank * t->capacity, bytes);
		return 0;
	case COST_GATHER:
		if (t->rank != t->o->root)
			return 0;
		__attribute__((fallthrough));
	case COST_ALL_GATHER:
		for (uint32_t r = 0; r < t->n; r++)
			receive(t, r * t->o->count + t->at, r, 0, bytes);
		return 0;
	case COST_ALL_TO_ALL:
		for (uint32_t r = 0; r < t->n; r++)
			receive(t, r * t->o->count + t->at, r, t->rank * t->capacity, bytes);
		return 0;
	default:
		return -EINVAL;
	}
}

/* Returns a hash of the arguments that must be equal on all ranks. */
static uint64_t summary_of(const struct emu_operation *o)
{
	uint64_t h = 0xcbf29ce484222325;
	const uint64_t values[] = {o->kind, o->type, o->reduction, o->root, o->count};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		h = (h ^ values[i]) * 0x100000001b3;
	return h;
}

/* Returns 1 if all ranks called the same operation. */
static int all_agree(const struct step *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (arrival(t, i)->operation != arrival(t, t->rank)->operation)
			return 0;
	return 1;
}

/* The work of the last rank to arrive. */
static int reduce_once(const struct step *t)
{
	return reduces_to_one(t->o->kind) && !is_split(t) && !all_zeros(t) && moves(t)
		       ? reduce(t, 0, 0, t->count, result(t))
		       : 0;
}

static int synchronize(const struct step *t)
{
	int r = emu_segment_arrive(t->s, EMU_BARRIER_DEVICE);

	if (r <= 0)
		return r;
	r = reduce_once(t);
	emu_segment_release(t->s, EMU_BARRIER_DEVICE);
	return r;
}

static int64_t end_of(const struct step *t)
{
	struct moment_collective m = moment_collective();
	int64_t before_ns = t->s->end_ns;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct emu_arrival *a = arrival(t, i);
		int64_t ready_ns = a->ready_ns;

		if (a->gap_ns >= 0)
			ready_ns = moment_wait(ready_ns, before_ns, a->gap_ns);
		moment_join(&m, ready_ns, a->duration_ns);
	}
	return moment_end(&m);
}

uint64_t emu_exchange_in(const struct emu_operation *o, uint32_t ranks)
{
	return o->count * emu_type_bytes(o->type) * (by_blocks(o->kind) ? ranks : 1);
}

uint64_t emu_exchange_out(const struct emu_operation *o, uint32_t ranks)
{
	int all =
		o->kind == COST_ALL_GATHER || o->kind == COST_GATHER || o->kind == COST_ALL_TO_ALL;

	return o->count * emu_type_bytes(o->type) * (all ? ranks : 1);
}

static struct step step_of(struct emu_segment *s, const struct emu_operation *o, uint64_t operation)
{
	struct step t = {.s = s,
			 .o = o,
			 .operation = operation,
			 .n = s->n,
			 .rank = s->rank,
			 .element = emu_type_bytes(o->type)};

	t.is_small = emu_exchange_in(o, t.n) <= s->small_bytes || !moves(&t);
	t.capacity = s->slot_bytes / t.element / (by_blocks(o->kind) ? t.n : 1);
	if (t.is_small)
		t.capacity = t.count = o->count;
	return t;
}

/* Runs a large operation in steps, after all ranks have arrived. */
static int exchange_in_steps(struct step *t)
{
	int r = 0;

	for (; t->at < t->o->count && r == 0; t->at += t->count) {
		t->count = t->o->count - t->at < t->capacity ? t->o->count - t->at : t->capacity;
		write_slots(t);
		r = synchronize(t);
		if (all_zeros(t))
			t->count = all_zeros(t);
		if (r == 0)
			r = read_slots(t);
		t->s->turn ^= 1;
	}
	return r;
}

int emu_exchange_post(struct emu_segment *s, const struct emu_operation *o, int64_t ready_ns,
		      int64_t gap_ns, int64_t duration_ns, int may_wait)
{
	struct step t = step_of(s, o, emu_segment_next(s));
	const struct emu_arrival mine = {summary_of(o), ready_ns, gap_ns, duration_ns, o->scalar};
	int r = emu_segment_reserve(s, may_wait);

	if (r < 0)
		return r;
	if (t.is_small)
		write_slots(&t);
	if (!emu_segment_post(s, &mine))
		return 0;
	r = t.is_small && all_agree(&t) ? reduce_once(&t) : 0;
	if (r < 0)
		emu_segment_abort(s);
	emu_segment_complete(s, t.operation);
	return r < 0 ? r : 1;
}

int emu_exchange_finish(struct emu_segment *s, const struct emu_operation *o, int64_t *end_ns)
{
	struct step t = step_of(s, o, s->retired);
	int r = emu_segment_await(s);

	if (r == 0 && !all_agree(&t))
		r = -EINVAL;
	if (r == 0) {
		*end_ns = end_of(&t);
		r = t.is_small ? read_slots(&t) : exchange_in_steps(&t);
	}
	if (r < 0)
		emu_segment_abort(s);
	else
		s->end_ns = *end_ns;
	emu_segment_retire(s);
	return r;
}

int emu_exchange(struct emu_segment *s, const struct emu_operation *o, int64_t ready_ns,
		 int64_t duration_ns, int64_t *end_ns)
{
	int r = emu_exchange_post(s, o, ready_ns, -1, duration_ns, 1);

	*end_ns = moment_after(ready_ns, duration_ns);
	return r < 0 ? r : emu_exchange_finish(s, o, end_ns);
}
