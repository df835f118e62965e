/* SPDX-License-Identifier: Apache-2.0 */

/* Code images: the kernels and variables of a fat binary, a cubin or PTX. Instructions are not
 * decoded. */
#pragma once

#include "replay/emugpu/driver/cuda_api.h"

#include <stddef.h>
#include <stdint.h>

struct emu_param {
	uint32_t offset, bytes;
};

/* A kernel in an image. */
struct emu_entry {
	char *name;
	struct emu_param *params; /* n_params of them */
	int n_params;		  /* -1: not in the image */
	int registers, shared_bytes, local_bytes, const_bytes, max_threads;
};

struct emu_variable {
	char *name;
	size_t bytes;
	const uint8_t *init; /* owned by the image; NULL: zeroes */
	int managed;
};

struct emu_image {
	int arch;	/* 90 */
	int ptx;	/* 1: text */
	uint8_t *bytes; /* owned: what `init` points to */
	uint8_t **more; /* bytes of further parts; n_more of them, owned */
	size_t n_more, more_cap;
	struct emu_entry *entries;
	size_t n_entries, entries_cap;
	struct emu_variable *variables;
	size_t n_variables, variables_cap;
};

/* Header of an image linked by code/link.c: that of a fat binary, so that every reader finds the
 * image's length, with a version of its own. The parts follow: length (8 bytes), bytes, then at
 * least one zero byte up to a multiple of 8. */
#define EMU_FATBIN_MAGIC 0xba55ed50u
#define EMU_LINKED_VERSION 0x6c67u
struct emu_linked {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t bytes; /* of the parts */
};

/* Reads a file and appends zeroes; the caller frees *ret. */
CUresult emu_image_read(const char *path, char **ret, size_t *bytes);

/* Parses the image at `data`: fat binary (or its wrapper), ELF, or NUL-terminated PTX text. Of a
 * fat binary, selects the part that matches compute capability `arch` best. -EBADMSG: unknown
 * format, or damaged. */
int emu_image_parse(const void *data, int arch, struct emu_image *ret);

/* Parses an image of at most `bytes` bytes (at least 4; text ends with a NUL), except wrappers and
 * linked images. */
int emu_image_parse_bytes(const uint8_t *data, size_t bytes, int arch, struct emu_image *ret);
void emu_image_done(struct emu_image *image);

/* Parsers of each format, of `bytes` bytes at `data` (a fat binary contains its size). The caller
 * calls emu_image_done(), also on failure. */
int emu_image_parse_fatbin(struct emu_image *image, const uint8_t *data, size_t bytes, int arch);
int emu_image_parse_elf(struct emu_image *image, const uint8_t *data, size_t bytes);
int emu_image_parse_ptx(struct emu_image *image, const char *text);
struct emu_entry *emu_image_add(struct emu_image *image, const char *name, size_t len);
struct emu_variable *emu_image_add_variable(struct emu_image *image, const char *name, size_t len);
