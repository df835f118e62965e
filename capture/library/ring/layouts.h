/* SPDX-License-Identifier: Apache-2.0 */

/* Layouts of kernel parameters that the thread's ring already contains (CAP_LAYOUT), and the
 * records of parameters that refer to them: the launch path's part of call/params.c. */
#pragma once

#include "capture/library/attributes.h"
#include "formats/raw/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The current function of one of the CAP_LAYOUTS numbers. */
struct cap_layout_entry {
	uint64_t function;
	const struct cap_param *params;
	struct cap_record head; /* of its CAP_PARAMS; `depth` is set for each record */
	uint32_t generation;	/* valid if equal to cap_layouts_generation */
	uint16_t n;
	bool is_plain; /* every parameter has 4 or 8 bytes */
};

/* Changes when modules are unloaded, because handles of functions may be reused. */
extern uint32_t cap_layouts_generation;

/* Returns an empty table of CAP_LAYOUTS entries; NULL if out of memory. */
struct cap_layout_entry *cap_layouts_new(void);
/* Accept NULL. */
void cap_layouts_clear(struct cap_layout_entry *table);
void cap_layouts_free(struct cap_layout_entry *table);

static inline uint32_t cap_layout_number(uint64_t function)
{
	return (uint32_t)(function * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

/* Returns the entry of a function; NULL: its layout must be written first. `table` may be NULL. */
static inline const struct cap_layout_entry *cap_layout_find(const struct cap_layout_entry *table,
							     uint64_t function)
{
	const struct cap_layout_entry *e;

	if (unlikely(!table))
		return NULL;
	e = &table[cap_layout_number(function)];
	if (unlikely(e->function != function ||
		     e->generation != __atomic_load_n(&cap_layouts_generation, __ATOMIC_RELAXED)))
		return NULL;
	return e;
}

/* Fills the record at `r` with parameters of 4 and 8 bytes. */
static inline void cap_params_fill_plain(struct cap_params_record *r,
					 const struct cap_layout_entry *e, unsigned arg,
					 uint64_t id, void **params)
{
	const struct cap_param *p = e->params, *end = p + e->n;

	r->head = e->head;
	r->head.depth = (uint8_t)arg;
	r->id = id;
	for (; p < end; p++, params++) {
		if (unlikely(!*params))
			continue;
		if (p->size == 8)
			memcpy(r->data + p->offset, *params, 8);
		else
			memcpy(r->data + p->offset, *params, 4);
	}
}
