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
 *     r = fmt_brief_settle(&b, 96);
 *     fmt_brief_put(&b, key, 96, out);
 *     fmt_brief_done(&b);
 *
 * Not thread-safe. Functions return 0 or -ENOMEM. Names are not copied: they must outlive it.
 */
#pragma once

#include "base/text.h"

#include <stdbool.h>

/* A part of a name, and where it begins to differ from the same part of other names. */
struct fmt_brief_form {
	const char *s;
	size_t len, differs;
};

struct fmt_brief_name {
	uint32_t key;
	const char *s;
	size_t len;
	struct fmt_brief_form core; /* without return type and parameters, and without namespaces if
				       that is too long */
	struct fmt_brief_form plain;  /* the name of the function alone */
	struct fmt_brief_form longer; /* internal */
	bool is_plain;		      /* no other name has the same plain form */
	uint32_t ordinal;	      /* of names whose short forms are the same; 0: the only one */
};

struct fmt_brief {
	struct fmt_brief_name *names; /* owned; by key once settled */
	size_t n, cap;
};

/* A key that was added already is left as it is. */
int fmt_brief_add(struct fmt_brief *b, uint32_t key, const char *s, size_t len);

/* To be called when all names are there. `most` is the width of the table; 0: of many widths. */
int fmt_brief_settle(struct fmt_brief *b, size_t most);

/* Appends the short form of a name that was added, about `most` bytes at most: bytes of the name,
 * to be made harmless by the caller, and "…". Names of a table of that width get different forms.
 */
void fmt_brief_put(const struct fmt_brief *b, uint32_t key, size_t most, struct text *out);

/* The same for a label in a picture: the plain form if that is enough. */
void fmt_brief_label(const struct fmt_brief *b, uint32_t key, size_t most, struct text *out);

void fmt_brief_done(struct fmt_brief *b);
