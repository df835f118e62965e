/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/fuse_server.h"

#include "base/array.h"
#include "base/scope.h"
#include "fs/loop.h"
#include "fs/overheard.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#define THREADS 9 /* of the pool, beside the thread that receives */

static void session_freep(struct fuse_session **se)
{
	if (*se)
		fuse_session_destroy(*se);
}

static int next_request(void *context, void **buffer)
{
	struct fuse_buf *request = *buffer ? *buffer : calloc(1, sizeof(*request));
	int r = request ? fuse_session_receive_buf(context, request) : -ENOMEM;

	*buffer = request;
	if (r > 0)
		fuse_session_process_buf(context, request);
	return r > 0 ? 1 : r == -EAGAIN || r == -EINTR ? 0 : r;
}

static void drop_request(void *buffer)
{
	struct fuse_buf *request = buffer;

	if (request)
		free(request->mem);
	free(request);
}

/* ---- signals that end the mount. With libfuse's own handlers, libfuse drops the next request, and
 * a thread that stores pages could wait for the answer forever. */

static _Atomic bool stopped; /* one mount a process; lock-free, as a signal handler needs */

static void stop(int signal)
{
	stopped = true;
}

/* Leaves ignored signals alone (nohup). */
static void handle_signals(void)
{
	static const int ending[] = {SIGHUP, SIGINT, SIGTERM};
	struct sigaction action = {.sa_handler = stop}, old;

	for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
		if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(ending[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static bool has_ended(void *context)
{
	return stopped || fuse_session_exited(context);
}

/* ---- serving */

static int store(void *context, fs_ino ino, uint64_t offset, const void *data, size_t size)
{
	struct fs_server *s = context;
	struct fuse_bufvec bytes = FUSE_BUFVEC_INIT(size);

	bytes.buf[0].mem = (void *)(uintptr_t)data;
	return fuse_lowlevel_notify_store(s->session, ino, (off_t)offset, &bytes, 0);
}

/* Answers requests while a thread stores pages: the thread may be waiting for one of them. */
static void finish_storing(struct fs_server *s, const struct fs_source *source)
{
	struct pollfd fd = {.fd = source->fd, .events = POLLIN};
	void *buffer = NULL;

	fs_ahead_close(&s->ahead);
	while (fs_ahead_is_storing(&s->ahead))
		if (source->next(source->context, &buffer) != 1)
			poll(&fd, 1, 10);
	source->drop(buffer);
}

static int receive(struct fs_server *s)
{
	const struct fs_source source = {
		.fd = fuse_session_fd(s->session),
		.next = next_request,
		.drop = drop_request,
		.ended = has_ended,
		.context = s->session,
	};
	int r = fs_pool_init(&s->pool, THREADS);

	if (r == 0 && fcntl(source.fd, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r == 0)
		r = fs_loop_run(&source, &s->pool);
	finish_storing(s, &source);
	fs_pool_done(&s->pool);
	fs_ahead_done(&s->ahead);
	return r;
}

/* Turns the message of libfuse or fusermount3 into an errno: -EPERM if /etc/fuse.conf does not
 * permit allow_other, else -ENODEV. */
static int refusal_error(const char *refusal, struct fmt_error *err)
{
	int r = strstr(refusal, "user_allow_other") ? -EPERM : -ENODEV;

	return refusal[0] ? fmt_fail(err, r, "", FMT_NO_OFFSET, "%s", refusal) : r;
}

static int mount_session(struct fuse_session *se, const struct fs_mount *mount,
			 struct fmt_error *err)
{
	int overheard = mount->debug ? -1 : fs_overhear_begin();
	int r = fuse_session_mount(se, mount->dir);
	char refusal[160] = "";

	fs_overhear_end(overheard, refusal, sizeof(refusal));
	return r < 0 ? refusal_error(refusal, err) : 0;
}

static int serve(struct fs_server *s, struct fmt_error *err)
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

int fs_fuse_serve(struct fs *fs, const struct fs_mount *mount, struct fmt_error *err)
{
	char *argv[] = {(char *)"gputracefs", (char *)"-o", (char *)mount->options,
			mount->debug ? (char *)"-d" : NULL, NULL};
	struct fuse_args args = FUSE_ARGS_INIT(mount->debug ? 4 : 3, argv);
	struct fs_server s = {.fs = fs, .mount = mount, .owner = getuid(), .group = getgid()};
	scoped(session_freep) struct fuse_session *se = NULL;
	int r;

	fs_later_init(&s.later, fs);
	fs_ahead_init(&s.ahead, fs, &s.pool, store, &s);
	s.session = se = fuse_session_new(&args, &fs_fuse_ops, sizeof(fs_fuse_ops), &s);
	fuse_opt_free_args(&args);
	r = se ? serve(&s, err) : -EINVAL;
	if (!fs_later_done(&s.later))
		return FS_STILL_EMULATING;
	return r;
}
