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

/* Reads an integer, or the value of an enumerator of `a` (may be NULL) by its name. Returns false
 * if there is no such argument, or if it is text. */
bool rex_args_int(const struct rex_args *args, const char *key, const struct api_arg *a,
		  int64_t *ret);

/* Returns the result of the call: the last argument with the name of results, since a parameter may
 * have the same name. */
int64_t rex_args_result(const struct rex_args *args);

/* Returns a text, or the text of a JSON value; NULL if not found. */
const char *rex_args_text(const struct rex_args *args, const char *key, size_t *len);

/* Reads a floating-point number. */
bool rex_args_real(const struct rex_args *args, const char *key, double *ret);

/* Reads at most `n` bytes that were recorded as hex digits, as a JSON list of numbers of `width`
 * bytes, or as a number. Returns the number of bytes; 0: none. */
size_t rex_args_bytes(const struct rex_args *args, const char *key, size_t width, void *ret,
		      size_t n);
