/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/clock/capacity.h"

#include "replay/clock/moment.h"

#include "base/array.h"

#include <math.h>

uint32_t capacity_share(double part)
{
	double share = ceil(part * CAPACITY_WHOLE);

	return share < 1 ? 1 : share > CAPACITY_WHOLE ? CAPACITY_WHOLE : (uint32_t)share;
}

/* Returns the first step that begins after the moment. */
static size_t step_after(const struct capacity *r, int64_t at_ns)
{
	return array_bound(i, 0, r->n, r->steps[i].from_ns <= at_ns);
}

int64_t capacity_start(const struct capacity *r, int64_t ready_ns)
{
	size_t i = step_after(r, ready_ns);

	if (i == 0 || r->steps[i - 1].held < CAPACITY_WHOLE)
		return ready_ns;
	while (r->steps[i].held == CAPACITY_WHOLE)
		i++;
	return r->steps[i].from_ns;
}

/* Returns the step that begins at the moment, creating it if needed. */
static size_t step_at(struct capacity *r, int64_t at_ns)
{
	size_t i = step_after(r, at_ns);

	if (i > 0 && r->steps[i - 1].from_ns == at_ns)
		return i - 1;
	memmove(&r->steps[i + 1], &r->steps[i], (r->n++ - i) * sizeof(r->steps[0]));
	r->steps[i] = (struct capacity_step){at_ns, i > 0 ? r->steps[i - 1].held : 0};
	return i;
}

/* Drops old steps to make space for two. */
static void drop_old_steps(struct capacity *r)
{
	if (r->n <= CAPACITY_STEPS - 2)
		return;
	r->n -= 2;
	memmove(r->steps, r->steps + 2, r->n * sizeof(r->steps[0]));
}

int64_t capacity_reserve(struct capacity *r, int64_t start_ns, int64_t duration_ns, uint32_t share)
{
	unsigned __int128 work = duration_ns > 0 ? (unsigned __int128)duration_ns * share : 0;

	if (work == 0)
		return start_ns;
	drop_old_steps(r);
	for (size_t i = step_at(r, start_ns);; i++) {
		struct capacity_step *s = &r->steps[i];
		uint32_t left = CAPACITY_WHOLE - s->held, got = share < left ? share : left;
		uint64_t lasts_ns =
			i + 1 < r->n ? (uint64_t)fmt_sub(s[1].from_ns, s->from_ns) : UINT64_MAX;

		if (work <= (unsigned __int128)got * lasts_ns) {
			int64_t end_ns =
				moment_after(s->from_ns, (int64_t)((work + got - 1) / got));

			step_at(r, end_ns);
			s->held += got;
			return end_ns;
		}
		s->held += got;
		work -= (unsigned __int128)got * lasts_ns;
	}
}
