/* SPDX-License-Identifier: Apache-2.0 */

/* Records the GPU activity of a program: preloads the capture library into it and its child
 * processes, copies their rings to disk while they run, and writes a trace at the end. */
#include "base/array.h"
#include "base/scope.h"
#include "formats/raw/clock.h"
#include "tools/child.h"
#include "tools/cli.h"
#include "tools/gpucapture/capture_trace.h"
#include "tools/output.h"
#include "tools/preload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum {
	OPT_OUTPUT,
	OPT_DIGEST,
	OPT_ITERATIONS,
	OPT_TIMES,
	OPT_EMBED,
	OPT_PAYLOADS,
	OPT_KEYFRAME,
	OPT_REPLAYABLE,
	OPT_FORCE,
	OPT_JSON,
	OPT_RAW,
};

static const struct cli_option options[] = {
	[OPT_OUTPUT] = {"output", 'o', "OUT", "trace directory to create (required)"},
	[OPT_DIGEST] = {"digest", 0, "none|comm|step|launch",
			"buffers whose contents are hashed: none (default); comm: those of "
			"collectives and host copies, and host memory that kernels read (default "
			"with --payloads); "
			"step: also all allocations when an iteration begins; launch: also all "
			"that parameters of a launch point to"},
	[OPT_ITERATIONS] = {"iterations", 0, "A-B",
			    "keep iterations A to B only; A alone: one iteration"},
	[OPT_TIMES] = {"device-times", 0, "off|events",
		       "timing of operations: none, or by CUDA events (default)"},
	[OPT_EMBED] = {"embed-images", 0, NULL,
		       "also store code images that are loaded from files"},
	[OPT_PAYLOADS] = {"payloads", 0, "A-B",
			  "keep the contents of digested buffers in iterations A to B, and of all "
			  "live memory at the start of A and the end of B"},
	[OPT_KEYFRAME] = {"keyframe", 0, "N",
			  "with --payloads or --replayable: also keep all live memory every N "
			  "iterations"},
	[OPT_REPLAYABLE] = {"replayable", 0, NULL,
			    "keep what gpureplay needs: --digest=launch, --embed-images, and the "
			    "contents that come from the host or from other GPUs"},
	[OPT_FORCE] = {"force", 'f', NULL, "replace OUT if it is a trace"},
	[OPT_JSON] = {"json", 0, NULL, "print the report as JSON, on stderr"},
	[OPT_RAW] = {"raw", 0, NULL, "only record: leave OUT.raw for gputrace import"},
	{0},
};

#define RING_BYTES (UINT64_C(4) << 20)
#define MOST_OUTSTANDING (1u << 20) /* operations of a stream whose times are not known yet */

extern const struct cli_command gpucapture;

/* --replayable; the other options have been read. */
static void make_replayable(struct cap_control *c)
{
	c->embed_images = 1;
	if (c->first_payload >= 0)
		return;
	c->external_only = 1;
	c->first_payload = c->first_iteration >= 0 ? c->first_iteration : 0;
	c->last_payload = c->first_iteration >= 0 ? c->last_iteration : INT64_MAX;
}

static int read_settings(const struct cli_args *args, struct cap_control *c)
{
	bool contents = args->values[OPT_PAYLOADS] != NULL;
	bool replayable = args->values[OPT_REPLAYABLE] != NULL;
	int level = cli_choice(args, options, OPT_DIGEST,
			       replayable ? CAP_DIGEST_LAUNCH
			       : contents ? CAP_DIGEST_COMM
					  : CAP_DIGEST_NONE);
	int with_times = cli_choice(args, options, OPT_TIMES, 1);

	memset(c, 0, sizeof(*c));
	if (level < 0 || with_times < 0 ||
	    cli_range(args, options, OPT_ITERATIONS, &c->first_iteration, &c->last_iteration) < 0 ||
	    cli_range(args, options, OPT_PAYLOADS, &c->first_payload, &c->last_payload) < 0)
		return -EINVAL;
	if (cli_number(args, &gpucapture, OPT_KEYFRAME, 1, 1000000000, 0, &c->keyframe_every) < 0)
		return -EINVAL;
	if (c->keyframe_every && !contents && !replayable) {
		cli_error("--keyframe: missing --payloads=A-B or --replayable");
		return -EINVAL;
	}
	recording_by_launcher(&c->origin);
	if ((contents || replayable) && level == CAP_DIGEST_NONE) {
		cli_error("--%s: nothing is digested with --digest=none; expected comm, step "
			  "or launch",
			  contents ? "payloads" : "replayable");
		return -EINVAL;
	}
	c->clock = cap_clock_is_usable() ? CAP_CLOCK_TSC : CAP_CLOCK_MONOTONIC;
	c->digest_level = (uint32_t)level;
	c->device_times = with_times ? MOST_OUTSTANDING : 0;
	c->embed_images = args->values[OPT_EMBED] != NULL;
	if (replayable)
		make_replayable(c);
	c->ring_bytes = RING_BYTES;
	return 0;
}

