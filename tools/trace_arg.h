/* SPDX-License-Identifier: Apache-2.0 */

/* An argument that is a trace: a trace directory, a packed file, or the root of a mount. */
#pragma once

#include "formats/trace/error.h"

struct fmt_trace;

/* Opens the trace that was named; fmt_trace_close() ends it. An exit status (tools/cli.h), and then
 * the error was printed. */
int trace_arg_open(const char *path, struct fmt_trace **ret);

/* cli_fail() for what could not be done with the trace that was named, with what to do where it is
 * none. */
int trace_arg_fail(int r, const struct fmt_error *err, const char *doing, const char *path);
