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

/* A fill or a copy: a node of a graph. */
struct extract_memory {
	uint64_t to, from, value, n;
	unsigned width; /* bytes of an element; 0: a copy */
};

struct extract_launch {
	char *kernel; /* its symbol; owned; NULL: see `memory` */
	struct extract_memory memory;
	uint8_t *image; /* owned; NULL: that of node `image_of` */
	size_t image_bytes, image_of;
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
	bool in_graph; /* it is one of several nodes of a graph */
	/* All other nodes of the graph that use memory, in an order in which they may run; the
	 * first `n_before` before this one. Owned. Unless has_nodes: not all can be extracted. */
	struct extract_launch *nodes;
	size_t n_nodes, nodes_cap, n_before;
	bool has_nodes;
	char why[320]; /* reason of a failure */
};

/* Finds operation `number` of a rank, an index. Returns 0; -ENOENT: there is no such operation, or
 * something was not recorded; -ENOTSUP: not a launch that can be extracted; other negative errnos
 * as fmt_slice_load(), with *err. ret->why has the reason. Call extract_launch_done() in any
 * case. */
int extract_launch_find(struct fmt_trace *t, uint32_t rank, fmt_number number,
			struct extract_launch *ret, struct fmt_error *err);
void extract_launch_done(struct extract_launch *l);
