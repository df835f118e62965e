/* SPDX-License-Identifier: Apache-2.0 */

/* Code images: what a fat binary, a cubin or PTX says about its kernels and variables. The code
 * itself is not looked at. */
#pragma once

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

struct emu_param {
	uint32_t offset, bytes;
};

/* A kernel in an image. */
struct emu_entry {
	char *name;
	struct emu_param *params; /* n_params of them */
	int n_params;		  /* -1: the image does not tell */
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
	uint8_t **more; /* the same of parts; n_more of them, owned */
	size_t n_more, more_cap;
	struct emu_entry *entries;
	size_t n_entries, entries_cap;
	struct emu_variable *variables;
	size_t n_variables, variables_cap;
};

/* What was linked here: this head, and then each part behind its length (8 bytes), with zeroes up
 * to a multiple of 8, one at least. */
#define EMU_LINKED_MAGIC 0x6b6e6c67u
struct emu_linked {
	uint32_t magic, n;
};

/* A file, with zeroes behind it. */
CUresult emu_image_read(const char *path, char **ret, size_t *bytes);

/* Reads the image at `data`: fat binary (or its wrapper), ELF, PTX text ended by a NUL. Of a fat
 * binary, the part that suits a GPU of compute capability `arch` best. -EBADMSG: it is none of
 * these, or damaged. */
int emu_image_parse(const void *data, int arch, struct emu_image *ret);
/* The same of at most `bytes` (4 at least; text ends with a NUL), but for wrappers and what was
 * linked. */
int emu_image_parse_bytes(const uint8_t *data, size_t bytes, int arch, struct emu_image *ret);
void emu_image_done(struct emu_image *image);

/* The forms of it, of `bytes` at `data` (a fat binary says by itself how many it has). *image is to
 * be given to emu_image_done() in any case. */
int emu_image_parse_fatbin(struct emu_image *image, const uint8_t *data, size_t bytes, int arch);
int emu_image_parse_elf(struct emu_image *image, const uint8_t *data, size_t bytes);
int emu_image_parse_ptx(struct emu_image *image, const char *text);
struct emu_entry *emu_image_add(struct emu_image *image, const char *name, size_t len);
struct emu_variable *emu_image_add_variable(struct emu_image *image, const char *name, size_t len);
