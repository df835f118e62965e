/* SPDX-License-Identifier: Apache-2.0 */

/* Event templates while files are read. They are finer or coarser than those of the trace: which
 * arguments vary is known at the end only (kineto_templates_settle()). Numbers are the importer's
 * own. One thread. */
#pragma once

#include "formats/run/kineto/template.h"

struct kineto_varying {
	uint32_t cat, key;
};

struct kineto_templates {
	struct fmt_strings *strings;
	struct kineto_template *templates;
	size_t n, cap;
	struct kineto_slot_arg *args;
	size_t n_args, args_cap;
	struct fmt_hash_table table;
	struct kineto_varying *varying; /* found to vary, sorted by cat and key */
	size_t n_varying, varying_cap;
	size_t next_look; /* at that many templates, look for arguments that should vary */
};

void kineto_templates_init(struct kineto_templates *t, struct fmt_strings *strings);
void kineto_templates_done(struct kineto_templates *t);

/* The template of an event. Arguments that vary have the value 0. -EOVERFLOW when there are too
 * many.
 */
int kineto_templates_add(struct kineto_templates *t, enum kineto_class class, uint32_t cat,
			 uint32_t name, const struct kineto_slot_arg *args, size_t n_args,
			 uint32_t *ret);

/* 1 when the arguments `key` of events of class `cat` are kept with each event. */
int kineto_templates_varies(const struct kineto_templates *t, uint32_t cat, uint32_t key,
			    uint8_t type);

/* The same template with other findings about its collective. */
int kineto_templates_refine(struct kineto_templates *t, uint32_t template, uint32_t op,
			    uint32_t dtype, int64_t message_bytes, uint32_t *ret);

/* All files have been read: decides which arguments vary. */
int kineto_templates_settle(struct kineto_templates *t);

static inline const struct kineto_slot_arg *kineto_template_args(const struct kineto_templates *t,
								 const struct kineto_template *s)
{
	return t->args + s->args;
}

/* The order of templates by content, not by number: <0, 0, >0. */
int kineto_template_compare(const struct kineto_templates *t, uint32_t a, uint32_t b);
