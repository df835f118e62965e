/* SPDX-License-Identifier: Apache-2.0 */

/* A picture of a trace: time runs to the right; each GPU has the calls of its host above and its
 * streams below, and a bar on the right that divides its time. Collectives show transfer and wait
 * time separately. Wide enough elements have a tooltip with their name.
 *
 * The picture of an iteration also shows operations of other iterations within its time, in pale
 * colours; they count in the bars. Those smaller than a pixel are combined, so that a picture stays
 * below about 2 MB. No scripts, no external files. Output is deterministic. */
#pragma once

#include "base/text.h"
#include "formats/trace/store/part.h"

/* Renders a part of `t`; flushes the text. Wait times require all ranks: for a picture of one GPU
 * they are found only with `across` set, since that reads the other ranks' slices too. Damaged
 * slices are omitted. Returns 0, -ENOMEM, an error of fmt_slice_load() except -EBADMSG, or an error
 * of the text's flush. */
int fmt_svg(struct fmt_trace *t, const struct fmt_part *part, bool across, struct text *out,
	    struct fmt_error *err);
