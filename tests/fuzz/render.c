/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/render.h"

#include "formats/render/export/chrome.h"
#include "formats/render/report/cause_find.h"
#include "formats/render/report/report.h"
#include "formats/trace/store/sizes.h"
#include "formats/trace/store/verify.h"
#include "fs/node.h"
#include "replay/engine/emulate.h"
#include "tools/gpuemu/timing.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCK (1u << 20)
#define MOST_BYTES (64u << 20) /* of one file; larger offsets use the same code */

/* Counts problems except a file that ends early and a missing index, which every input has. */
static int count_problem(void *context, const struct fmt_problem *p)
{
	const char *what = p->error.what;

	*(int *)context +=
		strcmp(what, "truncated") != 0 && !strstr(what, "index of the packed file");
	return 0;
}

/* Returns true if verify finds no problem that a renderer would fail on. */
static bool is_sound(const char *path)
{
	struct fmt_verified v;
	int problems = 0;

	return fmt_verify(path, count_problem, &problems, &v, NULL) == 0 && problems == 0;
}

/* A trace that passes verify can be rendered. */
static void expect(const struct fs_entry *e, int r, bool sound)
{
	if (r >= 0 || !sound)
		return;
	fprintf(stderr, "%s: %s, though verify found nothing\n", e->name, strerror(-r));
	abort();
}

static int read_file(struct fs *fs, fs_ino ino, uint64_t size)
{
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < size && at < MOST_BYTES; at += BLOCK) {
		scoped(fs_view_done) struct fs_view view = {0};

		r = fs_read(fs, ino, at, BLOCK, &view);
	}
	return r;
}

static void read_directory(struct fs *fs, fs_ino dir, bool sound)
{
	struct fs_entry e;
	struct fs_attr a;
	char link[256];

	for (uint64_t at = 0; fs_list(fs, dir, at, &e) == 1; at = e.next) {
		int r = fs_stat(fs, e.ino, &a);

		if (e.name[0] == '.')
			continue;
		expect(&e, r, sound);
		if (r < 0)
			continue;
		if (S_ISDIR(e.type))
			read_directory(fs, e.ino, sound);
		else if (S_ISLNK(e.type))
			fs_link(fs, e.ino, link, sizeof(link));
		else
			expect(&e, read_file(fs, e.ino, a.size_bytes), sound);
	}
}

static void report(struct fmt_trace *t)
{
	scoped(text_done) struct text out = {0};
	scoped(fmt_report_freep) struct fmt_report *r = NULL;
	struct fmt_report_style style = {0};

	if (fmt_report_new(t, &FMT_WHOLE, true, &r, NULL) == 0)
		fmt_report_json(r, &style, &out);
}

/* Exports each GPU as its profiler file. */
static void export_ranks(struct fmt_trace *t)
{
	for (uint32_t i = 0; i < fmt_trace_n_ranks(t); i++) {
		const struct fmt_part part = {.iteration = FMT_ANY, .rank = i};
		scoped(text_done) struct text out = {0};

		fmt_chrome(t, FMT_CHROME_RANK, &part, &out, NULL);
	}
}

/* Reads the kernel durations as gpuemu does. */
static void time_kernels(struct fmt_trace *t)
{
	scoped(close_fd) int fd = memfd_create("durations", MFD_CLOEXEC);

	gpuemu_timing_write(t, fd, NULL);
}

void render_all(const char *path)
{
	scoped(fmt_trace_closep) struct fmt_trace *again = NULL;
	struct fs_options options = {0};
	struct fmt_size_row sizes[FMT_SIZE_ROWS];
	struct fmt_cause cause = {0};
	struct fmt_trace *t;
	struct fs *fs;

	if (fmt_trace_open(path, &t, NULL) < 0)
		return;
	if (fmt_trace_open(path, &again, NULL) < 0)
		abort();
	report(t);
	export_ranks(t);
	time_kernels(t);
	fmt_sizes(t, sizes, NULL);
	fmt_cause_find(t, again, &FMT_CAUSE_ALL(true), &cause, NULL);
	fmt_cause_done(&cause);
	if (fs_open(t, &options, &fs, NULL) < 0)
		return;
	read_directory(fs, FS_ROOT, is_sound(path));
	fs_close(fs);
}

void render_emulated(const char *path, const char *output)
{
	scoped(fmt_trace_closep) struct fmt_trace *t = NULL;
	struct replay_report report;

	if (fmt_trace_open(path, &t, NULL) < 0 ||
	    replay_emulate(t, NULL, output, &report, NULL) < 0)
		return;
	replay_report_done(&report);
	render_all(output);
}