/* Sets the environment that recorded programs inherit. */
static int set_up(const char *session)
{
	scoped(free_ptr) char *folder = NULL, *library = NULL;

	if (preload_folder("libgpucapture.so", "../capture/library", "../" INSTALLED_LIBRARY,
			   &folder) < 0 ||
	    asprintf(&library, "%s/libgpucapture.so", folder) < 0) {
		cli_error("cannot find libgpucapture.so beside this program");
		return CLI_MACHINE;
	}
	if (!preload_can_name(folder)) {
		cli_error("cannot preload %s: its path contains a space or a colon", library);
		return CLI_MACHINE;
	}
	if (preload_first(library) < 0)
		return cli_fail(-ENOMEM, NULL, "preload", library, NULL);
	setenv("NVTX_INJECTION64_PATH", library, 1);
	setenv(CAP_SESSION_VARIABLE, session, 1);
	return CLI_OK;
}

/* ---- the recorder, a child process; the parent waits for the program */

/* The reading process, as seen by the process that waits for the program. */
struct reader {
	const struct capture_trace *trace;
	int fd[2]; /* a pipe: a byte reports the end of the program, its closing the end of this
		      process */
	pid_t pid; /* -1: it has ended */
	int tries;
	int told; /* exit status of a reader that was not killed; -1: none yet */
};

#define MOST_TRIES 5

/* Ignores signals that are sent to the program's process group, and SIGPIPE if the parent has
 * exited. */
static int start_reader(struct reader *r)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE};
	int status;

	r->tries++;
	r->pid = fork();
	if (r->pid != 0)
		return r->pid < 0 ? -errno : 0;
	close(r->fd[1]);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_IGN);
	status = capture_trace(r->trace, r->fd[0]);
	rec_recorder_close(r->trace->recorder);
	fflush(NULL);
	_exit(status);
}

/* Restarts the recorder if it was killed: it continues the raw recording. */
static void reader_ended(void *reader, pid_t pid, int status)
{
	struct reader *r = reader;

	if (pid != r->pid)
		return;
	r->pid = -1;
	if (WIFEXITED(status))
		r->told = WEXITSTATUS(status);
	else if (r->tries < MOST_TRIES)
		start_reader(r);
}

/* Reports the end of the program to the reader, and waits for the trace; signals are now forwarded
 * to the reader. */
static void finish_reader(struct reader *r)
{
	int status = 0;

	while (r->pid > 0) {
		child_set(r->pid);
		if (write(r->fd[1], "", 1) < 0)
			kill(r->pid, SIGKILL);
		while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
			;
		reader_ended(r, r->pid, status);
	}
	child_set(0);
}

