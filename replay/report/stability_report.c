/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/report/report.h"

#include "formats/render/grid.h"
#include "formats/trace/json.h"

#include "base/scope.h"

#include <inttypes.h>

/* ---- JSON ---- */

static void json_string(const struct replay_report *r, const char *key, fmt_str string,
			struct text *out)
{
	size_t len;
	const char *s = fmt_string(r->names, string, &len);

	text_printf(out, "\"%s\": ", key);
	fmt_json_string(out, s, len);
}

static void json_site(const struct replay_report *r, const struct stability_site *s,
		      struct text *out)
{
	text_printf(out, "{\"gpu\": %" PRIu32 ", \"gpus\": %" PRIu32 ", ", s->gpu, s->gpus);
	json_string(r, "rule", fmt_rule(r->names, s->rule)->name, out);
	text_str(out, ", ");
	json_string(r, "name", s->position.name, out);
	text_printf(out,
		    ", \"position\": %" PRIu32 ", \"iterations\": %" PRIu32
		    ", \"partners\": %" PRIu32 ", \"usual_partner\": {",
		    s->position.nth, s->seen, s->partners);
	json_string(r, "name", s->partner.name, out);
	text_printf(out,
		    ", \"position\": %" PRIu32 ", \"iterations_before\": %" PRIu32
		    ", \"iterations\": %" PRIu32 "}}",
		    s->partner.nth, s->back, s->usual);
}

void replay_stability_json(const struct replay_report *r, struct text *out)
{
	const struct stability_report *s = &r->stability;

	text_printf(out,
		    " \"edge_stability\": {\"sites\": %" PRIu64 ", \"stable\": %" PRIu64
		    ", \"changing\": %" PRIu64 ", \"partial\": %" PRIu64 ", \"worst\": [",
		    s->sites, s->stable, s->sites - s->stable - s->partial, s->partial);
	for (uint32_t i = 0; i < s->n_worst; i++) {
		text_str(out, i > 0 ? ",\n  " : "\n  ");
		json_site(r, &s->worst[i], out);
	}
	text_str(out, "]},\n");
}

/* ---- text ---- */

/* "gemm #2", "gemm #-2 of the iteration before". */
static void cell_position(const struct replay_report *r, const struct stability_position *at,
			  uint32_t back, struct fmt_grid *g)
{
	scoped(text_done) struct text t = {0};
	size_t len;
	const char *name = fmt_string(r->names, at->name, &len);

	if (back > 1) {
		text_str(&t, "an earlier iteration");
	} else {
		fmt_text_sanitised(&t, name, len, 40);
		text_printf(&t, back ? " #-%" PRIu32 " of the iteration before" : " #%" PRIu32,
			    at->nth);
	}
	text_char(&t, 0);
	fmt_grid_cell(g, "%s", t.error ? "" : t.data);
}

static void table_worst(const struct replay_report *r, int colour, struct text *out)
{
	scoped(fmt_grid_done) struct fmt_grid g = {.columns = "rrllrrl"};

	fmt_grid_head(&g, "GPU|GPUs|rule|waiting|partners|iterations|usual partner");
	for (uint32_t i = 0; i < r->stability.n_worst; i++) {
		const struct stability_site *s = &r->stability.worst[i];

		fmt_grid_cell(&g, "%" PRIu32, s->gpu);
		fmt_grid_cell(&g, "%" PRIu32, s->gpus);
		fmt_grid_cell(&g, "%s",
			      fmt_string(r->names, fmt_rule(r->names, s->rule)->name, NULL));
		cell_position(r, &s->position, 0, &g);
		fmt_grid_cell(&g, "%" PRIu32, s->partners);
		fmt_grid_cell(&g, "%" PRIu32 "/%" PRIu32, s->usual, s->seen);
		cell_position(r, &s->partner, s->back, &g);
	}
	fmt_grid_print(&g, out, colour);
}

void replay_stability_text(const struct replay_report *r, int colour, struct text *out)
{
	const struct stability_report *s = &r->stability;

	if (s->sites == 0)
		return;
	text_printf(out,
		    "inferred waits: %s, %s with the same partner in all iterations, %s with "
		    "changing partners, %s that wait in some iterations only\n",
		    fmt_plural(s->sites, "site", "sites").s, fmt_commas(s->stable).s,
		    fmt_commas(s->sites - s->stable - s->partial).s, fmt_commas(s->partial).s);
	if (s->n_worst > 0)
		table_worst(r, colour, out);
}
