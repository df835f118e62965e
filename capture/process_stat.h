/* SPDX-License-Identifier: Apache-2.0 */

/* What tells a process from the next one that gets its pid. Used on both sides of a ring. */
#pragma once

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Field 22 of /proc/PID/stat: when it was started. 0: there is none, or it has ended and is only
 * not waited for. */
static inline uint64_t cap_process_start(int pid)
{
	char path[32], text[1024];
	ssize_t n = -1;
	char *at;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n < 0 ? 0 : n] = 0;
	at = strrchr(text, ')'); /* the second field may hold anything else */
	if (!at || strncmp(at, ") Z", 3) == 0 || strncmp(at, ") X", 3) == 0)
		return 0;
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}