/* Runs the program and the reading process. Returns the exit status. */
static int run_both(const struct cli_args *args, struct capture_trace *trace)
{
	struct rec_recorder *recorder = trace->recorder;
	struct reader reader = {.trace = trace, .told = -1};
	int status = pipe2(reader.fd, O_CLOEXEC) < 0 ? -errno : child_start(args->operands);
	int program = status;

	if (status < 0) {
		rec_recorder_close(recorder);
		recording_abandon(trace->recording);
		return child_print_error(status, args->operands[0]);
	}
	child_signal(output_signal());
	rec_recorder_watch(recorder, program);
	start_reader(&reader);
	status = child_wait(reader_ended, &reader);
	if (status >= 0 && WIFSIGNALED(status))
		rec_recorder_child_killed(recorder, program, WTERMSIG(status));
	finish_reader(&reader);
	if (reader.told < 0) {
		cli_error("cannot write %s: the recorder was killed %d times; `gputrace import -o "
			  "OUT %s` makes the trace",
			  trace->output, reader.tries, trace->recording->folder);
		reader.told = CLI_MACHINE;
	}
	rec_recorder_keep_session(recorder); /* if anything is left */
	rec_recorder_close(recorder);
	return status < 0 ? cli_fail(status, NULL, "wait for", args->operands[0], NULL)
			  : child_end(status, reader.told);
}

/* Checks that the trace can be written after the program has ended. */
static int check_output(const char *output, int force)
{
	struct output target;
	int r = output_begin(&target, output, force);

	if (r < 0)
		return output_fail(r, output, !force);
	output_done(&target);
	return CLI_OK;
}

static int begin_recording(const struct capture_trace *t, const struct fmt_origin *of)
{
	int r = recording_begin(t->recording, t->output, of, t->force);

	if (r == -EEXIST) {
		cli_error("cannot write %s: it contains an earlier recording; run `gputrace import "
			  "-o OUT %s`, or remove it",
			  t->recording->folder, t->recording->folder);
		return CLI_USAGE;
	}
	return r < 0 ? output_fail(r, t->recording->folder, 0) : CLI_OK;
}

static int record_program(const struct cli_args *args, struct capture_trace *t)
{
	struct fmt_error err = {0};
	struct cap_control settings;
	int r;

	if (read_settings(args, &settings) < 0)
		return CLI_USAGE;
	t->wants_keyframes = settings.keyframe_every > 0 ||
			     (settings.first_payload >= 0 && settings.first_iteration >= 0);
	r = check_output(t->output, t->force);
	if (r == CLI_OK)
		r = begin_recording(t, &settings.origin);
	if (r != CLI_OK)
		return r;
	r = rec_recorder_open(&settings, t->recording->path, &t->recorder, &err);
	if (r < 0 && err.what[0])
		r = cli_fail(r, &err, "write", t->output, NULL);
	else if (r < 0)
		r = cli_fail(r, NULL, "create", "a session folder", "is /dev/shm full?");
	else
		r = set_up(rec_recorder_folder(t->recorder));
	if (r == CLI_OK)
		return run_both(args, t);
	rec_recorder_close(t->recorder);
	recording_abandon(t->recording);
	return r;
}

static int run(const struct cli_args *args)
{
	struct recording recording = {0};
	struct capture_trace trace = {.recording = &recording,
				      .program = args->n_operands ? args->operands[0] : NULL,
				      .output = args->values[OPT_OUTPUT],
				      .force = args->values[OPT_FORCE] != NULL,
				      .raw = args->values[OPT_RAW] != NULL,
				      .json = args->values[OPT_JSON] != NULL};

	if (args->n_operands == 0) {
		cli_error("no command given; expected gpucapture -o OUT -- COMMAND [ARGUMENT...]");
		return CLI_USAGE;
	}
	if (!trace.output || !*trace.output) {
		cli_error("missing -o OUT");
		return CLI_USAGE;
	}
	return record_program(args, &trace);
}

const struct cli_command gpucapture = {
	.name = "gpucapture",
	.operands = "-o OUT -- COMMAND [ARGUMENT...]",
	.min_operands = 0,
	.max_operands = INT_MAX,
	.what = "Record the GPU calls and operations of a program",
	.options = options,
	.notes = "Processes that COMMAND starts are recorded as well. Iterations are delimited by\n"
		 "gputrace_mark_iteration(), by numbered NVTX ranges (step 4), or by repetition.\n"
		 "\n"
		 "  gpucapture -o run.gputrace -- torchrun --nproc-per-node 8 train.py\n",
	.run = run,
	.starts = 1,
};

int main(int argc, char **argv)
{
	return cli_main_one(&gpucapture, argc, argv);
}
