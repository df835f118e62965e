/* SPDX-License-Identifier: Apache-2.0 */

/* An inode number encodes the path of a file in the tree. So no data is stored per inode, and the
 * numbers are equal in every mount of a trace, except for changed runs, which are numbered in the
 * order of their lookup.
 *
 *     bits 0-3    directory (enum fs_dir)
 *     bits 4-11   0: the directory itself, n: its n-th file, FS_LINK: a link in it, FS_STORED: a
 *                 content of the trace
 *     bits 12-19  the run (enum fs_run_number)
 *     bits 20-39  GPU: index of the rank
 *     bits 40-63  iteration: index, from 0; or communicator; or content
 *
 * The root must have number 1 in FUSE: FS_ROOT of the recorded run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t fs_ino;

enum fs_dir {
	FS_ROOT = 1,
	FS_ITERATIONS,
	FS_ITERATION,
	FS_ITERATION_GPU,
	FS_GPUS,
	FS_GPU,
	FS_GPU_ITERATIONS,
	FS_COMMS,
	FS_COMM,
	FS_MODULES,
	FS_CONTENTS,
	FS_WHAT_IF, /* of the recorded run: the roots of the changed runs */
	FS_DIRS,    /* number of directories; not a directory */
};

enum fs_run_number {
	FS_RECORDED,
	FS_EMULATED,
	FS_CHANGED, /* first file or directory of what-if/ */
	FS_RUNS = 256,
};

#define FS_LINK 255u
#define FS_STORED 254u
#define FS_MAX_GPUS (1u << 20)
#define FS_MAX_ITERATIONS (1u << 24)

/* Of a file name, without and with the NUL. */
#define FS_NAME_MAX 255
#define FS_NAME_BYTES (FS_NAME_MAX + 1)

/* A file or directory. */
struct fs_node {
	enum fs_dir dir;
	uint32_t file;
	uint32_t run;
	uint32_t gpu;
	uint32_t iteration; /* or communicator, or content */
};

static inline fs_ino fs_ino_of(struct fs_node p)
{
	return (fs_ino)p.dir | (fs_ino)p.file << 4 | (fs_ino)p.run << 12 | (fs_ino)p.gpu << 20 |
	       (fs_ino)p.iteration << 40;
}

static inline struct fs_node fs_node_of(fs_ino ino)
{
	return (struct fs_node){
		.dir = (enum fs_dir)(ino & 15),
		.file = ino >> 4 & 255,
		.run = ino >> 12 & (FS_RUNS - 1),
		.gpu = ino >> 20 & (FS_MAX_GPUS - 1),
		.iteration = (uint32_t)(ino >> 40),
	};
}

/* Returns true for what-if/ and its file `errors`: only they change while the trace is mounted. */
static inline bool fs_ino_changes(fs_ino ino)
{
	return fs_node_of(ino).dir == FS_WHAT_IF;
}
