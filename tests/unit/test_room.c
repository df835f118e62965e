/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/engine/room.h"

#include "tests/unit/test.h"

/* Operations that ask one after another; when each gets its place. */
struct ask {
	int64_t ready_ns, duration_ns;
	double part;
	int64_t want_ns;
};

static const struct {
	const char *what;
	struct ask asks[5];
} rooms[] = {
	{"one at a time", {{0, 10, 1, 0}, {5, 10, 1, 10}, {12, 3, 1, 20}}},
	{"two halves at once", {{0, 10, 0.5, 0}, {2, 10, 0.5, 2}, {4, 3, 0.5, 10}}},
	{"a small one beside a large one", {{0, 10, 0.9, 0}, {1, 4, 0.05, 1}, {1, 4, 0.2, 10}}},
	{"before one that starts later", {{100, 10, 1, 100}, {0, 10, 1, 0}, {20, 80, 1, 20}}},
	{"not where it would run into a later one", {{100, 10, 1, 100}, {95, 10, 1, 110}}},
	{"nor into two that share", {{10, 10, 0.5, 10}, {15, 10, 0.5, 15}, {5, 9, 0.6, 25}}},
	{"between two", {{0, 10, 1, 0}, {30, 10, 1, 30}, {0, 20, 1, 10}, {0, 1, 1, 40}}},
	{"what takes no time", {{0, 10, 1, 0}, {10, 0, 1, 10}, {10, 5, 1, 10}}},
	{"more than all is all", {{0, 10, 7, 0}, {0, 10, 0, 10}}},
};

START_TEST(test_takes)
{
	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
		struct room r = {0};

		for (const struct ask *a = rooms[i].asks; a->part > 0 || a->want_ns; a++) {
			int64_t at =
				room_take(&r, a->ready_ns, a->duration_ns, room_share(a->part));

			ck_assert_msg(at == a->want_ns, "%s: ask %d starts at %ld, not %ld",
				      rooms[i].what, (int)(a - rooms[i].asks), (long)at,
				      (long)a->want_ns);
		}
	}
}
END_TEST

/* A stream that has run ahead does not hold up one that has not. */
START_TEST(test_forgets)
{
	struct room r = {0};

	for (int64_t i = 0; i < 3 * ROOM_HELD; i++)
		ck_assert_int_eq(room_take(&r, 1000 + i * 10, 10, ROOM_WHOLE), 1000 + i * 10);
	ck_assert_int_eq(room_take(&r, 0, 10, 1), 0);
	ck_assert_int_eq(room_take(&r, 1000 + 30 * (ROOM_HELD - 1), 10, 1), 1000 + 30 * ROOM_HELD);
}
END_TEST

TESTS("room", test_takes, test_forgets)
