/* SPDX-License-Identifier: Apache-2.0 */

/* Writes a trace, as a directory with one file per rank. doc/format.md specifies the layout.
 *
 * Ranks are written independently; names and the list of files, without which nothing can be read,
 * are written last. Memory is bounded by the current slice. A rank's slices are written in order.
 * Functions return 0 or a negative errno. A rank writer is for one thread at a time; different
 * threads may write different ranks while no thread adds to the shared names. */
#pragma once

#include "formats/trace/error.h"
#include "formats/trace/names.h"

struct fmt_writer;

/* Creates the directory `path`, which must not exist. `names` is not owned, and must outlive the
 * writer. `level` is that of zstd; 0: the default. For atomic output, write to a temporary name
 * beside it and rename(2). */
int fmt_writer_open(const char *path, struct fmt_names *names, int level, struct fmt_writer **ret,
		    struct fmt_error *err);

/* Encodes the next slices with these names, a copy (fmt_names_copy) of those that the writer was
 * opened with, so that names can be added meanwhile. Closing uses the original names. */
void fmt_writer_use_names(struct fmt_writer *w, const struct fmt_names *names);

/* Completes the trace: its files, and last of all the manifest that lists them. Always frees
 * `w`. */
int fmt_writer_close(struct fmt_writer *w, struct fmt_error *err);
/* Free `w` and leave the files incomplete; remove them. */
void fmt_writer_abandon(struct fmt_writer *w);
void fmt_writer_remove(struct fmt_writer *w);

struct fmt_output;

/* Returns the file of contents (formats/trace/store/blobs.h), created by the first call. Owned by
 * `w`, which completes it. */
int fmt_writer_blobs(struct fmt_writer *w, struct fmt_output **ret, struct fmt_error *err);

struct fmt_rank_writer;

/* Creates the file of rank number `number`; `rank` is its index in the names (tracks, devices,
 * facts). Owned by `w`. */
int fmt_writer_rank(struct fmt_writer *w, uint32_t rank, uint32_t number,
		    struct fmt_rank_writer **ret, struct fmt_error *err);

/* Sorts events and ranges into the order of model.h (ties: longer first, then by template, then in
 * the given order), and edges by `to`. Sets position[i], unless position is NULL, to the new index
 * of events[i]. The caller must convert the numbers in edges before. */
int fmt_slice_sort(struct fmt_slice *s, uint32_t *position);

/* Sorts edges by `to`. */
void fmt_edges_sort(struct fmt_edge *edges, size_t n);

/* Writes the rank's next slice. It must be sorted (else -EINVAL), and its first_number must be
 * fmt_rank_writer_next(). Does not keep `s`. */
int fmt_rank_writer_slice(struct fmt_rank_writer *w, const struct fmt_slice *s,
			  struct fmt_error *err);

/* Frees memory that the next slice allocates again. */
void fmt_rank_writer_trim(struct fmt_rank_writer *w);

/* Returns the number of the next slice's first event. */
fmt_number fmt_rank_writer_next(const struct fmt_rank_writer *w);
