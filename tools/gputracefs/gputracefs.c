/* SPDX-License-Identifier: Apache-2.0 */

/* Shows a trace as files. */
#include "base/scope.h"
#include "fs/mount.h"
#include "tools/cli.h"
#include "tools/damage.h"
#include "tools/gputracefs/emulated.h"
#include "tools/gputracefs/mount_options.h"
#include "tools/gputracefs/mount_point.h"
#include "tools/trace_arg.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/wait.h>

enum { OPT_OPTIONS, OPT_FOREGROUND, OPT_DEBUG };

static const struct cli_option options[] = {
	[OPT_OPTIONS] = {"options", 'o', "OPT,...", "mount options, as below", .list = ','},
	[OPT_FOREGROUND] = {"foreground", 'f', NULL, "stay in the foreground"},
	[OPT_DEBUG] = {"debug", 'd', NULL, "print each request; implies -f"},
	{0},
};

/* The parent process, which waits until the mount is ready. */
struct launch {
	int ready_fd; /* -1: no parent waits */
};

/* Detaches from the terminal and releases the waiting parent. */
static void announce_ready(void *context)
{
	struct launch *l = context;
	scoped(close_fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (l->ready_fd < 0)
		return;
	if (null >= 0) {
		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
	}
	if (write(l->ready_fd, "", 1) < 0)
		return;
	close(l->ready_fd);
	l->ready_fd = -1;
}

/* Forks the server. Returns 1 in the server. Returns 0 in the parent, with its exit status, after
 * the mount is ready or has failed. */
static int fork_server(struct launch *l, int *status)
{
	int fds[2], child_status;
	pid_t pid;
	char byte;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid < 0) {
		int r = -errno;

		close(fds[0]);
		close(fds[1]);
		return r;
	}
	if (pid == 0) {
		close(fds[0]);
		l->ready_fd = fds[1];
		setsid();
		return chdir("/") < 0 ? -errno : 1;
	}
	close(fds[1]);
	*status = CLI_OK;
	if (read(fds[0], &byte, 1) != 1) {
		*status = CLI_MACHINE;
		if (waitpid(pid, &child_status, 0) == pid && WIFEXITED(child_status))
			*status = WEXITSTATUS(child_status);
	}
	close(fds[0]);
	return 0;
}

static const char *mount_hint(int r, const struct fmt_error *err)
{
	if (r == -EPERM)
		return "add that line to /etc/fuse.conf, or mount without allow_other";
	return r == -ENODEV && !err->what[0]
		       ? "check that /dev/fuse exists and that this user may open it"
		       : NULL;
}

static int serve_mount(struct fs *fs, const struct fs_mount *mount)
{
	struct fmt_error err = {.offset = FMT_NO_OFFSET};
	int r = fs_mount_serve(fs, mount, &err);

	if (r != FS_STILL_EMULATING)
		fs_close(fs);
	if (r >= 0)
		return CLI_OK;
	cli_fail(r, &err, "mount on", mount->dir, mount_hint(r, &err));
	return CLI_MACHINE;
}

static int no_mount_point(int r, const char *dir)
{
	if (r == -EBUSY)
		cli_error(
			"cannot mount on %s: already mounted; unmount it with `fusermount3 -u %s`",
			dir, dir);
	else if (r == -ENOENT)
		cli_error("cannot mount on %s: no such directory; create it with `mkdir %s`", dir,
			  dir);
	else
		cli_error("cannot mount on %s: %s", dir, strerror(-r));
	return CLI_USAGE;
}

/* Reports damage found while opening. The undamaged rest can be mounted. */
static void print_damage(struct fmt_trace *trace, const char *path)
{
	struct damage damage = {0};

	damage_add_trace(&damage, trace);
	if (damage.n > 0)
		damage_print(&damage, path, "files that need the damaged part cannot be read");
}

static int mount_trace(const struct cli_args *args, const struct mount_options *o)
{
	const char *path = args->operands[0], *dir = args->operands[1];
	bool stay = args->values[OPT_FOREGROUND] || args->values[OPT_DEBUG];
	scoped(free_ptr) char *point = NULL, *list = NULL, *source = realpath(path, NULL);
	scoped(emulated_done) struct emulated emulated = {0};
	struct fs_options fs_options = {.cache_bytes = (size_t)o->cache_mb << 20,
					.emulate = emulated_make,
					.context = &emulated};
	struct launch l = {-1};
	struct fs_mount mount = {
		.debug = args->values[OPT_DEBUG] != NULL, .ready = announce_ready, .context = &l};
	struct fmt_error err = {.offset = FMT_NO_OFFSET};
	struct fmt_trace *trace;
	int status = CLI_OK, r;
	struct fs *fs;

	r = trace_arg_open(path, &trace);
	if (r != CLI_OK)
		return r;
	r = mount_point_find(dir, &point);
	if (r < 0) {
		fmt_trace_close(trace);
		return no_mount_point(r, dir);
	}
	list = mount_options_join(o, source ? source : path);
	r = list ? fs_open(trace, &fs_options, &fs, &err) : -ENOMEM;
	if (r < 0)
		return cli_fail(r, &err, "show", path, NULL);
	print_damage(trace, path);
	mount.options = list;
	mount.dir = point;
	if (!stay) {
		r = fork_server(&l, &status);
		if (r <= 0) {
			fs_close(fs);
			return r < 0 ? cli_fail(r, NULL, "mount on", dir, NULL) : status;
		}
	}
	return serve_mount(fs, &mount);
}

static int run(const struct cli_args *args)
{
	scoped(mount_options_done) struct mount_options o = {0};
	int r = mount_options_parse(args->values[OPT_OPTIONS], &o);

	if (r < 0)
		return r == -EINVAL ? CLI_USAGE : CLI_MACHINE;
	return mount_trace(args, &o);
}

static const struct cli_command command = {
	.name = "gputracefs",
	.operands = "TRACE DIR",
	.min_operands = 2,
	.max_operands = 2,
	.what = "Mount a trace as files on DIR; `fusermount3 -u DIR` unmounts it",
	.options = options,
	.notes = "Mount options:\n"
		 "  cache_mb=N       size of the cache in MiB (default: 64)\n"
		 "  fsname=NAME      name in /proc/mounts (default: path of the trace)\n"
		 "  allow_other      give other users access; see fuse(8)\n"
		 "  auto_unmount     unmount even if gputracefs is killed\n"
		 "  noatime, nodiratime, noexec, max_read=N\n"
		 "A mount is always ro,nosuid,nodev. Other options of mount(8)\n"
		 "(rw, user, _netdev, x-...) are accepted and ignored.\n"
		 "In /etc/fstab: TRACE DIR fuse.gputracefs ro,user,noauto 0 0\n",
	.run = run,
};

int main(int argc, char **argv)
{
	/* One arena and returned large blocks keep memory close to the size of the cache. Rendered
	 * texts, of up to 2 MiB, are smaller: page faults of fresh memory take as long as filling
	 * it with text. Keep enough for the next slice. */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	mallopt(M_TRIM_THRESHOLD, 4 << 20);
	return cli_main_one(&command, argc, argv);
}
