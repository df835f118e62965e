/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/counts.h"

#include "base/scope.h"
#include "base/text.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>

int emu_counting;

static const struct emu_counts *counts;

static void reset_counts(void)
{
	for (unsigned i = 0; i < counts->n; i++)
		counts->calls[i] = 0;
}

void emu_counts_start(const struct emu_counts *c)
{
	const char *path = getenv("GPUEMU_COUNTS");

	if (!path || !*path)
		return;
	counts = c;
	pthread_atfork(NULL, NULL, reset_counts);
	emu_counting |= EMU_COUNTED;
}

static void add_line(struct text *lines, const char *library, const char *name, uint64_t calls)
{
	text_str(lines, library);
	text_char(lines, ' ');
	text_str(lines, name);
	text_char(lines, ' ');
	text_u64(lines, calls);
	text_char(lines, '\n');
}

void emu_counts_write(const struct emu_counts *c)
{
	const char *path = getenv("GPUEMU_COUNTS");
	scoped(text_done) struct text lines = {0};
	scoped(close_fd) int fd = -1;
	ssize_t written;

	if (!emu_counting || !path)
		return;
	for (unsigned i = 0; i < c->n; i++)
		if (c->calls[i])
			add_line(&lines, c->library, c->names[i], c->calls[i]);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || lines.error || lines.len == 0)
		return;
	written = write(fd, lines.data, lines.len);
	(void)written;
}
