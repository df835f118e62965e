/* SPDX-License-Identifier: Apache-2.0 */

/* The event templates of a chunk of names, as columns. doc/format.md, "Names", is the
 * specification. */
#pragma once

#include "formats/trace/names.h"
#include "formats/trace/store/cursor.h"

/* Appends the templates of `n`. Returns 0 or -errno. */
int fmt_templates_put(const struct fmt_names *n, struct text *out);

/* Calls `each` for every template, in order; if it returns a negative errno, reading ends. String
 * numbers are those of the file, and are not checked. -EBADMSG: damage. */
int fmt_templates_get(struct fmt_cursor *c,
		      int (*each)(const struct fmt_template *s, void *context), void *context);
