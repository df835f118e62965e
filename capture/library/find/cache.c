/* SPDX-License-Identifier: Apache-2.0 */

/* /etc/ld.so.cache, as glibc's ldconfig writes it ("glibc-ld.so.cache1.1"): a head of 48 bytes with
 * the number of entries, entries of 24 bytes with offsets of a name and of a path, the strings. An
 * older table may precede it. */
#include "capture/library/find/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "glibc-ld.so.cache1.1"
#define HEAD 48
#define ENTRY 24

#if defined(__x86_64__)
#define FLAGS 0x0303 /* an ELF library of libc6, for x86-64 */
#elif defined(__aarch64__)
#define FLAGS 0x0a03
#else
#define FLAGS 0x0003
#endif

static uint32_t u32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

/* The string at `offset`; NULL if it does not end within the file. */
static const char *string_at(const uint8_t *head, size_t len, uint32_t offset)
{
	if (offset >= len || !memchr(head + offset, 0, len - offset))
		return NULL;
	return (const char *)head + offset;
}

static int find_library(const uint8_t *file, size_t file_len, const char *library, char *ret,
			size_t ret_bytes)
{
	const uint8_t *head = memmem(file, file_len, MAGIC, strlen(MAGIC));
	size_t len = head ? file_len - (size_t)(head - file) : 0;

	if (len < HEAD || u32(head + 20) > (len - HEAD) / ENTRY)
		return -ENOENT;
	for (uint32_t i = 0; i < u32(head + 20); i++) {
		const uint8_t *entry = head + HEAD + (size_t)i * ENTRY;
		const char *name = string_at(head, len, u32(entry + 4));
		const char *path = string_at(head, len, u32(entry + 8));

		if (u32(entry) != FLAGS || !name || !path || strcmp(name, library) != 0 ||
		    strlen(path) >= ret_bytes)
			continue;
		strcpy(ret, path);
		return 0;
	}
	return -ENOENT;
}

int cap_cache_find(const char *library, char *ret, size_t ret_bytes)
{
	int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC), r = -ENOENT;
	struct stat st;
	void *map = MAP_FAILED;

	if (fd < 0)
		return -ENOENT;
	if (fstat(fd, &st) == 0 && st.st_size > 0)
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map != MAP_FAILED) {
		r = find_library(map, (size_t)st.st_size, library, ret, ret_bytes);
		munmap(map, (size_t)st.st_size);
	}
	return r;
}
