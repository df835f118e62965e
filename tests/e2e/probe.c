/* SPDX-License-Identifier: Apache-2.0 */

/* System calls on a mount that no shell command makes:
 *
 * - probe mutate DIR NAME: makes every modifying call on DIR and the file NAME in it; each must
 * fail with EROFS.
 * - probe seek DIR: seeks to every entry of a directory by its telldir() offset.
 * - probe types DIR: compares the types that readdir() and lstat() report.
 * - probe mmap|sendfile|direct|handle FILE: reads the file that way and writes it to stdout.
 */
#include "base/array.h"
#include "base/scope.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define BLOCK (64u << 10)

static int fail(const char *what)
{
	fprintf(stderr, "probe: %s: %s\n", what, strerror(errno));
	return 1;
}

static int write_out(const char *data, size_t n)
{
	return fwrite(data, 1, n, stdout) == n ? 0 : fail("write");
}

/* ---- writing */

static int refused(const char *what, long r)
{
	if (r < 0 && errno == EROFS)
		return 0;
	fprintf(stderr, "probe: %s: %s instead of EROFS\n", what,
		r < 0 ? strerror(errno) : "success");
	return 1;
}

static int mutate(const char *dir, const char *name)
{
	char file[512], new[512];
	struct timespec now[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
	int bad = 0;

	snprintf(file, sizeof(file), "%s/%s", dir, name);
	snprintf(new, sizeof(new), "%s/new", dir);
	bad += refused("open to write", open(file, O_WRONLY));
	bad += refused("open to read and write", open(file, O_RDWR));
	bad += refused("open to truncate", open(file, O_RDONLY | O_TRUNC));
	bad += refused("create", open(new, O_CREAT | O_WRONLY, 0666));
	bad += refused("mkdir", mkdir(new, 0777));
	bad += refused("mknod", mknod(new, S_IFIFO | 0666, 0));
	bad += refused("symlink", symlink(name, new));
	bad += refused("link", link(file, new));
	bad += refused("rename", rename(file, new));
	bad += refused("unlink", unlink(file));
	bad += refused("rmdir", rmdir(dir));
	bad += refused("truncate", truncate(file, 0));
	bad += refused("chmod", chmod(file, 0666));
	bad += refused("chown", chown(file, 1, 1));
	bad += refused("utimensat", utimensat(AT_FDCWD, file, now, 0));
	bad += refused("setxattr", setxattr(file, "user.x", "x", 1, 0));
	bad += refused("removexattr", removexattr(file, "user.x"));
	return bad > 0;
}

/* ---- directories */

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static int check_seek(const char *path, const char *unused)
{
	scoped(close_dir) DIR *dir = opendir(path);
	static struct {
		long at;
		char name[256];
	} seen[4096];
	size_t n = 0;

	if (!dir)
		return fail("opendir");
	for (const struct dirent *e; n < ARRAY_SIZE(seen); n++) {
		seen[n].at = telldir(dir);
		e = readdir(dir);
		if (!e)
			break;
		snprintf(seen[n].name, sizeof(seen[n].name), "%s", e->d_name);
	}
	for (size_t i = n; i-- > 0;) {
		const struct dirent *e;

		seekdir(dir, seen[i].at);
		e = readdir(dir);
		if (!e || strcmp(e->d_name, seen[i].name) != 0) {
			fprintf(stderr, "probe: %s instead of %s\n", e ? e->d_name : "the end",
				seen[i].name);
			return 1;
		}
	}
	return 0;
}

static int types(const char *path, const char *unused)
{
	scoped(close_dir) DIR *dir = opendir(path);

	if (!dir)
		return fail("opendir");
	for (const struct dirent *e; (e = readdir(dir));) {
		struct stat st;

		if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return fail(e->d_name);
		if ((mode_t)DTTOIF(e->d_type) != (st.st_mode & S_IFMT) ||
		    (e->d_ino != st.st_ino && strcmp(e->d_name, ".."))) {
			fprintf(stderr, "probe: %s is something else\n", e->d_name);
			return 1;
		}
	}
	return 0;
}

/* ---- reading */

static int by_mmap(const char *path, const char *unused)
{
	scoped(close_fd) int fd = open(path, O_RDONLY);
	struct stat st;
	void *data;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail(path);
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return fail("mmap");
	r = write_out(data, (size_t)st.st_size);
	munmap(data, (size_t)st.st_size);
	return r;
}

static int by_sendfile(const char *path, const char *unused)
{
	scoped(close_fd) int fd = open(path, O_RDONLY);
	struct stat st;
	off_t at = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail(path);
	while (at < st.st_size)
		if (sendfile(1, fd, &at, (size_t)(st.st_size - at)) <= 0)
			return fail("sendfile");
	return 0;
}

static int copy(int fd)
{
	static char data[BLOCK] __attribute__((aligned(4096)));
	ssize_t n;

	while ((n = read(fd, data, sizeof(data))) > 0)
		if (write_out(data, (size_t)n))
			return 1;
	return n < 0 ? fail("read") : 0;
}

static int by_direct(const char *path, const char *unused)
{
	scoped(close_fd) int fd = open(path, O_RDONLY | O_DIRECT);

	return fd < 0 ? fail(path) : copy(fd);
}

/* As an NFS server does, which may use a handle long after the kernel has forgotten the name. */
static int by_handle(const char *path, const char *unused)
{
	struct {
		struct file_handle h;
		char bytes[MAX_HANDLE_SZ];
	} handle = {.h.handle_bytes = MAX_HANDLE_SZ};
	scoped(close_fd) int fd = -1, mount = open(path, O_RDONLY), drop = -1;
	int id;

	if (mount < 0 || name_to_handle_at(AT_FDCWD, path, &handle.h, &id, 0) < 0)
		return fail("name_to_handle_at");
	close(take_fd(mount));
	drop = open("/proc/sys/vm/drop_caches", O_WRONLY);
	if (drop >= 0 && write(drop, "2\n", 2) < 0)
		return fail("drop_caches");
	mount = open(getenv("MOUNT"), O_RDONLY);
	fd = open_by_handle_at(mount, &handle.h, O_RDONLY);
	return fd < 0 ? fail("open_by_handle_at") : copy(fd);
}

static const struct {
	const char *name;
	int (*run)(const char *path, const char *name);
} probes[] = {
	{"mutate", mutate},	   {"seek", check_seek},  {"types", types},	 {"mmap", by_mmap},
	{"sendfile", by_sendfile}, {"direct", by_direct}, {"handle", by_handle},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < ARRAY_SIZE(probes); i++)
		if (strcmp(argv[1], probes[i].name) == 0)
			return probes[i].run(argv[2], argc > 3 ? argv[3] : NULL);
	fprintf(stderr, "probe: which?\n");
	return 2;
}
