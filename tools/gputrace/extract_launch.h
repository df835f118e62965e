/* SPDX-License-Identifier: Apache-2.0 */

/* One launch of a kernel, with all its inputs: image, parameters and memory. Written as a folder
 * that tools/repro/repro.c runs. */
#pragma once

#include "base/text.h"
#include "formats/trace/store/trace.h"

#include <stdbool.h>

/* Contents of memory at a recorded address. */
struct extract_content {
	uint64_t address, bytes;
	uint64_t name[2]; /* of the content in the trace */
	bool is_known;	  /* the trace contains it */
	bool is_output;
};

struct extract_parameter {
	uint8_t *bytes; /* owned */
	size_t n;
};

struct extract_launch {
	char *kernel;	/* its symbol; owned */
	uint8_t *image; /* owned */
	size_t image_bytes;
	unsigned grid[3], block[3], shared_bytes;
	unsigned cluster[3]; /* 0: without clusters */
	bool cooperative;
	struct extract_parameter *parameters;
	size_t n_parameters, parameters_cap;
	struct {
		int attribute, value;
	} attributes[16];
	size_t n_attributes;
	struct extract_content *contents; /* by address */
	size_t n_contents, contents_cap;
	bool seeded;   /* the trace does not contain the kernel's inputs */
	char why[320]; /* reason of a failure */
};

/* Finds operation `number` of a rank, an index. Returns 0; -ERANGE: the rank has no such operation;
 * -ENOENT: something was not recorded; -ENOTSUP: not a launch that can be extracted; other negative
 * errnos as fmt_slice_load(), with *err. ret->why has the reason. Call extract_launch_done() in any
 * case. */
int extract_launch_find(struct fmt_trace *t, uint32_t rank, fmt_number number,
			struct extract_launch *ret, struct fmt_error *err);
void extract_launch_done(struct extract_launch *l);
