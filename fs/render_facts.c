/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "formats/trace/json.h"
#include "fs/render.h"

/* A member of an object, or `-` if missing; strings without quotes, lists of numbers as "0,2". */
static void put_member(struct text *out, const char *object, size_t len, const char *key)
{
	const char *value;
	size_t n;

	text_char(out, '\t');
	if (!fmt_json_member(object, len, key, &value, &n) || n == 0 ||
	    (n == 2 && (*value == '[' || *value == '"'))) {
		text_char(out, '-');
		return;
	}
	for (size_t i = *value == '"'; i < n - (*value == '"'); i++) {
		if (*value == '[' && strchr("[] ", value[i]))
			continue;
		if (*value != '"' || value[i] != '\\' || value[i + 1] != '"')
			text_char(out, value[i]);
	}
}

static void put_nodes(struct text *out, const char *graph, size_t len)
{
	static const char *const keys[] = {"kind",  "name",  "grid",	  "block",
					   "bytes", "after", "collective"};
	const char *number, *version = NULL, *nodes, *node;
	size_t number_len, version_len, nodes_len, node_len;

	if (!fmt_json_member(graph, len, "graph", &number, &number_len) ||
	    !fmt_json_member(graph, len, "nodes", &nodes, &nodes_len))
		return;
	if (!fmt_json_member(graph, len, "version", &version, &version_len))
		version = NULL;
	for (uint64_t i = 0; fmt_json_element(&nodes, graph + len, &node, &node_len); i++) {
		text_bytes(out, number, number_len);
		if (version) {
			text_char(out, '.');
			text_bytes(out, version, version_len);
		}
		text_char(out, '\t');
		text_u64(out, i);
		for (size_t k = 0; k < ARRAY_SIZE(keys); k++)
			put_member(out, node, node_len, keys[k]);
		text_char(out, '\n');
	}
}

int fs_render_graphs(struct fs_tree *t, const struct fs_node *where, struct text *out)
{
	const char *at = fmt_fact_value(t->names, where->gpu, FMT_FACT_GRAPHS), *graph;
	const char *end = at ? at + strlen(at) : NULL;
	size_t len;

	text_str(out, "graph\tnode\tkind\tname\tgrid\tblock\tbytes\tafter\tcollective\n");
	while (at && fmt_json_element(&at, end, &graph, &len))
		put_nodes(out, graph, len);
	return 0;
}

int fs_render_allocations(struct fs_tree *t, const struct fs_node *where, struct text *out)
{
	static const char *const keys[] = {"kind",   "address", "bytes",  "device",
					   "stream", "handle",	"offset", "module",
					   "name",   "made",	"ended"};
	const char *at = fmt_fact_value(t->names, where->gpu, FMT_FACT_ALLOCATIONS), *row, *id;
	const char *end = at ? at + strlen(at) : NULL;
	size_t len, id_len;

	text_str(out, "allocation");
	for (size_t k = 0; k < ARRAY_SIZE(keys); k++)
		text_printf(out, "\t%s", keys[k]);
	text_char(out, '\n');
	while (at && fmt_json_element(&at, end, &row, &len)) {
		if (!fmt_json_member(row, len, "id", &id, &id_len))
			continue;
		text_bytes(out, id, id_len);
		for (size_t k = 0; k < ARRAY_SIZE(keys); k++)
			put_member(out, row, len, keys[k]);
		text_char(out, '\n');
	}
	return 0;
}
