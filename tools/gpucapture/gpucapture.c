/* SPDX-License-Identifier: Apache-2.0 */

/* Records what a program does on GPUs: preloads the capture library into it and all that it starts,
 * takes what is in their rings to disk while they run, and writes a trace at the end. */
#include "base/array.h"
#include "base/scope.h"
#include "capture/clock.h"
#include "tools/child.h"
#include "tools/cli.h"
#include "tools/gpucapture/capture_place.h"
#include "tools/gpucapture/capture_trace.h"
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
	OPT_FORCE,
	OPT_JSON,
	OPT_RECOVER,
	OPT_PART,
	OPT_STRETCH,
};

static const struct cli_option options[] = {
	[OPT_OUTPUT] = {"output", 'o', "OUT", "trace directory to create (required)"},
	[OPT_DIGEST] =
		{"digest", 0, "none|comm|step|launch",
		 "which buffers are digested: none (default), those of collectives and host "
		 "copies (default with --payloads), all at the end of an iteration, all that "
		 "a launch can reach"},
	[OPT_ITERATIONS] = {"iterations", 0, "A-B", "keep these iterations only"},
	[OPT_TIMES] = {"device-times", 0, "off|events|nodes",
		       "timing of operations: none, by events (default), or also of each "
		       "node of CUDA graphs"},
	[OPT_EMBED] = {"embed-images", 0, NULL, "also keep code images that are in files"},
	[OPT_PAYLOADS] = {"payloads", 0, "A-B",
			  "keep the contents of digested buffers in these iterations"},
	[OPT_FORCE] = {"force", 'f', NULL, "replace OUT if it is a trace"},
	[OPT_JSON] = {"json", 0, NULL, "print the report as JSON, on stderr"},
	[OPT_RECOVER] = {"recover", 0, "DIR",
			 "make the trace of a killed recording, which left OUT.new-XXXXXX as DIR; "
			 "runs no program"},
	[OPT_PART] = {"part", 0, "I/N",
		      "record part I (0, 1, ...) of a run of N parts, each on its host with the "
		      "same OUT; read from the environment under srun and mpirun"},
	[OPT_STRETCH] = {"stretch", 0, "N",
			 "calls and operations written at a time (262144): smaller values use less "
			 "memory but recover fewer dependencies"},
	{0},
};

#define RING_BYTES (UINT64_C(4) << 20)
#define MOST_OUTSTANDING (1u << 20) /* operations of a stream whose times are not known yet */

extern const struct cli_command gpucapture;

/* The index of the option's value in `words`, 0 where it is not given; -1 with a message. */
static int choice(const struct cli_args *args, int option, const char *const *words, int otherwise)
{
	const char *value = args->values[option];

	if (!value)
		return otherwise;
	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], value) == 0)
			return i;
	cli_error("--%s: invalid value '%s'; expected %s", options[option].name, value,
		  options[option].value);
	return -1;
}

/* "10-19", or "10". */
static int read_range(const struct cli_args *args, int option, int64_t *first, int64_t *last)
{
	const char *value = args->values[option];
	char *end;

	*first = *last = -1;
	if (!value)
		return 0;
	*first = *last = strtoll(value, &end, 10);
	if (end != value && *end == '-' && end[1])
		*last = strtoll(end + 1, &end, 10);
	if (end == value || *end || *first < 0 || *last < *first) {
		cli_error("--%s: invalid range '%s'; expected A-B, such as 10-19",
			  options[option].name, value);
		return -EINVAL;
	}
	return 0;
}

/* "1/4", or what the launcher says. */
static int read_part(const struct cli_args *args, struct fmt_origin *ret)
{
	const char *value = args->values[OPT_PART];
	unsigned part, n;
	int end = 0;

	if (!value) {
		parts_by_launcher(ret);
		return 0;
	}
	if (sscanf(value, "%u/%u%n", &part, &n, &end) != 2 || value[end] || part >= n) {
		cli_error("--part: invalid value '%s'; expected I/N, such as 0/4", value);
		return -EINVAL;
	}
	ret->part = part;
	ret->n_parts = n;
	return 0;
}

/* What is not given is 0. */
static int read_stretch(const struct cli_args *args, size_t *ret)
{
	const char *value = args->values[OPT_STRETCH];
	unsigned n = 0;
	int end = 0;

	if (value && (sscanf(value, "%9u%n", &n, &end) != 1 || value[end] || n == 0)) {
		cli_error(
			"--stretch: invalid value '%s'; expected a number of calls and operations",
			value);
		return -EINVAL;
	}
	*ret = n;
	return 0;
}

