/* SPDX-License-Identifier: Apache-2.0 */

/* Reads one file into the rank that it is of, or the ranks. */
#pragma once

#include "formats/run/kineto/kineto.h"
#include "formats/run/kineto/rank.h"

/* All that is known while files are read. */
struct kineto_import {
	const struct kineto_options *options; /* not owned */
	struct fmt_strings strings;
	struct kineto_templates templates;
	struct kineto_spill spill;
	struct kineto_rank **ranks; /* owned */
	size_t n_ranks, ranks_cap;
	uint32_t n_processes; /* of files with several GPUs, so far */
	uint64_t done, total; /* bytes of files */
	uint64_t bytes;	      /* of JSON */
};

/* Appends an empty rank of that file. 0 or -ENOMEM. */
int kineto_add_rank(struct kineto_import *im, const char *path, struct kineto_rank **ret);

/* Appends the file's ranks. -EBADMSG where it is damaged or no trace. */
int kineto_file_read(struct kineto_import *im, const char *path, struct fmt_error *err);
