/* SPDX-License-Identifier: Apache-2.0 */

/* Checks that the files belong to one run, one file for each rank. */
#pragma once

#include "formats/run/kineto/rank.h"

/* Numbers the ranks (by the file's contents, else its name, else its position), sorts them by
 * number, and refuses files of different runs with -EBADMSG and *err. Ranks of one process then get
 * each other's iterations, and the collectives that shared threads called. */
int kineto_check_ranks(struct kineto_import *im, struct fmt_error *err);

/* Returns the rank in a file's name: "rank-3.json.gz", "trace_rank3.json"; -1 without a
 * number. */
int64_t kineto_rank_of_name(const char *path);
