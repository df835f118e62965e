/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/cause_call.h"
#include "formats/render/report/cause_side.h"

#include "tests/unit/made.h"
#include "tests/unit/test.h"

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
