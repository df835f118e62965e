/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/overheard.h"

#include "base/scope.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The handle is a copy of the original stderr; descriptor 2 is a file in memory until the end. */
int fs_overhear_begin(void)
{
	scoped(close_fd) int memory = memfd_create("stderr", MFD_CLOEXEC);
	int original = memory < 0 ? -1 : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	if (original < 0)
		return -1;
	fflush(stderr);
	if (dup2(memory, STDERR_FILENO) < 0) {
		close(original);
		return -1;
	}
	return original;
}

/* Cuts `text` down to its last line. */
static char *last_line(char *text)
{
	size_t len = strlen(text);
	char *newline;

	while (len > 0 && text[len - 1] == '\n')
		text[--len] = 0;
	newline = strrchr(text, '\n');
	return newline ? newline + 1 : text;
}

static const char *without_program(const char *line)
{
	static const char *const programs[] = {"fuse: ", "fusermount3: ", "fusermount: "};

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (strncmp(line, programs[i], strlen(programs[i])) == 0)
			return line + strlen(programs[i]);
	return line;
}

void fs_overhear_end(int handle, char *line, size_t size)
{
	char printed[1024];
	ssize_t n;

	if (handle < 0)
		return;
	fflush(stderr);
	n = pread(STDERR_FILENO, printed, sizeof(printed) - 1, 0);
	dup2(handle, STDERR_FILENO);
	close(handle);
	if (n <= 0)
		return;
	printed[n] = 0;
	snprintf(line, size, "%s", without_program(last_line(printed)));
}
