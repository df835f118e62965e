/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorder/session.h"

#include "base/array.h"
#include "base/host.h"
#include "base/scope.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#define PREFIX "gpucapture-"
#define MAKING ".gpucapture-" /* prefix of the name until the folder is locked */
#define RECORDING "recording" /* a link to the raw recording */
#define MAKING_SECONDS 60     /* an older folder of that name is abandoned */
#define LEAST_ROOM (8u << 20)
#define DYING_ROUNDS 100 /* so often a lock is tried for */
#define DYING_NS 100000000

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static void remove_folder(const char *folder)
{
	scoped(close_dir) DIR *dir = opendir(folder);
	const struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(dir), e->d_name, 0);
	rmdir(folder);
}

/* Returns 1 if the recorder of that folder has ended, and nobody can continue its recording. */
static int is_stale(const char *folder, const struct stat *st, int making)
{
	scoped(free_ptr) char *path = NULL, *recording = NULL;
	scoped(close_fd) int fd = -1;

	if (making)
		return time(NULL) - st->st_mtime > MAKING_SECONDS;
	if (asprintf(&recording, "%s/" RECORDING, folder) < 0 || access(recording, F_OK) == 0)
		return 0;
	if (asprintf(&path, "%s/control", folder) < 0)
		return 0;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT;
	return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void remove_stale(const char *base)
{
	scoped(close_dir) DIR *dir = opendir(base);
	const struct dirent *e;

	while (dir && (e = readdir(dir))) {
		int making = strncmp(e->d_name, MAKING, strlen(MAKING)) == 0;
		scoped(free_ptr) char *folder = NULL;
		struct stat st;

		if (!making && strncmp(e->d_name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		if (asprintf(&folder, "%s/%s", base, e->d_name) < 0 || lstat(folder, &st) < 0 ||
		    !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
			continue;
		if (is_stale(folder, &st, making))
			remove_folder(folder);
	}
}

static int map_control(struct rec_session *s)
{
	void *page =
		mmap(NULL, CAP_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, s->lock_fd, 0);

	if (page == MAP_FAILED)
		return -errno;
	s->control = page;
	return 0;
}

static int make_control(struct rec_session *s, const struct cap_control *settings)
{
	char path[PATH_MAX + 16];
	void *page;
	int r;

	snprintf(path, sizeof(path), "%s/control", s->folder);
	s->lock_fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (s->lock_fd < 0)
		return -errno;
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	page = calloc(1, CAP_CONTROL_BYTES);
	if (!page)
		return -ENOMEM;
	ssize_t n = pwrite(s->lock_fd, page, CAP_CONTROL_BYTES, 0);

	free(page);
	if (n != CAP_CONTROL_BYTES)
		return n < 0 ? -errno : -ENOSPC;
	r = map_control(s);
	if (r < 0)
		return r;
	*s->control = *settings;
	s->control->version = CAP_VERSION;
	s->control->recorder_pid = getpid();
	rec_session_heartbeat(s);
	__atomic_store_n(&s->control->magic, CAP_MAGIC, __ATOMIC_RELEASE);
	return 0;
}

/* Creates the folder under a temporary name, which no recorder considers abandoned, and renames it
 * once it is locked. */
int rec_session_begin_at(struct rec_session *s, const char *base,
			 const struct cap_control *settings)
{
	scoped(free_ptr) char *path = realpath(base, NULL); /* programs change their folders */
	char locked[PATH_MAX];
	struct statvfs fs;
	int r;

	if (!path || statvfs(path, &fs) < 0)
		return -errno;
	if (strlen(path) + strlen("/" MAKING "XXXXXX") >= CAP_FOLDER_BYTES)
		return -ENAMETOOLONG;
	if ((uint64_t)fs.f_bavail * fs.f_frsize < LEAST_ROOM)
		return -ENOSPC;
	remove_stale(path);
	snprintf(s->folder, sizeof(s->folder), "%s/" MAKING "XXXXXX", path);
	if (!mkdtemp(s->folder)) {
		r = -errno;
		s->folder[0] = '\0';
		return r;
	}
	snprintf(locked, sizeof(locked), "%s/" PREFIX "%s", path,
		 s->folder + strlen(s->folder) - 6);
	r = make_control(s, settings);
	if (r == 0 && rename(s->folder, locked) < 0)
		r = -errno;
	if (r < 0) {
		rec_session_end(s);
		return r;
	}
	memcpy(s->folder, locked, sizeof(locked));
	s->dir_fd = open(s->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return s->dir_fd < 0 ? -errno : 0;
}

void rec_session_init(struct rec_session *s)
{
	memset(s, 0, sizeof(*s));
	s->lock_fd = s->dir_fd = -1;
}

int rec_session_begin(struct rec_session *s, const struct cap_control *settings)
{
	const char *const bases[] = {"/dev/shm", getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"),
				     "/tmp"};
	int r = -ENOENT;

	rec_session_init(s);
	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
		if (!bases[i] || !*bases[i])
			continue;
		r = rec_session_begin_at(s, bases[i], settings);
		if (r == 0)
			return 0;
	}
	return r;
}

int rec_session_bind(struct rec_session *s, const char *recording)
{
	scoped(free_ptr) char *path = realpath(recording, NULL);

	return path && symlinkat(path, s->dir_fd, RECORDING) == 0 ? 0 : -errno;
}

static uint64_t last_beat(int fd)
{
	uint64_t beat = 0;

	return pread(fd, &beat, sizeof(beat), offsetof(struct cap_control, heartbeat_ns)) < 0
		       ? 0
		       : beat;
}

/* Locks the file of a recorder that was killed. Its last process releases the lock when it has
 * ended, which may take a while on a busy machine. A recorder that still runs updates its
 * heartbeat: -EBUSY. */
static int lock_when_dead(int fd)
{
	const struct timespec a_while = {.tv_nsec = DYING_NS};
	uint64_t first = last_beat(fd);

	for (int i = 0; i < DYING_ROUNDS && last_beat(fd) == first; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		nanosleep(&a_while, NULL);
	}
	return -EBUSY;
}

int rec_session_attach(struct rec_session *s, const char *folder)
{
	scoped(free_ptr) char *path = NULL;
	scoped(close_fd) int fd = -1;
	struct stat st;
	int r;

	if (asprintf(&path, "%s/control", folder) < 0)
		return -ENOMEM;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	r = lock_when_dead(fd);
	if (r < 0)
		return r;
	if (st.st_size < CAP_CONTROL_BYTES)
		return -EBADMSG;
	s->lock_fd = take_fd(fd);
	r = map_control(s);
	if (r < 0)
		return r;
	s->dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir_fd < 0)
		return -errno;
	snprintf(s->folder, sizeof(s->folder), "%s", folder);
	return 0;
}

void rec_session_stop(struct rec_session *s)
{
	if (s->control)
		__atomic_store_n(&s->control->heartbeat_ns, 0, __ATOMIC_RELEASE);
}

void rec_session_heartbeat(struct rec_session *s)
{
	if (s->control)
		__atomic_store_n(&s->control->heartbeat_ns, host_clock_ns(CLOCK_MONOTONIC),
				 __ATOMIC_RELEASE);
}

static int mark_known(struct rec_session *s, uint32_t number)
{
	size_t before = s->known_cap;

	if (array_reserve(&s->known, (size_t)number + 1, &s->known_cap) < 0)
		return -ENOMEM;
	memset(s->known + before, 0, s->known_cap - before);
	s->known[number] = 1;
	s->n_known++;
	return 0;
}

/* Returns 1 and the number for the name "ring-PID-NUMBER" of an unknown ring. */
static int is_new(const struct rec_session *s, const char *name, uint32_t *number)
{
	int pid, end = 0;

	return sscanf(name, "ring-%d-%u%n", &pid, number, &end) == 2 && name[end] == '\0' &&
	       *number < REC_MOST_RINGS && (*number >= s->known_cap || !s->known[*number]);
}

int rec_session_for_each_ring(struct rec_session *s,
			      int (*take_ring)(void *, int, const char *, uint32_t), void *context)
{
	scoped(close_dir) DIR *dir = NULL;
	const struct dirent *e;
	uint32_t made, failed, number;
	int r = 0;

	if (!s->control)
		return 0;
	/* A ring is counted before its file is there. */
	made = __atomic_load_n(&s->control->n_rings, __ATOMIC_ACQUIRE);
	failed = __atomic_load_n(&s->control->failed_rings, __ATOMIC_ACQUIRE);
	if (s->n_known + failed < made)
		dir = opendir(s->folder);
	while (dir && r == 0 && (e = readdir(dir))) {
		if (!is_new(s, e->d_name, &number))
			continue;
		r = take_ring(context, s->dir_fd, e->d_name, number);
		if (r == 0)
			r = mark_known(s, number);
		else if (r == -EAGAIN)
			r = 0;
	}
	return r;
}

void rec_session_remove_ring(struct rec_session *s, int pid, uint32_t number)
{
	char name[48];

	snprintf(name, sizeof(name), "ring-%d-%u", pid, number);
	unlinkat(s->dir_fd, name, 0);
}

void rec_session_detach(struct rec_session *s)
{
	rec_session_stop(s);
	if (s->control)
		munmap(s->control, CAP_CONTROL_BYTES);
	close_fd(&s->lock_fd);
	close_fd(&s->dir_fd);
	free(s->known);
	rec_session_init(s);
}

void rec_session_end(struct rec_session *s)
{
	if (s->folder[0])
		remove_folder(s->folder);
	rec_session_detach(s);
}
