/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/lib/process.h"

#include "base/scope.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

struct stat_line {
	char state;
	uint64_t parent, started;
};

/* What /proc/PID/stat says; 0 or -1. */
static int read_stat(uint64_t pid, struct stat_line *ret)
{
	char path[64], text[1024], *at;
	scoped(close_fd) int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return -1;
	text[n] = 0;
	/* The name in parentheses may hold anything; field 3 follows its last one. */
	at = strrchr(text, ')');
	if (!at || at[1] != ' ')
		return -1;
	ret->state = at[2];
	at += 2;
	for (int field = 3; field < 22; field++) {
		at = strchr(at, ' ');
		if (!at)
			return -1;
		at++;
		if (field == 3)
			ret->parent = strtoull(at, NULL, 10);
	}
	ret->started = strtoull(at, NULL, 10);
	return 0;
}

uint64_t emu_process_started(uint64_t pid)
{
	struct stat_line line;

	return read_stat(pid, &line) < 0 ? 0 : line.started;
}

uint64_t emu_process_parent(uint64_t pid)
{
	struct stat_line line;

	return read_stat(pid, &line) < 0 ? 0 : line.parent;
}

int emu_process_lives(uint64_t pid, uint64_t started)
{
	struct stat_line line;

	return read_stat(pid, &line) == 0 && line.started == started && line.state != 'Z' &&
	       line.state != 'X';
}
