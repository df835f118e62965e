/* SPDX-License-Identifier: Apache-2.0 */

/* Caches of results that are the same for most calls of a process. */
#pragma once

#include "formats/api/api.h"
#include "formats/run/gpucapture/process/symbol.h"
#include "formats/trace/hash.h"

struct rec_kernel_template;

/* Index of an argument by name; hashed by the addresses of the call's description and of the
 * name. */
#define REC_FOUND_ARGS 256
struct rec_found_arg {
	const struct api_call *api;
	const char *name;
	int arg;
};

/* The arguments of the last call of a function. */
struct rec_last_call {
	uint32_t template; /* 1 + event template; 0: no earlier call */
	uint32_t n;
	uint64_t *codes; /* owned: of keys and types */
};

/* The text of a kernel parameter layout. */
#define REC_LAYOUT_TEXTS 256
struct rec_layout_text {
	uint64_t hash; /* index in the table of layouts */
	fmt_str text;  /* 0: none */
};

struct rec_memo {
	struct rec_symbols symbols;
	struct rec_last_call *last_calls; /* owned: by function of formats/api */
	struct rec_found_arg found_args[REC_FOUND_ARGS];
	struct rec_layout_text layouts[REC_LAYOUT_TEXTS]; /* by the lowest byte of the hash */
	struct rec_kernel_template *kernel_templates;	  /* owned: of kernel launches (work.c) */
	size_t n_kernel_templates, kernel_templates_cap;
	struct fmt_hash_table kernel_table; /* number of kernel_templates */
};
