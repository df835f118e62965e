/* SPDX-License-Identifier: Apache-2.0 */

/* An operation that a call launches, before it becomes an event. */
#pragma once

#include "formats/run/gpucapture/process/call.h"

#define REC_MOST_OP_ARGS 10

struct rec_op {
	enum fmt_kind kind;
	const char *category;
	fmt_str name;
	struct fmt_arg args[REC_MOST_OP_ARGS];
	int64_t values[REC_MOST_OP_ARGS]; /* of the arguments that vary, in order */
	uint32_t n_args, n_values;
	uint32_t template; /* once known */
	uint32_t exec;	   /* graph launches: number of the executable graph */
	int error;
};

/* Begins one without arguments. Their arrays stay without values: launches are frequent. */
static inline void rec_op_begin(struct rec_op *o, enum fmt_kind kind, const char *category)
{
	o->kind = kind;
	o->category = category;
	o->name = 0;
	o->n_args = o->n_values = o->template = o->exec = 0;
	o->error = 0;
}

/* Add an argument. An error is stored in o->error. */
void rec_op_add_arg(struct rec_call *c, struct rec_op *o, const char *key, enum fmt_type type,
		    int varies, int64_t value);
void rec_op_add_list(struct rec_call *c, struct rec_op *o, const char *key, const int64_t v[3]);

/* Adds the operation to the stream and finds its event template. If the stream is in capture, adds
 * a node to its graph instead. Returns 0 or a negative errno. */
int rec_op_add(struct rec_call *c, struct rec_object *stream, struct rec_op *o);
/* Adds an operation with a known template to a stream that is not in capture. */
int rec_op_add_event(struct rec_call *c, struct rec_object *stream, const struct rec_op *o);