static int read_settings(const struct cli_args *args, struct cap_control *c)
{
	static const char *const levels[] = {"none", "comm", "step", "launch", NULL};
	static const char *const times[] = {"off", "events", "nodes", NULL};
	bool contents = args->values[OPT_PAYLOADS] != NULL;
	int level = choice(args, OPT_DIGEST, levels, contents ? CAP_DIGEST_COMM : CAP_DIGEST_NONE);
	int with_times = choice(args, OPT_TIMES, times, 1);

	memset(c, 0, sizeof(*c));
	if (level < 0 || with_times < 0 ||
	    read_range(args, OPT_ITERATIONS, &c->first_iteration, &c->last_iteration) < 0 ||
	    read_range(args, OPT_PAYLOADS, &c->first_payload, &c->last_payload) < 0 ||
	    read_part(args, &c->origin) < 0)
		return -EINVAL;
	if (contents && level == CAP_DIGEST_NONE) {
		cli_error("--payloads: nothing is digested with --digest=none; expected comm, step "
			  "or launch");
		return -EINVAL;
	}
	c->clock = cap_clock_usable() ? CAP_CLOCK_TSC : CAP_CLOCK_MONOTONIC;
	c->digest_level = (uint32_t)level;
	c->device_times = with_times ? MOST_OUTSTANDING : 0;
	c->node_times = with_times == 2;
	c->embed_images = args->values[OPT_EMBED] != NULL;
	c->ring_bytes = RING_BYTES;
	return 0;
}

/* What programs are told: the environment. */
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

/* ---- the process that reads, beside the one that waits for the program */

/* The process that reads, as the one that waits for the program sees it. */
struct reader {
	const struct capture_trace *trace;
	int fd[2]; /* a pipe: a byte says that the program has ended, its end that we have */
	pid_t pid; /* -1: it has ended */
	int tries;
	int told; /* the exit status of the one that was not killed; -1: none yet */
};

#define MOST_TRIES 5

/* What comes for the program's process group is not for it; nor does it die of telling something to
 * one that was killed. */
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
	place_done(&r->trace->at->place);
	rec_close(r->trace->recorder);
	fflush(NULL);
	_exit(status);
}

/* One that was killed is followed by another, which goes on where it was. */
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

/* Tells it that the program has ended, and waits for the trace; signals are now for it. */
static void finish_reader(struct reader *r)
{
	int status = 0;

	while (r->pid > 0) {
		child_is(r->pid);
		if (write(r->fd[1], "", 1) < 0)
			kill(r->pid, SIGKILL);
		while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
			;
		reader_ended(r, r->pid, status);
	}
	child_is(0);
}

/* There is no program, and nothing to be recorded. */
static int unbegun(int r, const char *command, struct rec_recorder *recorder,
		   struct capture_place *at)
{
	rec_close(recorder);
	place_done(&at->place);
	capture_place_end(at, 1);
	return child_unbegun(r, command);
}

/* Runs the program beside the reading process; the exit status. */
static int run_both(const struct cli_args *args, size_t stretch, struct rec_recorder *recorder,
		    struct capture_place *at)
{
	const struct capture_trace trace = {.recorder = recorder,
					    .at = at,
					    .program = args->operands[0],
					    .stretch = stretch,
					    .json = args->values[OPT_JSON] != NULL};
	struct reader reader = {.trace = &trace, .told = -1};
	int status = pipe2(reader.fd, O_CLOEXEC) < 0 ? -errno : child_start(args->operands);
	int program;

	if (status < 0)
		return unbegun(status, args->operands[0], recorder, at);
	program = status;
	start_reader(&reader);
	status = child_wait(reader_ended, &reader);
	if (status >= 0 && WIFSIGNALED(status))
		rec_child_died(recorder, program, WTERMSIG(status));
	finish_reader(&reader);
	if (reader.told < 0) {
		cli_error("cannot write %s: the process that records was killed %d times; what was "
			  "recorded is in %s, see gpucapture --recover",
			  at->place.output, reader.tries, at->place.folder);
		place_keep(&at->place);
		reader.told = CLI_MACHINE;
	}
	rec_keep(recorder); /* if anything is left */
	rec_close(recorder);
	return status < 0 ? cli_fail(status, NULL, "wait for", args->operands[0], NULL)
			  : child_end(status, reader.told);
}

#define SPOOL "spool" /* in the folder: what was read, until it is a trace */

