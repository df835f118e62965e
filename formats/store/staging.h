/* SPDX-License-Identifier: Apache-2.0 */

/* A directory that appears complete or not at all: it is made under a name beside its own, and
 * renamed at the end.
 *
 *     scoped(fmt_staging_end) struct fmt_staging s = {0};
 *     r = fmt_staging_begin(&s, path, err);     -EEXIST when path is there
 *     ... make a directory at s.making ...
 *     r = fmt_staging_commit(&s, err);          without it, fmt_staging_end() removes it all
 */
#pragma once

#include "formats/error.h"

struct fmt_staging {
	char *path, *making; /* owned */
};

int fmt_staging_begin(struct fmt_staging *s, const char *path, struct fmt_error *err);
int fmt_staging_commit(struct fmt_staging *s, struct fmt_error *err);
void fmt_staging_end(struct fmt_staging *s);
