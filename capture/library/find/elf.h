/* SPDX-License-Identifier: Apache-2.0 */

/* Symbols of the objects that the loader has mapped, found without calling the loader. Any
 * thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Returns true if the address is in this library. */
bool cap_is_own(const void *address);
/* Returns the path of this library's file; "" if unknown. Calls the loader once. */
const char *cap_own_path(void);

/* Returns the first definition of `name` in an object after this library in look-up order, or
 * NULL. */
void *cap_elf_find_next(const char *name);
/* Returns the first definition of `name` in an object whose file name begins with `file`, or
 * NULL. */
void *cap_elf_find_in(const char *file, const char *name);

/* The origin of memory in a mapped file. */
#define CAP_MAX_BUILD_ID 64
struct cap_elf_origin {
	char path[320]; /* of the file */
	uint64_t offset;
	uint8_t id[CAP_MAX_BUILD_ID]; /* the file's build id */
	uint32_t id_len;
};

/* Returns false if `address` is not in the file of an object with a build id. */
bool cap_elf_origin(const void *address, struct cap_elf_origin *ret);
