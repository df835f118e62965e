/* SPDX-License-Identifier: Apache-2.0 */

/* Values inside a struct, located by its description. The struct's bytes come from the program:
 * there are `len` of them, possibly fewer than described, if the program was built with older
 * headers. Allocates and prints nothing: the capture library uses this, too. */
#pragma once

#include "formats/api/api.h"

/* A struct that may be truncated, and its call. Members of some unions depend on the call's
 * arguments; they are ignored if `call` is NULL. */
struct api_view {
	const struct api_struct *layout;
	const void *bytes;
	size_t len;
	const struct api_call *call;
	const uint64_t *words; /* of the call */
};

/* Returns the field of that name, or NULL. */
const struct api_field *api_field(const struct api_struct *s, const char *name);

/* Reads element `i` of the field, a number, pointer or handle of 8 bytes at most, extended to 64
 * bits by its type. Returns false if the struct does not contain it. */
bool api_field_value(const struct api_view *v, const struct api_field *f, unsigned i,
		     uint64_t *ret);

/* Returns true if the field is valid: if it is the active member of its union. */
bool api_field_counts(const struct api_view *v, const struct api_field *f);

/* Returns the number of bytes that the field points to; 0 if its struct does not contain the
 * length. */
uint64_t api_field_bytes(const struct api_view *v, const struct api_field *f);

/* Returns the value of the field of that name, or 0. */
uint64_t api_number(const struct api_view *v, const char *name);
