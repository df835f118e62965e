/* SPDX-License-Identifier: Apache-2.0 */

/* Event templates while files are read. They differ from those of the trace, because
 * kineto_templates_finish() decides only at the end which arguments vary. Numbers are the
 * importer's own. One thread. */
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
	struct kineto_varying *varying; /* arguments that vary, sorted by cat and key */
	size_t n_varying, varying_cap;
	size_t next_look; /* number of templates at which to search again for arguments that vary */
};

void kineto_templates_init(struct kineto_templates *t, struct fmt_strings *strings);
void kineto_templates_done(struct kineto_templates *t);

/* Finds or adds the template of an event. Arguments that vary have the value 0. -EOVERFLOW: too
 * many templates. */
int kineto_templates_add(struct kineto_templates *t, enum kineto_class class, uint32_t cat,
			 uint32_t name, const struct kineto_slot_arg *args, size_t n_args,
			 uint32_t *ret);

/* Returns 1 if argument `key` of events of class `cat` is stored with each event. */
int kineto_templates_is_varying(const struct kineto_templates *t, uint32_t cat, uint32_t key,
				uint8_t type);

/* Returns the same template with another description of its collective. */
int kineto_templates_refine(struct kineto_templates *t, uint32_t template, uint32_t op,
			    uint32_t dtype, int64_t message_bytes, uint32_t *ret);

/* After all files are read: decides which arguments vary. */
int kineto_templates_finish(struct kineto_templates *t);

static inline const struct kineto_slot_arg *kineto_template_args(const struct kineto_templates *t,
								 const struct kineto_template *s)
{
	return t->args + s->args;
}

/* Compares templates by content, not by number: <0, 0, >0. */
int kineto_template_compare(const struct kineto_templates *t, uint32_t a, uint32_t b);
