/* SPDX-License-Identifier: Apache-2.0 */

/* The recorded arguments of a call, by key (doc/design/recording.md). Any thread. */
#pragma once

#include "formats/api/api.h"
#include "formats/trace/names.h"

#include <stdbool.h>

struct rex_args {
	const struct fmt_names *names;
	const struct fmt_template *template;
	const int64_t *values; /* of the event */
};

/* An integer, or the number that the name of an enumerator of `a` (may be NULL) stands for. False:
 * there is no such argument, or it is a text. */
bool rex_args_int(const struct rex_args *args, const char *key, const struct api_arg *a,
		  int64_t *ret);

/* The result of the call: the last argument of that name, which is also one of parameters. */
int64_t rex_args_result(const struct rex_args *args);

/* A text, or the text of a JSON value; NULL: not found. */
const char *rex_args_text(const struct rex_args *args, const char *key, size_t *len);

/* A floating-point number. */
bool rex_args_real(const struct rex_args *args, const char *key, double *ret);

/* Bytes that were recorded as hex digits, as a JSON list of numbers of `width` bytes, or as a
 * number: up to `n` of them. Returns their number; 0: none. */
size_t rex_args_bytes(const struct rex_args *args, const char *key, size_t width, void *ret,
		      size_t n);
