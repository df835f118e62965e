/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/engine/timemap.h"

#include "base/array.h"
#include "base/scope.h"
#include "tests/unit/test.h"

/* Calls at 100..110 and 200..250 of a thread, moved by 1000 and 1500; the second call is delayed by
 * a dependency of 30. */
static const struct {
	int stream;
	int64_t recorded, emulated;
} moments[] = {
	{0, 90, 1090},	{0, 100, 1100}, {0, 105, 1105}, {0, 110, 1110}, {0, 140, 1140},
	{0, 180, 1680}, {0, 200, 1700}, {0, 249, 1749}, {0, 260, 1760}, {1, 140, 1140},
	{1, 150, 1150}, {1, 190, 1690}, {1, 200, 1700}, {1, 260, 1760},
};

TEST(test_annotations_move_with_their_calls)
{
	struct fmt_event events[] = {{.start_ns = 100, .duration_ns = 10},
				     {.start_ns = 200, .duration_ns = 50}};
	struct fmt_edge edge = {.from = 99, .to = 1, .lag_ns = 30};
	const int64_t times[] = {1100, 1110, 1700, 1750};
	struct fmt_slice slice = {.events = events, .n_events = 2, .edges = &edge, .n_edges = 1};
	struct timemap_carry none = {.known = 0}, carry = none;

	for (size_t i = 0; i < ARRAY_SIZE(moments); i++) {
		scoped(timemap_done) struct timemap p = {.stream = moments[i].stream};

		slice.n_edges = !moments[i].stream;
		ck_assert_int_eq(timemap_add_track(&p, &none, &slice, 0, 2, times), 0);
		ck_assert_msg(timemap_emulated_ns(&p, moments[i].recorded) == moments[i].emulated,
			      "%ld went to %ld", (long)moments[i].recorded,
			      (long)timemap_emulated_ns(&p, moments[i].recorded));
		timemap_save(&p, &carry);
		ck_assert_int_eq(timemap_add_track(&p, &carry, &slice, 0, 0, times), 0);
		ck_assert_int_eq(timemap_emulated_ns(&p, 300), 1800);
	}
}
