/* SPDX-License-Identifier: Apache-2.0 */

/* Short forms of names, of which no two in one table are the same. Demangled names of kernels often
 * agree in their first hundred characters and differ in a template argument:
 *
 *     void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>,
 * ...>(...) void at::native::vectorized_elementwise_kernel<4, at::native::neg_kernel_cuda(...),
 * ...>(...)
 *
 * A short form leaves out the return type and the parameters; if it is too long still, namespaces
 * and then the middle. It keeps the place where the name begins to differ from those next to it in
 * alphabetical order.
 *
 *     struct fmt_brief b = {0};
 *     r = fmt_brief_add(&b, key, name, len);        each name of the table, by any number
 *     r = fmt_brief_shorten(&b, 96);
 *     fmt_brief_put(&b, key, 96, out);
 *     fmt_brief_done(&b);
 *
 * Not thread-safe. Functions return 0 or -ENOMEM. Names are not copied: they must outlive it.
 */
#pragma once

#include "base/text.h"

#include <stdbool.h>

/* A part of a name, and the offset at which it differs from the same part of other names. */
struct fmt_brief_form {
	const char *s;
	size_t len, differs;
};

struct fmt_brief_name {
	uint32_t key;
	const char *s;
	size_t len;
	struct fmt_brief_form core;   /* without return type and parameters, and if still too long,
					 without namespaces */
	struct fmt_brief_form plain;  /* the function's own name only */
	struct fmt_brief_form longer; /* internal */
	bool is_plain;		      /* no other name has the same plain form */
	uint32_t ordinal;	      /* distinguishes names with equal short forms; 0: unique */
};

struct fmt_brief {
	struct fmt_brief_name *names; /* owned; by key once settled */
	size_t n, cap;
};

/* Ignored if the key was already added. */
int fmt_brief_add(struct fmt_brief *b, uint32_t key, const char *s, size_t len);

/* Call after all names were added. `most` is the width of the table; 0: several widths. */
int fmt_brief_shorten(struct fmt_brief *b, size_t most);

/* Appends the short form of a name, at most about `most` bytes: bytes of the name, which the caller
 * must sanitise, and "…". Different names in a table of that width get different short forms. */
void fmt_brief_put(const struct fmt_brief *b, uint32_t key, size_t most, struct text *out);

/* Appends the label of a name in a picture: its plain form if that is unique, else its short form.
 */
void fmt_brief_label(const struct fmt_brief *b, uint32_t key, size_t most, struct text *out);

void fmt_brief_done(struct fmt_brief *b);
