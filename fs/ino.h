/* SPDX-License-Identifier: Apache-2.0 */

/* An inode number encodes the position of a file in the tree. So nothing is stored per inode, and
 * the numbers are the same in every mount of a trace.
 *
 *     bits 0-3    directory (enum fs_dir)
 *     bits 4-11   0: the directory itself, n: its n-th file, FS_LINK: a link in it, FS_STORED: a
 *                 content of the trace
 *     bit 12      0: the recorded run, 1: the emulated run
 *     bits 16-35  GPU: index of the rank
 *     bits 36-63  iteration: index, from 0; or communicator; or content
 *
 * The root must have number 1 in FUSE: FS_ROOT of the recorded run.
 */
#pragma once

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
	FS_DIRS, /* not one of them */
};

#define FS_LINK 255u
#define FS_STORED 254u
#define FS_MAX_GPUS (1u << 20)
#define FS_MAX_ITERATIONS (1u << 28)

struct fs_node {
	enum fs_dir dir;
	uint32_t file;
	uint32_t emulated; /* 0 or 1 */
	uint32_t gpu;
	uint32_t iteration; /* or communicator, or content */
};

static inline fs_ino fs_ino_of(struct fs_node p)
{
	return (fs_ino)p.dir | (fs_ino)p.file << 4 | (fs_ino)p.emulated << 12 |
	       (fs_ino)p.gpu << 16 | (fs_ino)p.iteration << 36;
}

static inline struct fs_node fs_node_of(fs_ino ino)
{
	return (struct fs_node){
		.dir = (enum fs_dir)(ino & 15),
		.file = ino >> 4 & 255,
		.emulated = ino >> 12 & 1,
		.gpu = ino >> 16 & (FS_MAX_GPUS - 1),
		.iteration = (uint32_t)(ino >> 36),
	};
}
