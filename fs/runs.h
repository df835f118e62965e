/* SPDX-License-Identifier: Apache-2.0 */

/* The runs of a mount that are computed from the recorded one on first access: the emulated run,
 * and a changed run for each spec that was looked up below what-if/. Runs are numbered as in inode
 * numbers, and only added. Any number of threads may use them at once. Internal to fs/.
 */
#pragma once

#include "fs/options.h"
#include "fs/tree.h"

struct fs_runs;

/* `recorded` must outlive *ret. Each run may use `memory_bytes` for bases of patches. */
int fs_runs_new(struct fs_tree *recorded, const struct fs_options *options, size_t memory_bytes,
		struct fs_runs **ret);
void fs_runs_free(struct fs_runs *r);

/* Returns the end of the numbers of runs. */
uint32_t fs_runs_end(const struct fs_runs *r);

/* Finds or adds the changed run of a spec. Returns its number; -ENOENT for an invalid spec, which
 * adds a line to fs_runs_rejected(); -ENOSPC if there are too many runs; or -ENOMEM. */
int fs_runs_find(struct fs_runs *r, const char *spec);

/* Returns the spec of a changed run. */
const char *fs_run_spec(const struct fs_runs *r, uint32_t number);

/* Returns true until fs_run_make() was called for an existing run. */
bool fs_run_is_pending(const struct fs_runs *r, uint32_t number);

/* Computes the run unless already done. */
void fs_run_make(struct fs_runs *r, uint32_t number);

/* Returns NULL if the run is pending or failed. */
struct fs_tree *fs_run_tree(const struct fs_runs *r, uint32_t number);

/* Returns the reason why the run failed, or "". */
const char *fs_run_error(const struct fs_runs *r, uint32_t number);

/* Returns the lines about invalid specs, of which *len bytes are valid and never change. */
const char *fs_runs_rejected(const struct fs_runs *r, size_t *len);
