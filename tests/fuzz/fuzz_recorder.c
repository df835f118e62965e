/* SPDX-License-Identifier: Apache-2.0 */

/* Damaged records of a traced thread: the input is one ring. The whole importer reads it and makes
 * a trace, at once and in segments. */
#include "base/scope.h"
#include "formats/run/gpucapture/calls/ring_reader.h"
#include "formats/run/gpucapture/trace/trace_writer.h"
#include "tests/fuzz/folder.h"

#define MOST CAP_MIN_RING_BYTES
#define SEGMENT 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

define_cleanup(feed_freep, struct rec_ring_reader *, rec_ring_reader_free);

/* A process of one thread that has read the records. */
struct reading {
	struct rec_process *process;	/* owned */
	struct rec_ring_reader *reader; /* owned */
	bool is_read;
};

static void reading_done(struct reading *r)
{
	rec_ring_reader_free(r->reader);
	rec_process_free(r->process);
}

static void read_ring(struct reading *r, struct fmt_names *names, bool only_plan,
		      const uint8_t *data, size_t len)
{
	scoped(free_ptr) uint8_t *bytes = malloc(len + 8);
	struct fmt_cursor c;

	if (!bytes || rec_process_new(names, 1, 1, &r->process) < 0 ||
	    rec_ring_reader_new(&(struct cap_ring_info){0}, r->process, NULL, &r->reader) < 0)
		abort();
	r->process->only_plan = only_plan;
	memcpy(bytes, data, len);
	c = fmt_cursor(bytes, len);
	r->is_read = rec_ring_reader_add(r->reader, &c) == 0 &&
		     rec_ring_readers_process(&r->reader, 1, true) == 0;
}

static void write_at_once(const uint8_t *data, size_t len)
{
	scoped(folder_done) struct folder f = folder_make();
	const struct rec_window all = {-1, -1, 0, INT64_MAX, f.path};
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	scoped(reading_done) struct reading r = {0};
	struct rec_trace_counts result;
	char path[128];

	if (fmt_names_new(&names) < 0)
		abort();
	read_ring(&r, names, false, data, len);
	if (r.is_read)
		rec_run_write(&r.process, 1, names, &all, folder_in(&f, "trace", path), &result,
			      NULL);
}

static void write_segments(struct rec_process *p, struct fmt_names *names,
			   const struct rec_plan *plan)
{
	scoped(folder_done) struct folder f = folder_make();
	const struct rec_window window = {.first = -1, .last = -1, .segment = SEGMENT};
	scoped(rec_trace_writer_freep) struct rec_trace_writer *making = NULL;
	struct rec_trace_counts result;
	char path[128];
	int r;

	if (rec_trace_writer_new(names, &window, plan, folder_in(&f, "trace", path), &making) < 0)
		abort();
	do {
		r = rec_trace_writer_add(making, &p, 1, NULL);
	} while (r == 1);
	if (r == 0)
		rec_trace_writer_finish(making, &p, 1, &result, NULL);
}

static void write_twice(const uint8_t *data, size_t len)
{
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	scoped(reading_done) struct reading first = {0}, second = {0};
	scoped(rec_plan_done) struct rec_plan plan = {0};

	if (fmt_names_new(&names) < 0)
		abort();
	read_ring(&first, names, true, data, len);
	read_ring(&second, names, false, data, len);
	if (first.is_read && rec_plan_find(&plan, &first.process, 1, names) == 0)
		write_segments(second.process, names, &plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	len = len < MOST ? len & ~(size_t)7 : MOST;
	write_at_once(data, len);
	write_twice(data, len);
	return 0;
}
