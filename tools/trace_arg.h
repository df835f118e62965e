/* SPDX-License-Identifier: Apache-2.0 */

/* An argument that is a trace: a trace directory, a packed file, or the root of a mount. */
#pragma once

#include "formats/trace/error.h"

struct fmt_trace;

/* Opens a trace; fmt_trace_close() closes it. Returns CLI_OK, or another exit status after printing
 * the error. */
int trace_arg_open(const char *path, struct fmt_trace **ret);

/* cli_fail() for a command on a trace, with a hint if the path is not a trace. */
int trace_arg_fail(int r, const struct fmt_error *err, const char *doing, const char *path);