static void spool_path(const char *folder, char ret[PATH_MAX + 8])
{
	snprintf(ret, PATH_MAX + 8, "%s/" SPOOL, folder);
}

/* Removes what a recording left in the folder, and the folder if nothing else is in it. */
static void remove_left(const char *folder)
{
	static const char *const names[] = {SPOOL, "trace", "kept"};
	char path[PATH_MAX + 8];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		place_remove(path);
	}
	rmdir(folder);
}

/* A recording whose gpucapture was killed: it stays until somebody decides. */
static void say_left(const char *folder)
{
	cli_error("%s: an earlier recording that was killed; make its trace with gpucapture -o OUT "
		  "--recover %s, or remove it",
		  folder, folder);
}

static int record(const struct cli_args *args, size_t stretch, struct capture_place *at)
{
	struct rec_recorder *recorder = NULL;
	char spool[PATH_MAX + 8];
	struct fmt_error err = {0};
	struct cap_control settings;
	int r;

	if (args->n_operands == 0) {
		cli_error("no command given; expected gpucapture -o OUT COMMAND [ARGUMENT...]");
		return CLI_USAGE;
	}
	if (read_settings(args, &settings) < 0)
		return CLI_USAGE;
	r = capture_place_begin(at, args->values[OPT_OUTPUT], &settings.origin,
				args->values[OPT_FORCE] != NULL);
	if (r != CLI_OK)
		return r;
	place_find_leftovers(at->place.output, SPOOL, say_left);
	spool_path(at->place.folder, spool);
	r = rec_open(&settings, spool, &recorder, &err);
	if (r < 0 && err.what[0])
		r = cli_fail(r, &err, "write", at->place.output, NULL);
	else if (r < 0)
		r = cli_fail(r, NULL, "make", "a session folder", "is there room in /dev/shm?");
	else
		r = set_up(rec_folder(recorder));
	if (r == CLI_OK)
		return run_both(args, stretch, recorder, at);
	rec_close(recorder);
	place_done(&at->place);
	return r;
}

/* Makes a trace of what was left in `folder`, and removes that. */
static int recover(const struct cli_args *args, const char *folder, size_t stretch,
		   struct capture_place *at)
{
	struct rec_recorder *recorder = NULL;
	const struct fmt_origin alone = {0};
	char spool[PATH_MAX + 8];
	struct fmt_error err = {0};
	int r = capture_place_begin(at, args->values[OPT_OUTPUT], &alone,
				    args->values[OPT_FORCE] != NULL);

	if (r != CLI_OK)
		return r;
	spool_path(folder, spool);
	r = rec_recover(spool, &recorder, &err);
	if (r == -EBUSY)
		cli_error("cannot recover %s: it is still being recorded", folder);
	else if (r == -EBADMSG)
		cli_error("cannot recover %s: there is no recording in it", folder);
	else if (r == -ENOTSUP)
		cli_fail(r, &err, "recover", spool, "recover it with the gpucapture that left it");
	else if (r < 0)
		cli_fail(r, NULL, "recover", spool, "DIR is what a killed gpucapture left");
	r = r == 0 ? capture_trace_recover(
			     &(struct capture_trace){.recorder = recorder,
						     .at = at,
						     .program = "the program",
						     .recovers = folder,
						     .stretch = stretch,
						     .json = args->values[OPT_JSON] != NULL})
		   : CLI_INPUT;
	place_done(&at->place);
	if (r != CLI_OK && recorder)
		rec_keep(recorder);
	rec_close(recorder);
	if (r == CLI_OK)
		remove_left(folder);
	return r;
}

static int run(const struct cli_args *args)
{
	const char *folder = args->values[OPT_RECOVER];
	struct capture_place at;
	size_t stretch;

	if (read_stretch(args, &stretch) < 0)
		return CLI_USAGE;
	if (folder && args->n_operands > 0) {
		cli_error("--recover runs no program; unexpected argument: %s", args->operands[0]);
		return CLI_USAGE;
	}
	return folder ? recover(args, folder, stretch, &at) : record(args, stretch, &at);
}

const struct cli_command gpucapture = {
	.name = "gpucapture",
	.operands = "COMMAND [ARGUMENT...]",
	.min_operands = 0,
	.max_operands = INT_MAX,
	.what = "Record what a program does on GPUs",
	.options = options,
	.notes = "Processes that COMMAND starts are recorded as well. The exit status is that "
		 "of "
		 "COMMAND.\n",
	.run = run,
	.starts = 1,
};

int main(int argc, char **argv)
{
	return cli_main_one(&gpucapture, argc, argv);
}
