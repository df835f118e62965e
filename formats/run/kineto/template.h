/* SPDX-License-Identifier: Apache-2.0 */

/* Event templates while files are read. They are finer or coarser than those of the trace: which
 * arguments vary is known at the end only (kineto_templates_settle()). Numbers are the importer's
 * own. One thread. */
#pragma once

#include "formats/run/kineto/json.h"
#include "formats/trace/names.h"

/* Class of an event, by its "ph" and "cat". */
enum kineto_class {
	KINETO_CALL,
	KINETO_GPU_KERNEL,
	KINETO_GPU_MEMCPY,
	KINETO_GPU_MEMSET,
	KINETO_GPU_SYNC,
	KINETO_GPU_RANGE, /* gpu_user_annotation: a range on a stream */
	KINETO_RANGE,
	KINETO_MARK,
};

/* Additional use of a range. */
enum kineto_role {
	KINETO_NO_ROLE,
	KINETO_STEP,	 /* ProfilerStep#N */
	KINETO_NUMBERED, /* any other annotation that ends in a number */
	KINETO_COMMS,	 /* c10d::*, record_param_comms, nccl:*: around launches of collectives */
	KINETO_ROLES,
};

/* Sources that describe a collective, the weakest first. */
enum kineto_evidence {
	KINETO_FROM_NONE,
	KINETO_FROM_KERNEL,	/* its name: SendRecv may be an all-to-all, a copy has no type */
	KINETO_FROM_OPERATOR,	/* c10d::alltoall_base_, and shapes of its tensors */
	KINETO_FROM_ANNOTATION, /* nccl:all_to_all, and the shape of its input */
	KINETO_FROM_ARGUMENTS,	/* "Collective name", "In msg nelems", "dtype" */
};

struct kineto_slot_arg {
	uint32_t key;
	uint8_t type, varies;
	uint8_t moved; /* constant here, but varies in the trace */
	uint8_t spare;
	int64_t value; /* string numbers are the importer's */
};

struct kineto_template {
	uint8_t class, kind; /* enum kineto_class, enum fmt_kind */
	uint8_t role;
	uint8_t converts; /* values of its events change when they go into the trace */
	uint8_t refined;  /* its description of a collective comes from other events */
	uint32_t cat, name, n_args, n_varying;
	/* Of a collective; string numbers, 0 unknown. */
	uint32_t op, dtype;
	int64_t message_bytes;			       /* -1 unknown */
	uint8_t op_source, dtype_source, bytes_source; /* enum kineto_evidence */
	/* Of a step or numbered annotation. */
	uint32_t prefix; /* the name without its number */
	int64_t number;
	uint64_t events;
	uint32_t fmt;  /* its number in the trace, plus 1; 0: not given yet */
	uint32_t args; /* index of the first of them */
};

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
