/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/nccl/segment.h"

#include "replay/emugpu/nccl/segment_impl.h"

#include <errno.h>

enum { FIRST_CHECK_NS = 100 * 1000 };

/* Returns how often the entry was used before the operation. */
static uint32_t n_uses(uint64_t operation)
{
	return (uint32_t)(operation / EMU_WINDOW);
}

static uint32_t load(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void store_and_wake(struct emu_posting *p, uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&p->sleepers, __ATOMIC_SEQ_CST) > 0)
		emu_futex_wake(word);
}

static void sleep_on(struct emu_posting *p, uint32_t *word, uint32_t seen, long ns)
{
	__atomic_add_fetch(&p->sleepers, 1, __ATOMIC_SEQ_CST);
	emu_futex_wait(word, seen, ns);
	__atomic_sub_fetch(&p->sleepers, 1, __ATOMIC_SEQ_CST);
}

uint64_t emu_segment_next(const struct emu_segment *s)
{
	return __atomic_load_n(&s->posted, __ATOMIC_ACQUIRE);
}

int emu_segment_reserve(struct emu_segment *s, int may_wait)
{
	uint64_t operation = emu_segment_next(s);
	struct emu_posting *p = emu_posting_of(s, operation);
	int r = emu_segment_state(s);

	while (r == 0 && load(&p->open) != n_uses(operation)) {
		if (!may_wait)
			return -EAGAIN;
		sleep_on(p, &p->open, n_uses(operation) - 1, EMU_CHECK_NS);
		r = emu_segment_check_all(s);
	}
	return r;
}

int emu_segment_post(struct emu_segment *s, const struct emu_arrival *mine)
{
	uint64_t operation = emu_segment_next(s);
	struct emu_posting *p = emu_posting_of(s, operation);

	*emu_segment_arrival(s, operation, s->rank) = *mine;
	__atomic_store_n(&s->posted, operation + 1, __ATOMIC_RELEASE);
	return __atomic_add_fetch(&p->arrived, 1, __ATOMIC_ACQ_REL) == s->n;
}

void emu_segment_complete(struct emu_segment *s, uint64_t operation)
{
	struct emu_posting *p = emu_posting_of(s, operation);

	p->arrived = 0;
	store_and_wake(p, &p->done, n_uses(operation) + 1);
}

static int is_complete(const struct emu_segment *s, uint64_t operation)
{
	return load(&emu_posting_of(s, operation)->done) == n_uses(operation) + 1;
}

/* Ranks arrive at operations in order. So this waits for the last operation that this rank has
 * posted, and wakes once for all of them. It checks the oldest regularly, since the last may depend
 * on work that follows the oldest. */
int emu_segment_await(struct emu_segment *s)
{
	uint64_t oldest = s->retired;
	long ns = FIRST_CHECK_NS;
	int r = 0;

	while (!is_complete(s, oldest) && r == 0) {
		uint64_t last = emu_segment_next(s) - 1;
		uint64_t at = is_complete(s, last) ? oldest : last;

		sleep_on(emu_posting_of(s, at), &emu_posting_of(s, at)->done, n_uses(at),
			 at == oldest ? EMU_CHECK_NS : ns);
		if (is_complete(s, oldest))
			break;
		if (at == oldest || ns >= EMU_CHECK_NS)
			r = emu_segment_check_all(s);
		ns = ns >= EMU_CHECK_NS ? EMU_CHECK_NS : 2 * ns;
	}
	return is_complete(s, oldest) ? 0 : r;
}

void emu_segment_retire(struct emu_segment *s)
{
	uint64_t operation = s->retired++;
	struct emu_posting *p = emu_posting_of(s, operation);

	if (__atomic_add_fetch(&p->left, 1, __ATOMIC_ACQ_REL) < s->n)
		return;
	p->left = 0;
	store_and_wake(p, &p->open, n_uses(operation) + 1);
}

struct emu_arrival *emu_segment_arrival(struct emu_segment *s, uint64_t operation, uint32_t rank)
{
	return (struct emu_arrival *)(s->base + s->arrivals_at) + operation % EMU_WINDOW * s->n +
	       rank;
}

uint8_t *emu_segment_small(struct emu_segment *s, uint64_t operation, uint32_t rank)
{
	return s->base + s->small_at +
	       (operation % EMU_WINDOW * (s->n + 1) + rank) * s->small_bytes;
}
