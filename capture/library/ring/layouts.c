/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/ring/layouts.h"

#include <sys/mman.h>

#define TABLE_BYTES (CAP_LAYOUTS * sizeof(struct cap_layout_entry))

uint32_t cap_layouts_generation = 1;

struct cap_layout_entry *cap_layouts_new(void)
{
	void *map =
		mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

void cap_layouts_clear(struct cap_layout_entry *table)
{
	if (table)
		memset(table, 0, TABLE_BYTES);
}

void cap_layouts_free(struct cap_layout_entry *table)
{
	if (table)
		munmap(table, TABLE_BYTES);
}
