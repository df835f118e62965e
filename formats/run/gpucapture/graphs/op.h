/* SPDX-License-Identifier: Apache-2.0 */

/* An operation that a call launches, on its way to the events. */
#pragma once

#include "formats/run/gpucapture/process/call.h"

#define REC_MOST_OP_ARGS 10
#define REC_BRANCH_NUMBERS 100000 /* stream 7 has 100007, 200007 ... beside it */

struct rec_op {
	enum fmt_kind kind;
	const char *category;
	fmt_str name;
	uint32_t index;	 /* among those of the call */
	uint32_t branch; /* of a graph: which of the tracks of the stream; 0: its own */
	struct fmt_arg args[REC_MOST_OP_ARGS];
	int64_t values[REC_MOST_OP_ARGS]; /* of those that vary, in their order */
	uint32_t n_args, n_values;
	uint32_t template; /* once it is known */
	uint32_t exec;	   /* of the launch of a graph: its number */
	int error;
};

/* Begins one without arguments. Their arrays stay without values: launches are frequent. */
static inline void rec_op_begin(struct rec_op *o, enum fmt_kind kind, const char *category)
{
	o->kind = kind;
	o->category = category;
	o->name = 0;
	o->index = o->branch = o->n_args = o->n_values = o->template = o->exec = 0;
	o->error = 0;
}

/* Each adds an argument; what fails is in o->error. */
void rec_op_arg(struct rec_call *c, struct rec_op *o, const char *key, enum fmt_type type,
		int varies, int64_t value);
void rec_op_list(struct rec_call *c, struct rec_op *o, const char *key, const int64_t v[3]);

/* Adds the operation on that stream, and finds its template; or, where the stream is captured, a
 * node of its graph. 0 or a negative errno. */
int rec_op_add(struct rec_call *c, struct rec_object *stream, struct rec_op *o);
/* The same where the template is known, and the stream is not captured. */
int rec_op_add_at(struct rec_call *c, struct rec_object *stream, const struct rec_op *o);
