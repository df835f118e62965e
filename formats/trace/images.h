/* SPDX-License-Identifier: Apache-2.0 */

/* The code images that a run loaded: the fact FMT_FACT_IMAGES of a recorded trace, a JSON array.
 * Their bytes are among the trace's contents, or in a file with the same build id. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FMT_FACT_IMAGES "images"

enum fmt_image_kind {
	FMT_IMAGE_OTHER,
	FMT_IMAGE_CUBIN,
	FMT_IMAGE_PTX,
	FMT_IMAGE_FATBIN,
	FMT_IMAGE_KINDS,
};

/* Returns "cubin", "ptx" or "fatbin": the name in the trace, and the extension of file names. */
const char *fmt_image_kind_name(enum fmt_image_kind kind);

struct fmt_image {
	enum fmt_image_kind kind;
	uint64_t bytes;
	int has_name; /* its content was stored, under `name` */
	uint64_t name[2];
	/* Otherwise its location: both texts are JSON without the quotes. */
	uint64_t offset_bytes;
	const char *build_id, *file; /* not terminated */
	size_t build_id_len, file_len;
};

/* Reads the next image of the fact; *at is initially its text and is advanced. Returns 1 for an
 * image, 0 at the end. Missing and invalid members are 0. */
int fmt_image_next(const char **at, const char *end, struct fmt_image *ret);

/* Formats a content's name as 32 hex digits, high half first, and a NUL. */
#define FMT_CONTENT_NAME_BYTES 33
void fmt_content_name(const uint64_t name[2], char ret[FMT_CONTENT_NAME_BYTES]);

/* Parses the 32 hex digits at `s`. Returns 1, or 0 if invalid. */
int fmt_content_name_get(const char *s, size_t len, uint64_t ret[2]);
