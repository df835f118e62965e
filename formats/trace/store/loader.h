/* SPDX-License-Identifier: Apache-2.0 */

/* Loads the slices of a part in order, with threads that decode slices ahead of the caller. A part
 * of few records is decoded by the caller alone.
 *
 *     r = fmt_loader_new(t, &part, FMT_WANT_OPS, &l);
 *     while (fmt_loader_next(l, &walk, &slice, &r, err))
 *             ...     r is the result of fmt_slice_load(); slice is the caller's if r is 0
 *     fmt_loader_free(l);
 *
 * Decodes at most about FMT_LOADER_RECORDS records ahead, and one slice for each thread. The
 * caller's thread calls the part's progress(). A loader is for one thread. */
#pragma once

#include "base/scope.h"
#include "formats/trace/store/part.h"

#define FMT_LOADER_RECORDS 65536u

struct fmt_loader;

/* Returns 0 or -ENOMEM. */
int fmt_loader_new(struct fmt_trace *t, const struct fmt_part *part, unsigned want,
		   struct fmt_loader **ret);
void fmt_loader_free(struct fmt_loader *l);
define_cleanup(fmt_loader_freep, struct fmt_loader *, fmt_loader_free);

/* Returns the next slice and its position in *w; false at the end. *r and *err are those of
 * fmt_slice_load(). */
bool fmt_loader_next(struct fmt_loader *l, struct fmt_walk *w, struct fmt_slice **slice, int *r,
		     struct fmt_error *err);
