/* SPDX-License-Identifier: Apache-2.0 */

/* Captures stderr of a library or a child process, so that the caller can report it as the reason
 * of a failure. One thread, while no other thread prints. Internal to fs/.
 */
#pragma once

#include <stddef.h>

/* Redirects stderr. Returns a handle for fs_overhear_end(), or -1 if that is not possible: then
 * stderr stays as it is. */
int fs_overhear_begin(void);

/* Restores stderr and copies the last line that was printed into `line`, without the name of the
 * program before it ("fuse: ", "fusermount3: "). Leaves `line` alone if nothing was printed. */
void fs_overhear_end(int handle, char *line, size_t size);
