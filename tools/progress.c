/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/progress.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

void progress_begin(struct progress *p)
{
	*p = (struct progress){.wanted = isatty(STDERR_FILENO)};
	clock_gettime(CLOCK_MONOTONIC, &p->from);
}

static double seconds_since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - from->tv_sec) + (double)(now.tv_nsec - from->tv_nsec) / 1e9;
}

/* Prints a line of blanks. If the cursor is not in the first column, because a program left a line
 * unfinished, this moves to the next line. */
static void leave_line(void)
{
	struct winsize w = {0};

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0)
		fprintf(stderr, "%*s", w.ws_col, "");
}

void progress_show(struct progress *p, const char *what, uint64_t done, uint64_t total)
{
	double now = p->wanted ? seconds_since(&p->from) : 0;

	if (now < 1 || now - p->shown < 0.1)
		return;
	if (!p->there)
		leave_line();
	p->shown = now;
	p->there = true;
	if (total)
		fprintf(stderr, "\r\033[K%s %3.0f %%", what, 100.0 * (double)done / (double)total);
	else
		fprintf(stderr, "\r\033[K%s %.0f MB", what, (double)done / 1e6);
}

void progress_end(struct progress *p)
{
	if (p->there)
		fputs("\r\033[K", stderr);
	p->there = false;
}

void progress_reading(void *context, uint64_t done, uint64_t total)
{
	progress_show(context, "reading", done, total);
}
