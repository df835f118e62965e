/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/memory/absent.h"

#include "replay/emugpu/driver/device.h"
#include "replay/emugpu/driver/memory.h"
#include "replay/emugpu/driver/missing.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u
#define MOST_READ (16u << 20) /* by one search for zeros in present pages */

/* A part of memory whose pages are all present, or all absent. */
struct extent {
	size_t bytes;
	int absent, has_file;
};

/* Returns the file of `at`, and the offset in it; -1 if unknown. Limits *bytes to the end of the
 * file's memory. */
static int file_of(const uint8_t *at, size_t *bytes, uint64_t *offset)
{
	struct emu_region r = emu_region_find((uintptr_t)at);
	size_t left = r.bytes - ((uintptr_t)at - r.base);
	int fd = -1;

	if (r.kind == EMU_DEVICE) {
		fd = emu_memory_file(r.device->memory, (uintptr_t)at, offset);
	} else if (r.kind == EMU_MAPPED && r.fd > 0) {
		fd = r.fd;
		*offset = r.offset + ((uintptr_t)at - r.base);
	}
	if (fd >= 0 && *bytes > left)
		*bytes = left;
	return fd;
}

/* The first extent of [at, at + bytes). */
static struct extent extent_at(const uint8_t *at, size_t bytes)
{
	struct extent e = {.bytes = bytes};
	uint64_t offset = 0;
	int fd = file_of(at, &e.bytes, &offset);
	off_t end;

	if (fd < 0)
		return e;
	e.has_file = 1;
	end = lseek(fd, (off_t)offset, SEEK_DATA);
	e.absent = end < 0 ? errno == ENXIO : (uint64_t)end > offset;
	if (!e.absent)
		end = lseek(fd, (off_t)offset, SEEK_HOLE);
	if (end >= 0 && (uint64_t)end - offset < e.bytes)
		e.bytes = (uint64_t)end - offset;
	return e;
}

/* Clears present memory. */
static void clear_extent(uint8_t *at, const struct extent *e)
{
	uint8_t *end = at + e->bytes;
	uint8_t *from = at + (0 - (uintptr_t)at) % PAGE, *to = end - (uintptr_t)end % PAGE;

	if (!e->has_file || from >= to || madvise(from, (size_t)(to - from), MADV_REMOVE) < 0) {
		memset(at, 0, e->bytes);
		return;
	}
	memset(at, 0, (size_t)(from - at));
	memset(to, 0, (size_t)(end - to));
}

void emu_absent_clear(uint8_t *at, size_t bytes)
{
	for (struct extent e; bytes > 0; at += e.bytes, bytes -= e.bytes) {
		e = extent_at(at, bytes);
		if (!e.absent)
			clear_extent(at, &e);
	}
}

void emu_absent_copy(uint8_t *to, const uint8_t *from, size_t bytes)
{
	int overlap = to < from + bytes && from < to + bytes;

	if (bytes <= EMU_ABSENT_BYTES || overlap) {
		memmove(to, from, bytes);
		return;
	}
	for (struct extent e; bytes > 0; to += e.bytes, from += e.bytes, bytes -= e.bytes) {
		e = extent_at(from, bytes);
		if (e.absent)
			emu_absent_clear(to, e.bytes);
		else
			memcpy(to, from, e.bytes);
	}
}

static int is_zero(const uint8_t *at, size_t bytes)
{
	return at[0] == 0 && memcmp(at, at + 1, bytes - 1) == 0;
}

/* Neighbours share the first and the last page, so their bytes count. */
EMU_API int gpuemu_is_absent(const void *address, uint64_t bytes)
{
	const uint8_t *at = address;

	for (struct extent e; bytes > 0; at += e.bytes, bytes -= e.bytes) {
		e = extent_at(at, bytes);
		if (!e.absent && (e.bytes >= PAGE || !e.has_file || !is_zero(at, e.bytes)))
			return 0;
	}
	return 1;
}

/* Returns the bytes from `at` to the next present page, at most `bytes`. */
static size_t absent_at(const uint8_t *at, size_t bytes)
{
	uint64_t offset = 0;
	int fd = file_of(at, &bytes, &offset);
	off_t data = fd < 0 ? (off_t)offset : lseek(fd, (off_t)offset, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? bytes : 0;
	return (uint64_t)data - offset < bytes ? (size_t)((uint64_t)data - offset) : bytes;
}

EMU_API uint64_t gpuemu_zero_bytes(const void *address, uint64_t bytes)
{
	uint64_t done = 0, read = 0;

	while (done < bytes) {
		const uint8_t *at = (const uint8_t *)address + done;
		size_t n = absent_at(at, bytes - done);

		if (n == 0) {
			n = PAGE - (uintptr_t)at % PAGE;
			n = n < bytes - done ? n : bytes - done;
			if (read > MOST_READ || !is_zero(at, n))
				break;
			read += n;
		}
		done += n;
	}
	return done;
}

EMU_API int gpuemu_is_unwritten(const void *address)
{
	return emu_missing_wrote(address);
}

/* A kernel without a host kernel leaves undefined values, which may include pages of an earlier use
 * of the memory. */
EMU_API int gpuemu_is_undefined(const void *address, uint64_t bytes)
{
	const uint8_t *at = address;
	uint64_t absent = 0, left = bytes;

	for (struct extent e; left > 0; at += e.bytes, left -= e.bytes) {
		e = extent_at(at, left);
		absent += e.absent ? e.bytes : 0;
	}
	return absent > 0 && absent >= bytes / 2 &&
	       (emu_missing_wrote(address) || gpuemu_is_absent(address, bytes));
}

EMU_API void gpuemu_clear(void *address, uint64_t bytes)
{
	emu_absent_clear(address, bytes);
}
