/* SPDX-License-Identifier: Apache-2.0 */

/* Whether the contents of a trace are those that its lists and its fact `images` name, and as long
 * as these say. Internal to verify.c. One thread. */
#pragma once

#include "formats/trace/store/trace.h"

struct fmt_chunk;

struct fmt_seen_content {
	uint64_t name[2], bytes;
};

/* The contents that were found so far. */
struct fmt_seen_contents {
	struct fmt_seen_content *items; /* owned */
	size_t n, cap;
	int sorted;
};

void fmt_seen_contents_done(struct fmt_seen_contents *s);

/* Checks a chunk of blobs.chunks whose payload is `raw`. Contents are added to `s`; lists are
 * compared with what was added. *why is NULL, or what is wrong. 0 or -ENOMEM. */
int fmt_seen_contents_check(struct fmt_seen_contents *s, const struct fmt_chunk *c,
			    const uint8_t *raw, const char **why);

/* Compares the images of the trace with the contents, all of which were added; NULL, or what is
 * wrong. */
const char *fmt_seen_contents_images(struct fmt_seen_contents *s, const struct fmt_names *names);
