/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/cause_call.h"
#include "formats/render/report/cause_find.h"
#include "formats/render/report/cause_side.h"

#include "tests/unit/test.h"
#include "tests/unit/training.h"

struct made_of {
	uint32_t ranks, iterations, layers, polls;
	int64_t address;
	uint64_t seed;
};

static struct fmt_trace *make(const char *folder, const char *name, const struct made_of *of)
{
	struct training t;

	training_init(&t, of->ranks, of->iterations, of->layers);
	t.made.seed = of->seed;
	t.polls = of->polls;
	t.address = of->address;
	return training_open(&t, folder, name);
}

#define KERNEL "kernel cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>"
#define COPY "memcpy Memcpy DtoH (Device -> Pageable) of 4096 bytes"

static const struct made_of run = {2, 2, 4, .seed = 1};
static const struct made_of calling = {2, 2, 4, .address = 94812022513184, .seed = 7};

/* Two runs, whether their calls are compared, and the first difference; an argument with the name
 * of a size may hold an address, which differs between runs. */
static const struct {
	const struct made_of *a;
	struct made_of b;
	bool calls;
	int64_t rank; /* -1: none in particular */
	const char *track;
	fmt_number number;
	const char *first, *second; /* NULL: no difference */
} rows[] = {
	{&run, {2, 2, 4, 0, 0, 2}, true, 0, "", 0, NULL, NULL},
	{&run, {3, 2, 4, 0, 0, 2}, true, -1, "", 0, "2 ranks", "3 ranks"},
	{&run, {2, 3, 4, 0, 0, 2}, true, 1, "stream 7", 108, "nothing", KERNEL},
	{&run, {2, 2, 5, 0, 0, 2}, true, 0, "stream 7", 38, COPY, KERNEL},
	{&calling, {2, 2, 4, 0, 94879063891536, 7}, true, 0, "", 0, NULL, NULL},
	{&calling, {2, 2, 4, 0, 94879063891536, 7}, false, 0, "", 0, NULL, NULL},
	{&calling, {2, 2, 4, 3, 94879063891536, 7}, true, 0, "", 0, NULL, NULL},
	{&calling, {2, 2, 4, 3, 94879063891536, 7}, false, 0, "", 0, NULL, NULL},
	{&calling, {2, 2, 5, 0, 94879063891536, 7}, false, 0, "stream 7", 39, COPY, KERNEL},
};

TEST_ROWS(test_first_difference, rows)
{
	scoped(made_removep) char *folder = made_directory();
	scoped(fmt_trace_closep) struct fmt_trace *a = make(folder, "a", row->a);
	scoped(fmt_trace_closep) struct fmt_trace *b = make(folder, "b", &row->b);
	scoped(fmt_cause_done) struct fmt_cause d = {0};

	ck_assert_int_eq(fmt_cause_find(a, b, &FMT_CAUSE_ALL(row->calls), &d, NULL), 0);
	ck_assert_int_eq(d.kind != FMT_CAUSE_NONE, row->first != NULL);
	if (!row->first)
		return;
	text_char(&d.first, 0);
	text_char(&d.second, 0);
	ck_assert_str_eq(d.first.data, row->first);
	ck_assert_str_eq(d.second.data, row->second);
	ck_assert_int_eq(d.rank, row->rank);
	ck_assert_str_eq(d.track, row->track);
	ck_assert_uint_eq(d.number, row->number);
}

/* A call with a parameter that no layout has. */
static void make_call(struct made *m, int64_t value, struct fmt_event *ret)
{
	const struct fmt_arg args[] = {
		{.key = made_string(m, "kernelParams.layout"),
		 .type = FMT_STRING,
		 .value = made_string(m, "0:4 8:8")},
		{.key = made_string(m, "kernelParams[18446744073709551615]"),
		 .type = FMT_INT,
		 .value = value},
	};

	ret->template = made_template(m, FMT_CALL, "cuLaunchKernel", args, ARRAY_SIZE(args));
}

TEST(test_parameters_without_layout)
{
	struct text first = {0}, second = {0};
	struct fmt_event events[2] = {0};
	const struct fmt_slice slice = {.events = events, .n_events = ARRAY_SIZE(events)};
	const struct fmt_cause_call calls[] = {{&events[0], &slice}, {&events[1], &slice}};
	const struct fmt_cause_item x = {.call = &calls[0]}, y = {.call = &calls[1]};
	struct fmt_cause_side side = {0};
	struct made m = {0};

	ck_assert_int_eq(fmt_names_new(&m.names), 0);
	make_call(&m, 1, &events[0]);
	make_call(&m, 2, &events[1]);
	side.names = m.names;
	ck_assert(fmt_cause_call_same(&side, &x, &side, &y, &first, &second));
	fmt_names_free(m.names);
}

/* Different operations on the only stream: another stream's, if streams may be missing. */
TEST(test_streams_without_equal_start)
{
	struct fmt_event events[2] = {0};
	const struct fmt_slice slice = {.events = events, .n_events = ARRAY_SIZE(events)};
	struct fmt_cause_track tracks[2][2] = {0}; /* of each trace a thread and a stream */
	struct fmt_cause_item items[2];
	int64_t threads[2];
	struct made m;

	made_init(&m, 1);
	for (int i = 0; i < 2; i++) {
		items[i] = (struct fmt_cause_item){
			.template = fmt_template(m.names, i ? m.collective : m.kernel),
			.event = &events[i],
			.slice = &slice,
		};
		tracks[i][1] = (struct fmt_cause_track){.items = &items[i], .n = 1};
	}
	for (int may_end = 0; may_end < 2; may_end++) {
		struct fmt_cause_side a = {.names = m.names,
					   .tracks = tracks[0],
					   .n_tracks = 2,
					   .threads = threads,
					   .scope.may_end_earlier = may_end};
		struct fmt_cause_side b = {.names = m.names, .tracks = tracks[1], .n_tracks = 2};

		fmt_cause_side_match(&a, &b);
		ck_assert_int_eq(tracks[0][1].match, may_end ? -1 : 1);
		ck_assert_int_eq(tracks[1][1].match, may_end ? -1 : 1);
	}
	made_done(&m);
}
