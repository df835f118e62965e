/* SPDX-License-Identifier: Apache-2.0 */

/* Are the files those of one run, one of each rank? */
#pragma once

#include "formats/run/kineto/file.h"

/* Numbers the ranks (from the file, else its name, else its place), sorts them by it, and refuses
 * files that do not belong together with -EBADMSG and *err. */
int kineto_check(struct kineto_import *im, struct fmt_error *err);

/* The rank that a file's name gives: "rank-3.json.gz", "trace_rank3.json"; -1 for none. */
int64_t kineto_rank_of_name(const char *path);
