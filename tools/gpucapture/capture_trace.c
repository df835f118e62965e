/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gpucapture/capture_trace.h"

#include "base/scope.h"
#include "tools/cli.h"
#include "tools/gpucapture/capture_unseen.h"
#include "tools/raw_import.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define IDLE_NS 5000000 /* between rounds without data */
#define BUSY_NS 500000

/* Returns true if the waiting process has closed its side of the pipe, which ends recording. */
static bool is_over(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

/* Reads rings until the program has ended; if the waiting process was killed, until all recorded
 * processes have ended. Returns the error that ended recording, or 0. */
static int read_rings(struct rec_recorder *recorder, int fd)
{
	bool told = false;
	long n = rec_recorder_resume(recorder);

	while (n >= 0) {
		struct timespec t = {0};
		char done;

		n = rec_recorder_poll(recorder);
		if (!told && is_over(fd)) {
			told = true;
			if (read(fd, &done, 1) == 1)
				break;
		}
		if (told && !rec_recorder_has_processes(recorder))
			break;
		t.tv_nsec = n > 0 ? BUSY_NS : IDLE_NS;
		nanosleep(&t, NULL);
	}
	return n < 0 ? (int)n : 0;
}

/* Explains why nothing was recorded, so that no trace is made. */
static int explain_no_trace(const struct capture_trace *t)
{
	const struct rec_recorder *recorder = t->recorder;
	struct rec_unrecorded unread = rec_recorder_unrecorded(recorder);

	if (unread.no_ring_calls == 0) {
		capture_unseen_print(recorder, t->program);
		return CLI_INPUT;
	}
	cli_error("cannot record %s: %s in %s", t->program, strerror(unread.no_ring_error),
		  rec_recorder_folder(recorder));
	return CLI_MACHINE;
}

static void print_without_keyframe(const struct capture_trace *t, const struct rec_import_report *r)
{
	if (t->wants_keyframes && r->n_without_keyframe > 0)
		cli_error(
			"%s contains no keyframe of %zu of %zu processes: they did not mark their "
			"iterations, or their threads never rested; record the whole run with "
			"--replayable, then `gpureplay --keyframe=N -o OUT TRACE` adds keyframes",
			t->output, r->n_without_keyframe, r->n_processes);
}

/* Makes the trace after all parts of the run are complete. */
static int make_trace(const struct capture_trace *t)
{
	scoped(recordings_done) struct recordings all = {0};
	struct rec_import_report report;
	char *const folder = t->recording->folder;
	int status, r = recordings_find(&folder, 1, &all);

	if (r < 0)
		return cli_fail(r, NULL, "read", folder, NULL);
	status = raw_import(&all, t->output, t->force, folder, &report);
	if (status == CLI_OK)
		recording_remove(t->recording);
	if (status == CLI_OK && !report.has_calls && !report.unread.stopped)
		status = explain_no_trace(t);
	else if (status == CLI_OK && report.has_calls) {
		raw_import_print_killed(&report, t->output);
		print_without_keyframe(t, &report);
		if (t->json) {
			scoped(text_done) struct text json = {0};

			raw_import_json(&json, &report, t->output);
			fprintf(stderr, "%.*s", (int)json.len, json.data);
		}
	}
	if (status == CLI_OK && report.unread.stopped) {
		cli_error("cannot record all of %s: %s; the trace is incomplete", t->output,
			  strerror(report.unread.stopped));
		status = CLI_MACHINE;
	}
	rec_import_report_done(&report);
	return status;
}

int capture_trace(const struct capture_trace *t, int fd)
{
	int r = read_rings(t->recorder, fd);

	if (r == 0)
		r = rec_recorder_finish(t->recorder);
	if (r == 0)
		r = recording_complete(t->recording);
	if (r < 0)
		return cli_fail_output(r, t->recording->path);
	return r == 1 && !t->raw ? make_trace(t) : CLI_OK;
}
