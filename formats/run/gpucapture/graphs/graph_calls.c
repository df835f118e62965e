/* SPDX-License-Identifier: Apache-2.0 */

/* Which call says what a node does: its arguments are the node's parameters. */
#include "formats/run/gpucapture/graphs/graphs_impl.h"

#include <string.h>

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

static uint64_t mix_bytes(uint64_t h, const uint8_t *bytes, size_t n)
{
	for (size_t at = 0; at < n; at += 8) {
		uint64_t v = 0;

		memcpy(&v, bytes + at, n - at < 8 ? n - at : 8);
		h = mix(h, v);
	}
	return mix(h, n);
}

/* Not where the node is, nor addresses of the caller's variables. */
static bool is_parameter(const struct api_arg *a)
{
	return (a->direction == API_DIRECTION_NONE || a->direction >= API_DIRECTION_READS) &&
	       a->meaning != API_MEANING_STREAM && a->meaning != API_MEANING_GRAPH &&
	       a->meaning != API_MEANING_GRAPH_EXEC && a->meaning != API_MEANING_GRAPH_NODE &&
	       strcmp(a->name, "numDependencies") != 0;
}

static uint64_t mix_struct(uint64_t h, const struct rec_call *c, const struct api_arg *a,
			   const struct rec_blob *b)
{
	const struct api_view v = {a->layout, b->data, b->len, c->api, c->record->words};

	for (unsigned i = 0; i < v.layout->n_fields; i++) {
		const struct api_field *f = &v.layout->fields[i];
		uint64_t value;

		if (is_parameter(&f->is) && api_field_counts(&v, f) &&
		    api_field_value(&v, f, 0, &value))
			h = mix(h, value);
	}
	return h;
}

void rec_graph_said(const struct rec_call *c, struct rec_node *node)
{
	uint64_t h = 1;

	for (int i = 0; i < c->api->n_args; i++)
		if (is_parameter(&c->api->args[i]))
			h = mix(h, (uint64_t)rec_value_at(c, i));
	for (uint32_t i = 0; i < c->n_blobs; i++) {
		const struct rec_blob *b = &c->blobs[i];
		const struct api_arg *a = b->arg < c->api->n_args ? &c->api->args[b->arg] : NULL;

		if (b->what == CAP_BLOB_PARAMS || b->what == CAP_BLOB_EXTRA)
			h = mix_bytes(h, b->data, b->len);
		else if (b->what == CAP_BLOB_BEFORE && a && a->layout)
			h = mix_struct(h, c, a, b);
	}
	node->call = c->record->id + 1;
	node->content = h;
}
