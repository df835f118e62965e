/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "formats/run/gpucapture/process/times.h"
#include "tests/unit/test.h"

#define OPS 5000u

struct scene {
	struct fmt_names *names;
	struct rec_process *process;
};

static void scene_begin(struct scene *s)
{
	const struct rec_track stream = {.kind = FMT_STREAM};
	uint32_t track;

	ck_assert_int_eq(fmt_names_new(&s->names), 0);
	ck_assert_int_eq(rec_process_new(s->names, 1, 1, &s->process), 0);
	ck_assert_int_eq(rec_add_track(s->process, &stream, &track), 0);
}

static void scene_end(struct scene *s)
{
	rec_process_free(s->process);
	fmt_names_free(s->names);
}

static void add_op(struct scene *s, uint64_t id)
{
	const struct rec_event op = {.correlation = id + 1, .call = REC_NONE, .kind = FMT_KERNEL};
	uint32_t event;

	ck_assert_int_eq(rec_add_event(s->process, &op, &event), 0);
	ck_assert_int_eq(rec_times_expect(s->process, event), 0);
}

static void add_times(struct scene *s, uint64_t id)
{
	const struct cap_times_record times = {
		.id = id, .start_ns = (int64_t)id * 10, .end_ns = (int64_t)id * 10 + 7};

	ck_assert_int_eq(rec_add_times(s->process, &times), 0);
}

/* Ids in the order of several rings, some of which are read late. */
static uint64_t id_of(uint32_t i)
{
	return (uint64_t)(i % 3) << 40 | (i * 1237u % OPS);
}

TEST(times_may_arrive_before_or_after_the_call)
{
	scoped(scene_end) struct scene s = {0};
	const struct rec_process *p;

	scene_begin(&s);
	p = s.process;
	for (uint32_t i = 0; i < OPS; i++) {
		if (i % 2)
			add_times(&s, id_of(i));
		add_op(&s, id_of(i));
		if (i >= 900 && i % 2)
			add_times(&s, id_of(i - 901));
	}
	for (uint32_t i = OPS - 900; i < OPS; i++)
		if (i % 2 == 0)
			add_times(&s, id_of(i));
	for (uint32_t i = 0; i < OPS; i++) {
		ck_assert_int_eq(p->events[i].start_ns, (int64_t)id_of(i) * 10);
		ck_assert_int_eq(p->events[i].duration_ns, 7);
	}
	ck_assert_uint_eq(p->times.waits.n, 0);
	ck_assert_uint_le(p->times.waits.size, 2048);
}

TEST(missing_times_are_counted)
{
	scoped(scene_end) struct scene s = {0};

	scene_begin(&s);
	add_op(&s, 1);
	add_op(&s, 2);
	add_times(&s, 3);
	add_times(&s, 2);
	ck_assert_int_eq(s.process->events[0].duration_ns, REC_NO_TIME);
	ck_assert_int_eq(s.process->events[1].duration_ns, 7);
}

/* An operation far behind the latest one of its stream is no longer expected to get times. */
TEST(pending_operations)
{
	scoped(scene_end) struct scene s = {0};
	uint32_t to[OPS];

	scene_begin(&s);
	for (uint32_t i = 0; i < OPS; i++)
		add_op(&s, i);
	/* The times of the first operation are awaited without limit, unless times are not
	 * recorded. */
	ck_assert_uint_eq(rec_times_first_pending(s.process, 0), 0);
	s.process->times.none = true;
	ck_assert_uint_eq(rec_times_first_pending(s.process, 0), REC_NONE);
	s.process->times.none = false;
	for (uint32_t i = 1; i < 1000; i++)
		add_times(&s, i);
	ck_assert_uint_eq(rec_times_first_pending(s.process, 0), 0);
	ck_assert_uint_eq(rec_times_first_pending(s.process, 1), 1000);
	for (uint32_t i = 2000; i < 3000; i++)
		add_times(&s, i);
	ck_assert_uint_eq(rec_times_first_pending(s.process, 0), 2999 - 1024);

	/* The operations of the first half are removed; those of the second half still get
	 * times. */
	for (uint32_t i = 0; i < OPS; i++)
		to[i] = i < OPS / 2 ? REC_NONE : i - OPS / 2;
	rec_pending_renumber(&s.process->times.waits, to);
	ck_assert_uint_eq(s.process->times.waits.n, OPS - 3000);
}
