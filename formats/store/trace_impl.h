/* SPDX-License-Identifier: Apache-2.0 */

/* What a fmt_trace is made of; for trace.c, open.c, verify.c and pack.c. */
#pragma once

#include "base/scope.h"
#include "formats/store/member.h"
#include "formats/store/names_code.h"
#include "formats/store/trace.h"

#include <pthread.h>

struct fmt_rank_state {
	struct fmt_member member;
	struct fmt_rank info;
	struct fmt_slice_info *slices;
	uint32_t *chunk_of;	  /* of each slice: index of its chunk, plus 1; 0: lost */
	uint32_t *digests_of;	  /* the same of its digests; 0: none, or lost */
	struct fmt_names_map own; /* inline names */
	uint64_t **lengths;	  /* of each slice: renderer, n, lengths; NULL until asked for */
	int lengths_read;
};

/* A reference that is decoded. */
struct fmt_cached {
	struct fmt_reference *reference;
	uint64_t slice, used;
	uint32_t rank, users;
};

/* A content: the low 32 bits of its name, and its chunk in blobs.chunks. */
struct fmt_blob_place {
	uint32_t key, chunk;
};

struct fmt_trace {
	struct fmt_slice_keeper keeper;
	char *path;
	int dir_fd, packed_fd;
	struct fmt_kept kept;
	struct fmt_names *names;
	struct fmt_names_map shared_map;
	struct fmt_member shared; /* the names of all; source.name is NULL if there are none */
	struct fmt_member blobs;  /* contents; the same */
	struct fmt_blob_place *blob_places; /* of each content, by key */
	size_t n_blobs;
	struct fmt_rank_state *ranks; /* by number */
	uint32_t n_ranks;
	uint64_t bytes;
	uint8_t packed_root[32];
	int has_packed_root;

	pthread_mutex_t lock; /* of what follows, and of `damaged` in the slices */
	struct fmt_damage damage;
	struct fmt_cached **references;
	size_t n_references, references_cap;
	uint64_t reference_bytes, clock;
	char id[65];
};

/* "DIR/rank-00001.chunks", or the packed file's path with ":" between. */
void fmt_member_path(const struct fmt_trace *t, const struct fmt_member *m, char *buf, size_t len);

/* The members of the trace at `path`: sets path, descriptors, shared, ranks and what is known of
 * their sources, in the order of names. formats/store/open.c. */
int fmt_trace_find(struct fmt_trace *t, const char *path, struct fmt_error *err);

/* Lists the contents of `blobs`, which is open. 0 or -ENOMEM. formats/store/blobs.c. */
int fmt_blobs_list(struct fmt_trace *t);

void fmt_references_free(struct fmt_trace *t);

/* Loads a slice to see what its columns took: bits[FMT_COLUMNS] is added to. formats/store/load.c.
 */
int fmt_slice_bits(struct fmt_trace *t, uint32_t rank, uint32_t slice, double *bits,
		   struct fmt_error *err);
