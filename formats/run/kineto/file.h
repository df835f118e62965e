/* SPDX-License-Identifier: Apache-2.0 */

/* Reads one file into its rank, or ranks. */
#pragma once

#include "formats/run/kineto/rank.h"

/* Appends the file's ranks. -EBADMSG: the file is damaged or not a trace. */
int kineto_file_read(struct kineto_import *im, const char *path, struct fmt_error *err);
