/* SPDX-License-Identifier: Apache-2.0 */

/* A picture of a trace: time runs to the right; each GPU has its host's calls above and its streams
 * below, and a bar beside it that says how its time divides. Collectives show what of them is
 * transfer and what is waiting for the last rank. Anything wide enough has its name on hover.
 *
 * The picture of an iteration shows operations of other iterations within its time too, pale; they
 * count in the bars. Those smaller than a pixel are drawn together, so that a picture stays below
 * about 2 MB whatever it shows. No scripts, no external files. The same trace gives the same bytes.
 */
#pragma once

#include "base/text.h"
#include "formats/trace/store/part.h"

/* Renders a part of `t`; the text is flushed. Waiting is found by looking at all ranks: in a
 * picture of one GPU only with `across` set, since that reads their slices too. Damaged slices are
 * left out. -ENOMEM, or what fmt_slice_load() says but -EBADMSG, or what the text's flush says.
 */
int fmt_svg(struct fmt_trace *t, const struct fmt_part *part, bool across, struct text *out,
	    struct fmt_error *err);
