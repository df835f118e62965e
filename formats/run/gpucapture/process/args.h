/* SPDX-License-Identifier: Apache-2.0 */

/* The arguments of a call by meaning: numbers, names of enumerators, texts, the fields of structs,
 * kernel parameters by their layout; and beside a handle or an address the number of the object
 * that it stands for (doc/design/recording.md). */
#pragma once

#include "formats/run/gpucapture/process/call.h"

#define REC_MOST_ARGS 512

struct rec_args {
	struct fmt_names *names;
	struct fmt_arg args[REC_MOST_ARGS]; /* all of them vary */
	int64_t values[REC_MOST_ARGS];
	uint32_t n, most, left_out;	 /* those that found no place */
	const struct fmt_template *like; /* of the function's last call; NULL */
	bool unlike;			 /* other arguments than that one's */
	int error;
};

/* Begins with none; what is in there need not be zero. Nearly always a call has the arguments of
 * the function's last one, whose template is `like`; NULL where there was none. */
void rec_args_begin(struct rec_args *a, struct fmt_names *names, const struct fmt_template *like);

/* Adds those of the call, with what they point to. */
void rec_args_of(struct rec_args *a, const struct rec_call *c);

/* Says how many were left out, if any were. */
void rec_args_end(struct rec_args *a);

/* Whether they are those of `like`. */
bool rec_args_are_like(const struct rec_args *a);

void rec_args_put(struct rec_args *a, const char *key, enum fmt_type type, int64_t value);
