/* SPDX-License-Identifier: Apache-2.0 */

/* Values inside a struct, as its description says where they are. The struct's bytes are the
 * program's: `len` of them are there, which may be fewer than the description has, when the program
 * was built with older headers. Nothing is allocated, nothing is printed: the capture library uses
 * this, too.
 */
#pragma once

#include "formats/api/api.h"

/* A struct of which some bytes are there, and the call that it is an argument of, on which the
 * members of some unions depend: NULL where it is not known, and they do not count. */
struct api_view {
	const struct api_struct *layout;
	const void *bytes;
	size_t len;
	const struct api_call *call;
	const uint64_t *words; /* of the call */
};

/* NULL: no field of that name. */
const struct api_field *api_field(const struct api_struct *s, const char *name);

/* Element `i` of the field, which is a number, pointer or handle of 8 bytes at most: extended to 64
 * bits by its type. false: it is not there. */
bool api_field_value(const struct api_view *v, const struct api_field *f, unsigned i,
		     uint64_t *ret);

/* Whether the field counts: what it is a member of is the one of its union that does. */
bool api_field_counts(const struct api_view *v, const struct api_field *f);

/* Number of bytes that the field points to; 0 when its struct does not say it. */
uint64_t api_field_bytes(const struct api_view *v, const struct api_field *f);

/* The value of the field of that name, 0 without one. */
uint64_t api_number(const struct api_view *v, const char *name);
