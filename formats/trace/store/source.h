/* SPDX-License-Identifier: Apache-2.0 */

/* One member of a trace, read like a separate file: a file of a directory, or the two pieces of a
 * packed file with the member's chunks and its tail (index and footer). */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* Descriptors of recently read files. Thread-safe. */
#define FMT_FD_CACHE 6
struct fmt_fd_cache {
	pthread_mutex_t lock;
	struct {
		const char *name; /* of the source, not owned; NULL: free */
		int fd;
	} files[FMT_FD_CACHE];
	unsigned next;
};

void fmt_fd_cache_init(struct fmt_fd_cache *k);
void fmt_fd_cache_done(struct fmt_fd_cache *k);

struct fmt_source {
	int fd;			   /* of the packed file, or -1 */
	int dir_fd;		   /* directory of `name`, if fd is -1 */
	char *name;		   /* owned: "rank-00003.chunks" */
	struct fmt_fd_cache *kept; /* of its trace; or NULL */
	uint64_t bytes;		   /* of the member: data and tail */
	uint64_t data_at;	   /* offset of the data in the packed file */
	uint64_t tail_at;	   /* offset of the tail in the packed file */
	uint64_t data_bytes;	   /* the rest is the tail */
};

/* Frees the name and closes a descriptor that was kept for it. */
void fmt_source_done(struct fmt_source *s);

/* Returns a descriptor for a few reads, which no other thread uses meanwhile, or -errno. Few
 * descriptors are kept open, so that a trace of thousands of ranks needs few more than it has
 * readers. */
int fmt_source_open(const struct fmt_source *s);
void fmt_source_close(const struct fmt_source *s, int fd);

/* Reads up to `len` bytes at `offset`; fewer only at the end. Returns their number or -errno. */
long fmt_source_read(const struct fmt_source *s, int fd, void *buf, size_t len, uint64_t offset);
