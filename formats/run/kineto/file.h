/* SPDX-License-Identifier: Apache-2.0 */

/* Reads one file into the rank that it is of, or the ranks. */
#pragma once

#include "formats/run/kineto/rank.h"

/* Appends the file's ranks. -EBADMSG where it is damaged or no trace. */
int kineto_file_read(struct kineto_import *im, const char *path, struct fmt_error *err);
