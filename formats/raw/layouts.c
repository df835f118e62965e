/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/raw/layouts.h"

#include "base/array.h"

void cap_layouts_done(struct cap_layouts *l)
{
	for (size_t i = 0; i < CAP_LAYOUTS; i++)
		free(l->layouts[i].table);
	*l = (struct cap_layouts){0};
}

/* The number of parameters is limited by the length of a record: no product here overflows. */
int cap_layouts_add(struct cap_layouts *l, const struct cap_layout_record *r)
{
	struct cap_layout *to = &l->layouts[r->head.flags];
	uint32_t params_bytes = r->n * (uint32_t)sizeof(r->params[0]);
	uint64_t packed = 0;

	free(to->table);
	*to = (struct cap_layout){.table_bytes = 8 + params_bytes};
	to->table = calloc(1, to->table_bytes);
	if (!to->table)
		return -ENOMEM;
	memcpy(to->table, &r->n, 4);
	memcpy(to->table + 4, r->params, params_bytes);
	memcpy(to->table + 4 + params_bytes, &r->registers, 2);
	memcpy(to->table + 6 + params_bytes, &r->shared_bytes, 2);
	for (uint32_t i = 0; i < r->n; i++) {
		uint64_t end = (uint64_t)r->params[i].offset + r->params[i].size;

		packed = end > packed ? end : packed;
	}
	to->packed_bytes = packed < UINT32_MAX ? (uint32_t)packed : UINT32_MAX;
	return 0;
}

uint32_t cap_layouts_blob_bytes(const struct cap_layouts *l, const struct cap_params_record *r)
{
	const struct cap_layout *of = &l->layouts[r->head.flags];

	if (!of->table || of->packed_bytes > r->head.bytes - sizeof(*r))
		return 0;
	return ((uint32_t)sizeof(struct cap_blob_record) + of->table_bytes + of->packed_bytes + 7) &
	       ~7u;
}

void cap_layouts_make_blob(const struct cap_layouts *l, const struct cap_params_record *r,
			   struct cap_blob_record *to)
{
	const struct cap_layout *of = &l->layouts[r->head.flags];
	uint32_t len = of->table_bytes + of->packed_bytes;

	*to = (struct cap_blob_record){
		.head = {.bytes = cap_layouts_blob_bytes(l, r),
			 .kind = CAP_BLOB,
			 .flags = CAP_BLOB_PARAMS},
		.arg = r->head.depth,
		.len = len,
		.id = r->id,
		.whole_len = len,
	};
	memcpy(to->data, of->table, of->table_bytes);
	memcpy(to->data + of->table_bytes, r->data, of->packed_bytes);
}
