/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount.h"

#include "base/array.h"
#include "base/scope.h"
#include "fs/fuse.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS 9 /* of the pool, in addition to the receiving thread */

static void session_freep(struct fuse_session **se)
{
	if (*se)
		fuse_session_destroy(*se);
}

/* Receives a request and answers it. 1; 0: no request is waiting; or a negative errno. *buffer
 * belongs to the thread: NULL at first, freed by drop_request(). */
static int next_request(struct fs_server *s, void **buffer)
{
	struct fuse_buf *request = *buffer ? *buffer : calloc(1, sizeof(*request));
	int r = request ? fuse_session_receive_buf(s->session, request) : -ENOMEM;

	*buffer = request;
	if (r > 0)
		fuse_session_process_buf(s->session, request);
	return r > 0 ? 1 : r == -EAGAIN || r == -EINTR ? 0 : r;
}

static void drop_request(void *buffer)
{
	struct fuse_buf *request = buffer;

	if (request)
		free(request->mem);
	free(request);
}

/* ---- messages of libfuse: the reason why a mount failed */

/* Redirects stderr, while no other thread prints. Returns a copy of the original stderr; descriptor
 * 2 is a memory file until overhear_end(). -1 if that fails: then stderr is unchanged. */
static int overhear_begin(void)
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

/* Restores stderr and copies the last printed line into `line`, without the name of the program
 * before it ("fuse: ", "fusermount3: "). If nothing was printed, `line` is unchanged. */
static void overhear_end(int handle, char *line, size_t size)
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

/* ---- signals that end the mount. With libfuse's own handlers, libfuse drops the next request, and
 * a thread that stores pages could wait for the answer forever. */

static _Atomic bool stopped; /* one mount per process; lock-free, as a signal handler needs */

static void stop_on_signal(int signal)
{
	stopped = true;
}

/* Leaves ignored signals alone (nohup). */
static void handle_signals(void)
{
	static const int ending[] = {SIGHUP, SIGINT, SIGTERM};
	struct sigaction action = {.sa_handler = stop_on_signal}, old;

	for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
		if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(ending[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static bool has_ended(const struct fs_server *s)
{
	return stopped || fuse_session_exited(s->session);
}

/* ---- receiving: one thread receives requests and answers them, because handing a request to
 * another thread takes longer than answering most requests. If many requests are waiting, threads
 * of the pool help until none is left. */

#define CROWD 4 /* number of requests already waiting when one has been answered */

static void help_with_requests(const struct fs_call *c)
{
	struct fs_server *s = c->request;
	void *buffer = NULL;

	while (!has_ended(s) && next_request(s, &buffer) == 1)
		;
	drop_request(buffer);
}

static int receive_requests(struct fs_server *s)
{
	const struct fs_call call = {.answer = help_with_requests, .request = s};
	struct pollfd fd = {.fd = fuse_session_fd(s->session), .events = POLLIN};
	int r = 0, in_a_row = 0;
	void *buffer = NULL;
	sigset_t all, old;

	/* Signals are unblocked only during the wait, so that none is missed. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	while (r >= 0 && !has_ended(s)) {
		r = next_request(s, &buffer);
		in_a_row = r == 1 ? in_a_row + 1 : 0;
		if (in_a_row % CROWD == CROWD - 1 && fs_pool_is_free(&s->pool))
			fs_pool_submit(&s->pool, &call);
		if (r == 0)
			ppoll(&fd, 1, NULL, &old);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	drop_request(buffer);
	return r < 0 ? r : 0;
}

/* ---- serving */

static int store_pages(void *context, fs_ino ino, uint64_t offset, const void *data, size_t size)
{
	struct fs_server *s = context;
	struct fuse_bufvec bytes = FUSE_BUFVEC_INIT(size);

	bytes.buf[0].mem = (void *)(uintptr_t)data;
	return fuse_lowlevel_notify_store(s->session, ino, (off_t)offset, &bytes, 0);
}

/* Answers requests while a thread stores pages: the thread may be waiting for one of them. */
static void finish_storing(struct fs_server *s)
{
	struct pollfd fd = {.fd = fuse_session_fd(s->session), .events = POLLIN};
	void *buffer = NULL;

	fs_readahead_close(&s->ahead);
	while (fs_readahead_is_storing(&s->ahead))
		if (next_request(s, &buffer) != 1)
			poll(&fd, 1, 10);
	drop_request(buffer);
}

static int receive(struct fs_server *s)
{
	int r = fs_pool_init(&s->pool, THREADS);

	if (r == 0)
		r = fs_pool_init(&s->emulator, 1);
	if (r == 0 && fcntl(fuse_session_fd(s->session), F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r == 0)
		r = receive_requests(s);
	finish_storing(s);
	fs_pool_done(&s->pool);
	fs_readahead_done(&s->ahead);
	return r;
}

/* Converts the message of libfuse or fusermount3 to an errno: -EPERM if /etc/fuse.conf does not
 * permit allow_other, else -ENODEV. */
static int refusal_error(const char *refusal, struct fmt_error *err)
{
	int r = strstr(refusal, "user_allow_other") ? -EPERM : -ENODEV;

	return refusal[0] ? fmt_fail(err, r, "", FMT_NO_OFFSET, "%s", refusal) : r;
}

static int mount_session(struct fuse_session *se, const struct fs_mount *mount,
			 struct fmt_error *err)
{
	int overheard = mount->debug ? -1 : overhear_begin();
	int r = fuse_session_mount(se, mount->dir);
	char refusal[160] = "";

	overhear_end(overheard, refusal, sizeof(refusal));
	return r < 0 ? refusal_error(refusal, err) : 0;
}

static int serve_requests(struct fs_server *s, struct fmt_error *err)
{
	int r;

	handle_signals();
	r = mount_session(s->session, s->mount, err);
	if (r < 0)
		return r;
	r = receive(s);
	fuse_session_unmount(s->session);
	return r < 0 ? r : 0;
}

int fs_mount_serve(struct fs *fs, const struct fs_mount *mount, struct fmt_error *err)
{
	char *argv[] = {(char *)"gputracefs", (char *)"-o", (char *)mount->options,
			mount->debug ? (char *)"-d" : NULL, NULL};
	struct fuse_args args = FUSE_ARGS_INIT(mount->debug ? 4 : 3, argv);
	static struct fs_server s; /* used until the process ends while a run is emulated */
	scoped(session_freep) struct fuse_session *se = NULL;
	int r;

	s = (struct fs_server){.fs = fs, .mount = mount, .owner = getuid(), .group = getgid()};
	fs_readahead_init(&s.ahead, fs, &s.pool, store_pages, &s);
	s.session = se = fuse_session_new(&args, &fs_fuse_ops, sizeof(fs_fuse_ops), &s);
	fuse_opt_free_args(&args);
	r = se ? serve_requests(&s, err) : -EINVAL;
	if (fs_pool_is_busy(&s.emulator)) {
		take(se);
		return FS_STILL_EMULATING;
	}
	fs_pool_done(&s.emulator);
	return r;
}
