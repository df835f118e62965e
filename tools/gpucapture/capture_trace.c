/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gpucapture/capture_trace.h"

#include "base/scope.h"
#include "capture/recorder/processes.h"
#include "formats/render/grid.h"
#include "formats/trace/json.h"
#include "tools/cli.h"
#include "tools/gpucapture/capture_unseen.h"
#include "tools/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#define IDLE_NS 5000000 /* between rounds that find nothing */
#define BUSY_NS 500000
#define FOLLOW_NICE 10

/* What it ends by: the other one has closed its side of the pipe. */
static bool is_over(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

/* Reads until the program has ended; when the one that waits for it was killed, until all that it
 * had started has. The error that ended it, or 0. */
static int read_rings(struct rec_recorder *recorder, int fd)
{
	bool told = fd < 0;
	long n = rec_resume(recorder);

	while (n >= 0) {
		struct timespec t = {0};
		char done;

		n = rec_round(recorder);
		if (!told && is_over(fd)) {
			told = true;
			if (read(fd, &done, 1) == 1)
				break;
		}
		if (told && !rec_is_traced(recorder))
			break;
		if (fd < 0 && place_signal())
			return -ECANCELED;
		t.tv_nsec = n > 0 ? BUSY_NS : IDLE_NS;
		nanosleep(&t, NULL);
	}
	return n < 0 ? (int)n : 0;
}

#define FOLLOW_NS 50000000 /* between looks at what was read */

/* What is made while the program runs: by a thread of its own, so that it alone goes behind the
 * program, and not what is left at the end. */
struct following {
	struct rec_recorder *recorder;
	bool is_over;
	int error;
};

static void *follow(void *following)
{
	const struct timespec t = {.tv_nsec = FOLLOW_NS};
	struct following *f = following;

	setpriority(PRIO_PROCESS, (id_t)gettid(), FOLLOW_NICE);
	while (!__atomic_load_n(&f->is_over, __ATOMIC_ACQUIRE) && f->error == 0) {
		f->error = rec_follow(f->recorder, &f->is_over);
		nanosleep(&t, NULL);
	}
	return NULL;
}

/* Makes the trace of what the other process reads, until that says that the program has ended, and
 * what ended its reading. */
static int follow_rings(struct rec_recorder *recorder, int fd)
{
	struct following f = {.recorder = recorder};
	unsigned char stopped;
	pthread_t thread;
	int r;

	rec_follow_begin(recorder);
	r = pthread_create(&thread, NULL, follow, &f);
	if (read(fd, &stopped, 1) != 1)
		_exit(CLI_MACHINE); /* it was killed: nobody waits for this */
	rec_stop(recorder, stopped);
	__atomic_store_n(&f.is_over, true, __ATOMIC_RELEASE);
	if (r == 0)
		pthread_join(thread, NULL);
	return f.error;
}

/* It was read before. */
static int have_read(struct rec_recorder *recorder, int fd)
{
	(void)recorder;
	(void)fd;
	return 0;
}

static void report(const struct capture_trace *t, const struct rec_result *r)
{
	const char *trace = t->at->output;
	scoped(text_done) struct text name = {0};

	if (!t->json)
		return;
	fmt_json_string(&name, trace, strlen(trace));
	fprintf(stderr,
		"{\"trace\": %.*s, \"ranks\": %u, \"processes\": %u, \"iterations\": %u, "
		"\"calls\": %llu, \"operations\": %llu, \"without_times\": %llu}\n",
		(int)name.len, name.data, r->n_ranks, r->n_processes, r->n_iterations,
		(unsigned long long)r->calls, (unsigned long long)r->ops,
		(unsigned long long)r->without_times);
}

#define MOST_KILLED 8 /* processes that get a line each */

/* The process as people know it: the name of its executable. */
static const char *name_of(const struct rec_process *p, char ret[64])
{
	const char *path = rec_fact(p, "executable");
	const char *name = path ? strrchr(path, '/') : NULL;

	if (!name)
		return "a process";
	snprintf(ret, 64, "%.*s", (int)strcspn(name + 1, "\""), name + 1);
	return ret;
}

static void say_killed(const struct capture_trace *t, const struct rec_process *p)
{
	const char *signal = rec_signal_name(p->signal);
	const char *call = fmt_string(p->names, p->last_call, NULL);
	const char *when = !*call ? "" : p->in_call ? " in " : " after ";
	scoped(text_done) struct text kept = {0};
	char name[64];

	text_counted(&kept, p->counts.calls, "call", "calls");
	text_str(&kept, " and ");
	text_counted(&kept, p->counts.ops, "operation", "operations");
	cli_error("%s (pid %d): killed%s%s%s%s; %s holds %.*s of it", name_of(p, name), (int)p->pid,
		  signal ? " by " : "", signal ? signal : "", when, call, t->at->output,
		  (int)kept.len, kept.data ? kept.data : "");
}

/* Processes that were killed, a line each. */
static void say_all_killed(const struct capture_trace *t)
{
	const struct rec_process *p;
	unsigned n = 0;

	for (; (p = rec_killed(t->recorder, n)); n++)
		if (n < MOST_KILLED)
			say_killed(t, p);
	if (n > MOST_KILLED)
		cli_error("%u more processes were killed; see gputrace info %s", n - MOST_KILLED,
			  t->at->output);
}

/* There is no trace to be made. */
static int nothing(const struct capture_trace *t)
{
	const struct rec_recorder *recorder = t->recorder;
	struct rec_unread unread = rec_unread(recorder);

	if (unread.no_ring_calls == 0) {
		capture_unseen_say(recorder, t->program);
		return capture_place_end(t->at, 1);
	}
	cli_error("cannot record %s: %s in %s", t->program, strerror(unread.no_ring_error),
		  rec_folder(recorder));
	return CLI_MACHINE;
}

/* What can go when the disk is full. */
struct room {
	struct rec_recorder *recorder;
	struct place *place;
};

static int make_room(void *room)
{
	struct room *r = room;

	rec_drop(r->recorder);
	return place_restart(r->place);
}

/* A signal has come while the trace was made: it can be made later. */
static int interrupted(const struct capture_trace *t)
{
	const char *folder = t->recovers;
	struct place *place = &t->at->place;

	cli_error("cannot write %s: interrupted; what was recorded is in %s, see gpucapture "
		  "--recover",
		  place->output, folder ? folder : place->folder);
	rec_keep(t->recorder);
	if (!folder) {
		place_restart(place);
		place_keep(place);
	}
	return 128 + place_signal();
}

/* Reads, writes what was read beside OUT, and gives it its name. */
static int write_trace(const struct capture_trace *t,
		       int (*read_all)(struct rec_recorder *recorder, int fd), int fd)
{
	struct rec_recorder *recorder = t->recorder;
	struct capture_place *at = t->at;
	const struct cap_control *settings = rec_settings(recorder);
	struct room room = {recorder, &at->place};
	struct progress bar;
	const struct rec_window window = {settings->first_iteration,
					  settings->last_iteration,
					  settings->first_payload,
					  settings->last_payload,
					  rec_folder(recorder),
					  .stretch = t->stretch,
					  .make_room = make_room,
					  .room = &room,
					  .progress = {place_progress, &bar}};
	struct rec_result result = {0};
	struct fmt_error err = {0};
	bool full, has_calls;
	int r = rec_plan(recorder, &window, at->place.trace);

	if (r == 0)
		r = read_all(recorder, fd);
	if (fd >= 0)
		place_heed();
	progress_begin(&bar);
	if (r == 0)
		r = rec_finish(recorder);
	has_calls = r == 0 && rec_has_calls(recorder);
	if (has_calls)
		r = rec_write(recorder, &result, &err);
	progress_end(&bar);
	if (r == 0 && !has_calls)
		return nothing(t);
	if (r == -ECANCELED)
		return interrupted(t);
	full = (r == -ENOSPC || r == -EDQUOT) && place_opens(&at->place);
	if (r < 0 && !full)
		return cli_fail(r, &err, "write", at->place.output, NULL);
	r = capture_place_commit(at);
	if (r == CLI_OK)
		r = capture_place_end(at, 0);
	if (r == CLI_OK) {
		say_all_killed(t);
		report(t, &result);
	}
	if (r != CLI_OK || !(full || (rec_unread(recorder).stopped && result.lost_records > 0)))
		return r;
	cli_error("cannot write all of %s: no space left on device; it holds what there was room "
		  "for",
		  at->place.output);
	return CLI_MACHINE;
}

/* ---- the process that makes the trace, beside the one that reads */

struct builder {
	pid_t pid;
	int fd; /* of a pipe: a byte says that the program has ended, and what ended the reading */
};

static int start_builder(const struct capture_trace *t, struct builder *ret)
{
	int fd[2], status;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return -errno;
	*ret = (struct builder){fork(), fd[1]};
	if (ret->pid != 0) {
		close(fd[0]);
		return ret->pid < 0 ? -errno : 0;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(fd[1]);
	status = write_trace(t, follow_rings, fd[0]);
	place_done(&t->at->place);
	rec_close(t->recorder);
	fflush(NULL);
	_exit(status);
}

/* Tells it that the program has ended, and waits for the trace: its exit status, or -1 when it was
 * killed. */
static int finish_builder(const struct builder *b, int stopped)
{
	const struct timespec t = {.tv_nsec = IDLE_NS};
	unsigned char told = (unsigned char)stopped;
	int status = 0;

	if (write(b->fd, &told, 1) < 0)
		kill(b->pid, SIGKILL);
	place_heed();
	while (waitpid(b->pid, &status, WNOHANG) == 0) {
		if (place_signal())
			kill(b->pid, place_signal());
		nanosleep(&t, NULL);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Reads, while another process makes the trace; when that was killed, it is made here. */
int capture_trace(const struct capture_trace *t, int fd)
{
	struct rec_recorder *recorder = t->recorder;
	struct place *place = &t->at->place;
	struct builder builder = {0};
	int r, status;

	place_restart(place);
	if (start_builder(t, &builder) < 0)
		return write_trace(t, read_rings, fd);
	r = read_rings(recorder, fd);
	if (r < 0) {
		kill(builder.pid, SIGKILL);
		return cli_fail(r, NULL, "write", place->output, NULL);
	}
	status = finish_builder(&builder, rec_stopped(recorder));
	if (status < 0) {
		place_restart(place);
		return write_trace(t, have_read, fd);
	}
	rec_keep(recorder); /* what it has left is to stay */
	place_keep(place);
	return status;
}

int capture_trace_recover(const struct capture_trace *t)
{
	return write_trace(t, read_rings, -1);
}
