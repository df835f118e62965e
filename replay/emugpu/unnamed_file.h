/* SPDX-License-Identifier: Apache-2.0 */

/* The unnamed files that gpuemu passes to the processes of a run, in variables such as
 * GPUEMU_RUN=/proc/PID/fd/N. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A process that landlock confines must not use descriptors of others; it opens the one that it
 * inherited, if that is still the same file. Returns a descriptor, or -1 with errno; ENOENT: not
 * set.
 */
static inline int emu_unnamed_file_open(const char *variable, int flags)
{
	const char *path = getenv(variable), *number = path ? strrchr(path, '/') : NULL;
	char inherited[64], expected[64], file[64] = "";
	int fd = path ? open(path, flags | O_CLOEXEC) : -1;

	if (!path)
		errno = ENOENT;
	if (fd >= 0 || !number || errno != EACCES)
		return fd;
	snprintf(inherited, sizeof(inherited), "/proc/self/fd%s", number);
	snprintf(expected, sizeof(expected), "/memfd:%s (deleted)", variable);
	if (readlink(inherited, file, sizeof(file) - 1) < 0 || strcmp(file, expected) != 0)
		return -1;
	return open(inherited, flags | O_CLOEXEC);
}
