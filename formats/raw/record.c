/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/raw/record.h"

#include <errno.h>
#include <stdbool.h>

/* Fixed size of a record, by kind. */
static const uint32_t fixed_bytes[CAP_KINDS] = {
	[CAP_PAD] = sizeof(struct cap_record),
	[CAP_CALL] = sizeof(struct cap_call_record),
	[CAP_BLOB] = sizeof(struct cap_blob_record),
	[CAP_IMAGE] = sizeof(struct cap_image_record),
	[CAP_TIMES] = sizeof(struct cap_times_record),
	[CAP_DIGEST] = sizeof(struct cap_digest_record),
	[CAP_RANGE] = sizeof(struct cap_range_record),
	[CAP_FACT] = sizeof(struct cap_text_record),
	[CAP_NAME] = sizeof(struct cap_text_record),
	[CAP_LOST] = sizeof(struct cap_lost_record),
	[CAP_PAYLOAD] = sizeof(struct cap_payload_record),
	[CAP_ANNOUNCED] = sizeof(struct cap_announced_record),
	[CAP_NODE] = sizeof(struct cap_node_record),
	[CAP_LAYOUT] = sizeof(struct cap_layout_record),
	[CAP_PARAMS] = sizeof(struct cap_params_record),
};

/* Bytes after the fixed part, according to the record's lengths. */
static uint64_t asked_bytes(const struct cap_record *r)
{
	const struct cap_range_record *range = (const void *)r;
	const struct cap_image_record *image = (const void *)r;
	const struct cap_text_record *text = (const void *)r;
	const struct cap_node_record *node = (const void *)r;

	switch ((enum cap_record_kind)r->kind) {
	case CAP_BLOB:
		return ((const struct cap_blob_record *)(const void *)r)->len;
	case CAP_IMAGE:
		return (uint64_t)image->path_len + image->build_id_len;
	case CAP_DIGEST:
		return 16 * (uint64_t)((const struct cap_digest_record *)(const void *)r)->n_pages;
	case CAP_RANGE:
		return (uint64_t)range->text_len + range->domain_len;
	case CAP_NODE:
		return 4 * (uint64_t)node->n_deps + node->params_len;
	case CAP_LAYOUT:
		return sizeof(struct cap_param) *
		       (uint64_t)((const struct cap_layout_record *)(const void *)r)->n;
	case CAP_FACT:
	case CAP_NAME:
		return (uint64_t)text->key_len + text->value_len;
	default:
		return 0;
	}
}

static int bad(struct fmt_cursor *c)
{
	c->bad = 1;
	c->at = c->end;
	return -EBADMSG;
}

int cap_record_next(struct fmt_cursor *c, const struct cap_record **ret)
{
	while (fmt_left(c) > 0) {
		const struct cap_record *r = (const void *)c->at;

		if (fmt_left(c) < sizeof(*r) || r->bytes % 8 || r->bytes > fmt_left(c) ||
		    r->kind >= CAP_KINDS || r->bytes < fixed_bytes[r->kind] ||
		    r->bytes - fixed_bytes[r->kind] < asked_bytes(r))
			return bad(c);
		c->at += r->bytes;
		if (r->kind == CAP_PAD)
			continue;
		*ret = r;
		return 1;
	}
	return 0;
}

static uint32_t all_words(const struct cap_call_record *c)
{
	return (c->head.bytes - (uint32_t)sizeof(*c)) / 8;
}

static bool is_ordered(const struct cap_call_record *c)
{
	return c->head.flags & CAP_CALL_ORDERED && all_words(c) > 1;
}

uint32_t cap_call_words(const struct cap_call_record *c)
{
	return all_words(c) - (is_ordered(c) ? 2 : 0);
}

uint64_t cap_call_began(const struct cap_call_record *c)
{
	return is_ordered(c) ? c->words[all_words(c) - 2] : c->start;
}

uint64_t cap_call_order(const struct cap_call_record *c)
{
	return is_ordered(c) ? c->words[all_words(c) - 1] : c->end;
}
