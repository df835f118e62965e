/* SPDX-License-Identifier: Apache-2.0 */

/* Damaged records of a traced thread: the input is the records of one ring. The whole recorder
 * processes them and writes a trace, at once and in stretches. */
#include "base/scope.h"
#include "capture/recorder/feed.h"
#include "capture/recorder/trace/making.h"
#include "tests/fuzz/folder.h"

#define MOST CAP_MIN_RING_BYTES

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

define_cleanup(feed_freep, struct rec_feed *, rec_feed_free);

static void write_trace(struct rec_process *p, struct fmt_names *names)
{
	scoped(folder_done) struct folder f = folder_make();
	const struct rec_window all = {-1, -1, 0, INT64_MAX, f.path};
	struct rec_result result;
	char path[128];

	rec_run_write(&p, 1, names, &all, folder_in(&f, "trace", path), &result, NULL);
}

static void write_stretches(struct rec_process *p, struct fmt_names *names)
{
	scoped(folder_done) struct folder f = folder_make();
	const struct rec_window window = {.first = -1, .last = -1, .stretch = 16};
	scoped(rec_making_freep) struct rec_making *making = NULL;
	struct rec_result result;
	char path[128];
	int r;

	if (rec_making_new(names, &window, folder_in(&f, "trace", path), &making) < 0)
		abort();
	do {
		r = rec_making_more(making, &p, 1, NULL);
	} while (r == 1);
	if (r == 0)
		rec_making_end(making, &p, 1, &result, NULL);
}

static void record(const uint8_t *data, size_t len,
		   void (*write)(struct rec_process *p, struct fmt_names *names))
{
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	scoped(rec_process_freep) struct rec_process *p = NULL;
	scoped(feed_freep) struct rec_feed *feed = NULL;
	scoped(free_ptr) uint8_t *bytes = malloc(len + 8);
	struct fmt_cursor c;

	if (!bytes || fmt_names_new(&names) < 0 || rec_process_new(names, 1, 1, &p) < 0 ||
	    rec_feed_new(&(struct cap_drain_about){0}, p, NULL, &feed) < 0)
		abort();
	memcpy(bytes, data, len);
	c = fmt_cursor(bytes, len);
	if (rec_feed_give(feed, &c) == 0 && rec_feeds_look(&feed, 1, true) == 0)
		write(p, names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	len = len < MOST ? len & ~(size_t)7 : MOST;
	record(data, len, write_trace);
	record(data, len, write_stretches);
	return 0;
}
