/* SPDX-License-Identifier: Apache-2.0 */

/* Contents of the files that are not tables of one slice: one function per file, named after it.
 * `where` is the file. Each function appends to `out`, whose error the caller checks, and returns 0
 * or a negative errno. Internal to fs/. */
#pragma once

#include "fs/tree.h"

typedef int fs_render(struct fs_tree *t, const struct fs_node *where, struct text *out);

/* Files about the whole run: render_about.c */
fs_render fs_render_readme;
fs_render fs_render_id;
fs_render fs_render_citation;
fs_render fs_render_license;
fs_render fs_render_trace_json;
fs_render fs_render_errors;

/* Files about any part of the run: render_part.c */
fs_render fs_render_summary;
fs_render fs_render_svg;

/* Files about one GPU over the whole run: render_gpu.c */
fs_render fs_render_device_json;
fs_render fs_render_totals;
fs_render fs_render_streams;
/* Tables from facts of one GPU: render_facts.c */
fs_render fs_render_graphs;
fs_render fs_render_allocations;

/* Files about a communicator: render_comm.c */
fs_render fs_render_comm_ranks;
fs_render fs_render_comm_collectives;

/* Stored code images and buffers: render_stored.c */
fs_render fs_render_modules;
fs_render fs_render_contents;
fs_render fs_render_stored;
int fs_stored_size(struct fs_tree *t, const struct fs_node *where, uint64_t *ret);
