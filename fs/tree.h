/* SPDX-License-Identifier: Apache-2.0 */

/* A trace as a tree: its iterations over all ranks, and the slices of each. Immutable once made,
 * except for cached lengths; thread-safe. Internal to fs/. */
#pragma once

#include "formats/render/export/chrome.h"
#include "formats/render/export/tsv.h"
#include "formats/trace/store/trace.h"
#include "fs/cache.h"
#include "fs/ino.h"

#include <pthread.h>
#include <stdatomic.h>

/* The pieces of a slice, one for each file made of slices. Their lengths are cached. */
enum { FS_PIECE_TIMELINE = FMT_TABLES, FS_PIECES };

struct fs_tree {
	struct fmt_trace *trace; /* owned */
	const struct fmt_names *names;
	struct fmt_tsv *tsv;
	struct fmt_chrome *chrome;
	struct fs_stored *stored; /* entries of modules/ and contents/ */
	struct fs_cache *cache;	  /* not owned */
	uint32_t run;		  /* as in inode numbers */
	uint32_t n_ranks;
	uint32_t n_iterations; /* including FMT_BEFORE and FMT_AFTER */
	uint32_t has_before, has_after;
	int64_t *numbers;	 /* FMT_BEFORE first, then ascending, FMT_AFTER last */
	uint64_t *slices_before; /* by rank: number of slices of earlier ranks */
	uint64_t n_slices;
	_Atomic uint64_t *lengths; /* n_slices times FS_PIECES: 1 + length, or 0 */
	int64_t start_ns;	   /* of the run */
	char *path;		   /* absolute path of the trace */
	/* The last piece that was read of a file of the whole run. */
	struct {
		pthread_mutex_t lock;
		fs_ino file;	 /* 0: none */
		uint64_t before; /* bytes of the earlier pieces */
		uint32_t rank, slice;
	} last;
};

/* Takes ownership of `trace`, also on failure. */
int fs_tree_new(struct fmt_trace *trace, struct fs_cache *cache, uint32_t run, struct fs_tree **ret,
		struct fmt_error *err);
void fs_tree_free(struct fs_tree *t);

/* Returns the index of an iteration, or -1. */
int64_t fs_tree_iteration(const struct fs_tree *t, int64_t number);

/* Returns true if a rank has slices in an iteration. */
bool fs_tree_has_slices(const struct fs_tree *t, uint32_t rank, uint32_t iteration);

/* Returns the number of records of a slice, from the index. */
uint64_t fs_tree_n_records(const struct fs_tree *t, uint32_t rank, uint32_t slice);

/* Memory for a decoded record, including temporary memory of the decoder. */
#define FS_RECORD_BYTES 128u

/* A part of the tree: one iteration or all, one rank or all. */
#define FS_ALL UINT32_MAX

struct fs_scope {
	uint32_t iteration, rank;
};

/* Returns the part of the run that the files of a directory cover. */
struct fs_scope fs_scope_of(const struct fs_node *where);
struct fmt_part fs_tree_part(const struct fs_tree *t, struct fs_scope scope);

/* Iterates over the slices of the part that the files of a directory cover. */
struct fmt_walk fs_tree_walk(const struct fs_tree *t, const struct fs_node *where);

/* Returns a decoded slice, through the cache, to be released with fs_cache_put(). */
int fs_tree_slice(struct fs_tree *t, uint32_t rank, uint32_t slice, struct fs_item **ret);

/* Calls each() for each slice of a part, in order, with slices that are decoded on all processors
 * and not cached. Returns 0, or the first error. */
int fs_tree_each(struct fs_tree *t, const struct fmt_part *part, unsigned want,
		 int (*each)(struct fs_tree *t, const struct fmt_slice *s, void *context),
		 void *context);
