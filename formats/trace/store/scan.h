/* SPDX-License-Identifier: Apache-2.0 */

/* Iterates over the frames of a file from its start without its index: for recovery and
 * verification. Skips payloads. After a damaged header it continues at the next complete header. */
#pragma once

#include "formats/trace/error.h"
#include "formats/trace/store/chunk.h"
#include "formats/trace/store/source.h"

struct fmt_frame {
	uint8_t tag;	 /* 'F' file header, 'C' chunk, 'I' index, 'M' members, 'E' footer */
	uint64_t offset; /* of its start */
	uint64_t bytes;	 /* including the payload of a chunk */
	struct fmt_chunk chunk;
	struct fmt_file_header file; /* of 'F', and the copy in 'I' */
	struct fmt_footer footer;
	/* Bytes before this frame that are not a complete frame: `lost_bytes` bytes at `lost_at`,
	 * and the reason. */
	uint64_t lost_at, lost_bytes;
	const char *why;
};

struct fmt_scan {
	const struct fmt_source *source;
	int fd;
	uint64_t at;
	uint8_t *buf; /* owned */
	size_t cap;
	uint64_t in_vain; /* bytes read for long headers that were invalid */
	/* At the end: the offset of the end of the last complete frame, and why the rest is not a
	 * frame. */
	uint64_t end;
	const char *why; /* NULL: the file ends there */
};

/* `fd` is from fmt_source_open(); the caller keeps it. */
void fmt_scan_init(struct fmt_scan *s, const struct fmt_source *source, int fd);
void fmt_scan_done(struct fmt_scan *s);

/* Returns 1 and the next frame, 0 at the end, or -errno: a read error; -ENOTSUP: a newer
 * version. */
int fmt_scan_next(struct fmt_scan *s, struct fmt_frame *ret);
