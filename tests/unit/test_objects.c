/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/objects.h"
#include "tests/unit/test.h"

#include <string.h>

TEST(handles_are_the_latest)
{
	struct rex_objects *o;
	uint64_t here;

	ck_assert_int_eq(rex_objects_new(&o), 0);
	for (uint64_t i = 1; i <= 5000; i++)
		ck_assert_int_eq(rex_handle_set(o, API_MEANING_STREAM, i, 2 * i), 0);
	ck_assert_int_eq(rex_handle_set(o, API_MEANING_STREAM, 7, 99), 0);
	ck_assert(rex_handle_get(o, API_MEANING_STREAM, 7, &here) && here == 99);
	ck_assert(rex_handle_get(o, API_MEANING_STREAM, 5000, &here) && here == 10000);
	ck_assert(!rex_handle_get(o, API_MEANING_EVENT, 7, &here));
	ck_assert(!rex_handle_get(o, API_MEANING_STREAM, 5001, &here));
	rex_objects_free(o);
}

TEST(later_ranges_replace_earlier_ones)
{
	struct rex_objects *o;
	uint64_t here;
	char *small, *large;

	ck_assert_int_eq(rex_objects_new(&o), 0);
	ck_assert_int_eq(rex_memory_set(o, 1000, 100, 5000), 0);
	ck_assert_int_eq(rex_memory_set(o, 1100, 100, 7000), 0);
	ck_assert(rex_address(o, 1099, &here) && here == 5099);
	ck_assert(rex_address(o, 1100, &here) && here == 7000);
	ck_assert(!rex_address(o, 1200, &here) && !rex_address(o, 999, &here));
	ck_assert(rex_address_is_mapped(o, 1000, 100) && rex_address_is_mapped(o, 1100, 100));
	ck_assert(!rex_address_is_mapped(o, 1000, 101)); /* the next range is elsewhere */
	ck_assert(!rex_address_is_mapped(o, 1100, 101) &&
		  !rex_address_is_mapped(o, 1199, UINT64_MAX));
	ck_assert_int_eq(rex_memory_set(o, 1050, 100, 9000), 0);
	ck_assert(rex_address(o, 1149, &here) && here == 9099);
	ck_assert(!rex_address(o, 1000, &here) && !rex_address(o, 1150, &here));

	/* Reserved addresses are not memory until memory is mapped there; a new reservation has
	 * none.
	 */
	ck_assert_int_eq(rex_reserved_set(o, 2000, 1000, 20000), 0);
	ck_assert(rex_address(o, 2999, &here) && here == 20999);
	ck_assert(!rex_memory_address(o, 2100, &here) && !rex_address_is_mapped(o, 2100, 1));
	ck_assert_int_eq(rex_memory_set(o, 2100, 100, 20100), 0);
	ck_assert(rex_memory_address(o, 2199, &here) && here == 20199);
	ck_assert(!rex_memory_address(o, 2200, &here) && rex_address(o, 2200, &here));
	ck_assert_int_eq(rex_reserved_set(o, 2000, 1000, 30000), 0);
	ck_assert(!rex_memory_address(o, 2100, &here) && rex_address(o, 2100, &here));
	ck_assert_uint_eq(here, 30100);

	/* Host memory: the same for the same address; more for more. */
	small = rex_host_memory(o, 4096, 10);
	large = rex_host_memory(o, 4096, 1000);
	ck_assert(small && large && small != large);
	memset(large, 1, 1000);
	ck_assert_ptr_eq(rex_host_memory(o, 4096, 10), small);
	ck_assert_ptr_eq(rex_host_memory(o, 4096, 11), large);
	rex_objects_free(o);
}
