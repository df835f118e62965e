/* SPDX-License-Identifier: Apache-2.0 */

/* The frames of every file of a trace: file header, chunk header, payload, index, footer. Each
 * header is a zstd skippable frame and each payload an ordinary zstd frame, so that `zstd -dc`
 * unpacks every file. doc/format.md is the specification.
 *
 * Decoders accept untrusted bytes and return -EBADMSG, or -ENOTSUP for a newer version. They return
 * the reason as a static string, since only their caller knows file and offset. */
#pragma once

#include "formats/trace/model.h"
#include "formats/trace/store/cursor.h"

#define FMT_SKIP_MAGIC 0x184D2A57u
#define FMT_VERSION 1

enum fmt_file_kind {
	FMT_FILE_TRACE,
	FMT_FILE_RANK,
	FMT_FILE_PACKED,
	FMT_FILE_BLOBS,
	FMT_FILE_KINDS,
};

#define FMT_FILE_HEADER_BYTES 38

struct fmt_file_header {
	uint8_t kind;	     /* enum fmt_file_kind */
	uint32_t number;     /* the recorder's rank; 0 in other files */
	uint32_t names_rank; /* the rank's index in the shared names */
};

enum fmt_chunk_type {
	FMT_CHUNK_NAMES = 1,	/* names, or names added since the previous such chunk */
	FMT_CHUNK_SLICE = 2,	/* events, ranges, values and edges of one slice */
	FMT_CHUNK_DIGESTS = 3,	/* digests and pages of one slice */
	FMT_CHUNK_BLOB = 4,	/* a content; `slice` is the low 32 bits of its name */
	FMT_CHUNK_CONTENTS = 5, /* contents that operations read and wrote; `slice` is the rank */
	FMT_CHUNK_MANIFEST = 6, /* the other files of the trace and their roots */
};

/* The header of a chunk; also in the index. */
struct fmt_chunk {
	uint8_t type;	       /* enum fmt_chunk_type, or a type of a later version */
	uint64_t header_bytes; /* of the header, including the skippable frame around it */
	uint64_t frame_bytes;  /* of the zstd frame that follows the header */
	uint64_t raw_bytes;    /* of the payload */
	uint64_t hash;	       /* xxh3-64 of the zstd frame */
	uint32_t rank;	       /* the recorder's */
	uint64_t offset;       /* of the header, in its file; not stored */

	/* For FMT_CHUNK_SLICE. Other types use `slice` alone, or nothing. */
	uint64_t slice;
	struct fmt_iteration iteration;
	fmt_number first_number;
	uint64_t n_records[FMT_KINDS];
	uint64_t n_edges, n_digests;
};

/* Maximum length of a header from fmt_chunk_header_put(). */
#define FMT_CHUNK_HEADER_MAX 320
/* Maximum uncompressed size of a payload; checked before memory is allocated. */
#define FMT_CHUNK_RAW_MAX (1u << 30)
/* Returns 1 if the chunk's uncompressed size is larger than its type allows. Contents and digests
 * may have any ratio; chunks that are read on opening may have at most a thousand. */
int fmt_chunk_is_oversized(const struct fmt_chunk *c);

#define FMT_FOOTER_BYTES 53

struct fmt_footer {
	uint64_t index_bytes; /* of the index, which directly precedes the footer */
	uint8_t root[32]; /* Merkle root of the file's chunks; in a packed file the trace's id */
};

uint64_t fmt_hash(const void *data, size_t len);

/* A header is a skippable frame. Its first byte is the tag, its last eight bytes are the xxh3-64 of
 * all bytes before them. fmt_header_begin() and fmt_header_end() append one; `start` is t->len
 * before it. */
void fmt_header_begin(struct text *t, uint8_t tag);
void fmt_header_end(struct text *t, size_t start);
/* Checks length, hash and tag. Sets *ret to the bytes between tag and hash. */
int fmt_header_open(const uint8_t *data, size_t len, uint8_t tag, struct fmt_cursor *ret,
		    const char **why);

/* Write and read the fields of a file header, which the index repeats. -ENOTSUP: newer version. */
void fmt_file_fields_put(struct text *t, const struct fmt_file_header *h);
int fmt_file_fields_get(struct fmt_cursor *c, struct fmt_file_header *ret, const char **why);
void fmt_file_header_put(struct text *t, const struct fmt_file_header *h);
int fmt_file_header_get(const uint8_t *data, size_t len, struct fmt_file_header *ret,
			const char **why);

/* `c->header_bytes` and `c->offset` are not used. */
void fmt_chunk_header_put(struct text *t, const struct fmt_chunk *c);
/* `len` is the rest of the file, or at least FMT_CHUNK_HEADER_MAX; offset is not set. */
int fmt_chunk_header_get(const uint8_t *data, size_t len, struct fmt_chunk *ret, const char **why);

/* Appends the fields of the header that do not depend on the compression level. */
void fmt_chunk_fields_put(struct text *t, const struct fmt_chunk *c);

void fmt_footer_put(struct text *t, const struct fmt_footer *f);
int fmt_footer_get(const uint8_t *data, size_t len, struct fmt_footer *ret, const char **why);

/* Compresses the payload as one zstd frame and appends it to `out`. Its parts (`cuts`: ascending
 * offsets, the last one is the end) each begin a zstd block. */
int fmt_frame_pack(struct text *out, const char *raw, const size_t *cuts, size_t n_cuts, int level);
/* Decompresses a frame to exactly `raw_bytes` bytes at *ret, which the caller frees. */
int fmt_frame_unpack(const uint8_t *frame, size_t len, size_t raw_bytes, uint8_t **ret,
		     const char **why);
