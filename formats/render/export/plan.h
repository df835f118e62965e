/* SPDX-License-Identifier: Apache-2.0 */

/* How the events of each template of a trace are shown in the tables; computed once a template. Any
 * number of threads may read at once, while nobody adds to the names. Internal to
 * formats/render/export. */
#pragma once

#include "formats/render/export/row_template.h"

struct fmt_plan {
	int table;			 /* enum fmt_table, or -1 for none */
	struct fmt_row_template *own;	 /* its rows in that table */
	struct fmt_row_template *memory; /* its rows in `memory`, or NULL */
	char *name;			 /* as a field */
	size_t name_len;
};

struct fmt_plans;

int fmt_plans_new(const struct fmt_names *names, struct fmt_plans **ret);
void fmt_plans_free(struct fmt_plans *p);

/* The plan of a template, owned by `p`; -EBADMSG for an invalid template number. */
int fmt_plans_find(struct fmt_plans *p, uint32_t template, const struct fmt_plan **ret);
