/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/cut.h"

#include "tests/unit/rings.h"
#include "tests/unit/test.h"

enum { MODULE = 0x77 }; /* of ring_begin() */

static const struct rex_iteration_range all = {.first = FMT_BEFORE, .last = FMT_AFTER};

static void begin(struct recording *m)
{
	ck_assert_int_eq(fmt_names_new(&m->names), 0);
	m->process = process(m->names, 100, 0);
	ring_open(&m->ring, m->process, 0);
	ring_out(&m->ring, 0, MODULE);
	ring_call(&m->ring, "cuModuleLoadData", 0x100, 0x200);
	ring_begin(&m->ring, 0, CONTEXT, STREAM, KERNEL);
}

/* Returns the number of calls that are executed of those in the ring, and in *left_out the number
 * of the others. */
static uint32_t find_cut(struct recording *m, uint64_t *left_out)
{
	scoped(written_done) struct written w;
	struct fmt_error err = {0};
	uint32_t stop;

	ring_look(&m->ring);
	write_trace(&m->process, 1, m->names, &w);
	ck_assert_int_eq(rex_cut_find(w.trace, all, &stop, 1, left_out, &err), 0);
	return stop;
}

/* NCCL loads and launches its own kernel within the call that was cut off. */
TEST(ends_before_calls_within_a_call_that_was_cut_off)
{
	const uint64_t load[] = {0x100, MODULE, 0x200};
	const uint64_t launch[] = {KERNEL + 1, 8, 1, 1, 512, 1, 1, 0, STREAM, 0, 0};
	struct recording m;
	uint64_t left_out;

	begin(&m);
	ring_launch(&m.ring, KERNEL, STREAM);
	m.ring.ordinal++; /* of the call that was cut off */
	ring_out(&m.ring, 0, KERNEL + 1);
	ring_blob(&m.ring, 2, CAP_BLOB_BEFORE, "sum", 4);
	ring_call_at(&m.ring, "cuModuleGetFunction", 1, 0, load, 3);
	ring_call_at(&m.ring, "cuLaunchKernel", 1, 0, launch, 11);
	ck_assert_uint_eq(find_cut(&m, &left_out), 6);
	ck_assert_uint_eq(left_out, 2);
	recording_end(&m);
}

TEST(executes_all_calls_if_the_call_around_them_returned)
{
	struct recording m;
	uint64_t left_out;

	begin(&m);
	join_comm(&m.ring, 1, 0);
	reduce(&m.ring, 1000, 2000);
	ck_assert_uint_eq(find_cut(&m, &left_out), 8);
	ck_assert_uint_eq(left_out, 0);
	recording_end(&m);
}

/* A handle whose creation was cut off. */
TEST(ends_before_calls_whose_object_was_cut_off)
{
	struct recording m;
	uint64_t left_out;

	begin(&m);
	ring_launch(&m.ring, KERNEL, STREAM);
	ring_launch(&m.ring, KERNEL + 1, STREAM);
	ring_launch(&m.ring, KERNEL, STREAM);
	ck_assert_uint_eq(find_cut(&m, &left_out), 6);
	ck_assert_uint_eq(left_out, 2);
	recording_end(&m);
}
