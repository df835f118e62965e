/* SPDX-License-Identifier: Apache-2.0 */

/* Internals of struct fmt_trace, for the sources of formats/trace/store. */
#pragma once

#include "base/scope.h"
#include "formats/trace/store/manifest.h"
#include "formats/trace/store/member.h"
#include "formats/trace/store/names_code.h"
#include "formats/trace/store/trace.h"

#include <pthread.h>

struct fmt_rank_state {
	struct fmt_member member;
	struct fmt_rank info;
	struct fmt_slice_info *slices;
	uint32_t *chunk_of;   /* by slice: 1 + index of its chunk; 0: lost */
	uint32_t *digests_of; /* the same for its digests; 0: none, or lost */
};

/* The structure of a slice that is the base of others. */
struct fmt_cached {
	uint8_t *payload; /* owned */
	struct fmt_cursor structure;
	uint64_t bytes, slice, used;
	uint32_t rank, users;
};

/* A content: the low 32 bits of its name, and its chunk in blobs.chunks. */
struct fmt_blob_slot {
	uint32_t key, chunk;
};

struct fmt_trace {
	struct fmt_slice_keeper keeper;
	char *path;
	int dir_fd, packed_fd;
	struct fmt_fd_cache kept;
	struct fmt_names *names;
	struct fmt_member shared;     /* trace.chunks: names and the manifest; source.name is NULL
					 if the trace has no such file */
	struct fmt_member blobs;      /* contents; as above */
	struct fmt_manifest manifest; /* n is 0 without a readable manifest */
	struct fmt_error lost; /* the first incomplete or missing file; what[0] is 0 if every file
				  is complete */
	struct fmt_blob_slot *blob_slots; /* of each content, by key */
	size_t n_blobs;
	struct fmt_rank_state *ranks; /* by number */
	uint32_t n_ranks;
	uint64_t bytes;
	uint8_t packed_root[32];
	int has_packed_root;

	pthread_mutex_t lock; /* protects the following members, and `damaged` of the slices */
	struct fmt_damage damage;
	struct fmt_cached **bases;
	size_t n_bases, bases_cap;
	uint64_t base_bytes, clock;
	uint64_t bases_limit; /* limit for unused bases, in bytes */
	uint8_t root[32];
	char id[65];	     /* `root`, once it is known; else "" */
	char mounted_id[65]; /* opened through a mount: the id that the mount shows; else "" */
};

/* Makes the path of a member for messages: "DIR/rank-00001.chunks", or
 * "PACKED:rank-00001.chunks". */
void fmt_member_path(const struct fmt_trace *t, const struct fmt_member *m, char *buf, size_t len);

/* The next member in the order of packed files: trace.chunks, ranks, contents; those that are
 * there. *next is 0 at first. NULL at the end. */
struct fmt_member *fmt_member_next(struct fmt_trace *t, uint32_t *next);

/* A root as 64 hex digits. */
void fmt_root_text(const uint8_t root[32], char ret[65]);

/* Finds the members of the trace at `path`, in any order: sets path, descriptors and the sources of
 * the members. formats/trace/store/open.c. */
int fmt_trace_find(struct fmt_trace *t, const char *path, struct fmt_error *err);

/* Opens the members that fmt_trace_find() found. A file is omitted and counted as damage if it is
 * unreadable, not a file of a trace, or not the one that the manifest lists. Fails without any file
 * of a rank, unless a manifest lists some. formats/trace/store/whole.c. */
int fmt_trace_open_members(struct fmt_trace *t, struct fmt_error *err);

/* As fmt_trace_open(), but also if none of the listed files of ranks can be used. */
int fmt_trace_open_damaged(const char *path, struct fmt_trace **ret, struct fmt_error *err);

/* Makes the list of a rank's slices from the chunks of its file. formats/trace/store/trace.c. */
int fmt_rank_list_slices(struct fmt_rank_state *r, const char *path, struct fmt_error *err);
void fmt_rank_done(struct fmt_rank_state *r);

/* Adds damage that makes the trace incomplete. */
void fmt_trace_add_loss(struct fmt_trace *t, const struct fmt_error *e);

/* Lists the contents of `blobs`, which must be open. Returns 0 or -ENOMEM.
 * formats/trace/store/blobs.c. */
int fmt_blobs_list(struct fmt_trace *t);

void fmt_bases_free(struct fmt_trace *t);
