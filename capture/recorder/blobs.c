/* SPDX-License-Identifier: Apache-2.0 */

/* Copies contents from the session folder to the raw recording. */
#include "base/array.h"
#include "base/scope.h"
#include "capture/recorder/recorder_impl.h"
#include "formats/trace/store/chunk.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Returns false if the content could not be read: its file remains unchanged. */
static bool put_blob(struct rec_recorder *r, const char *name)
{
	scoped(close_fd) int fd =
		openat(r->session.dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct rec_piece_blob head;
	struct stat st;
	struct rec_piece piece = {.kind = REC_PIECE_BLOB, .bytes = sizeof(head)};
	unsigned long long low, high;
	const uint8_t *data;

	if (sscanf(name, "blob-%16llx%16llx", &high, &low) != 2 || fd < 0 || fstat(fd, &st) < 0 ||
	    st.st_size <= 0)
		return false;
	head = (struct rec_piece_blob){.name = {low, high}, .bytes = (uint64_t)st.st_size};
	if (st.st_size > FMT_CHUNK_RAW_MAX / 2) {
		rec_recorder_put(r, REC_PIECE_BLOB, 0, 0, &head, sizeof(head));
		return true;
	}
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return false;
	piece.bytes += (uint64_t)st.st_size;
	rec_raw_put_parts(&r->raw, &piece, &head, sizeof(head), data);
	munmap((void *)(uintptr_t)data, (size_t)st.st_size);
	return true;
}

/* Contents that are in the recording. Their files remain, empty: the library does not write a
 * content whose file exists. */
struct copied {
	char (*names)[64];
	size_t n, cap;
};

static void copied_done(struct copied *c)
{
	free(c->names);
}

static void copy_blob(struct rec_recorder *r, const char *name, struct copied *c)
{
	if (strncmp(name, "blob-", 5) != 0 || strlen(name) >= sizeof(c->names[0]) ||
	    array_reserve(&c->names, c->n + 1, &c->cap) < 0)
		return;
	if (put_blob(r, name))
		strcpy(c->names[c->n++], name);
}

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static void copy_blobs(struct rec_recorder *r, struct copied *c)
{
	scoped(close_dir) DIR *dir = opendir(r->session.folder);
	const struct dirent *e;

	while (dir && (e = readdir(dir)))
		copy_blob(r, e->d_name, c);
}

/* Copies files that appeared since the last time. Those that appear meanwhile are left to the next
 * round, so that rings are read in between. Returns false if some may have been missed. */
static bool copy_new(struct rec_recorder *r, struct copied *c)
{
	char buffer[4096] __attribute__((aligned(8)));
	int left = 0;
	ssize_t n;

	ioctl(r->appeared, FIONREAD, &left);
	for (; left > 0 && (n = read(r->appeared, buffer, sizeof(buffer))) > 0; left -= (int)n)
		for (ssize_t i = 0; i < n;) {
			const struct inotify_event *e = (const void *)(buffer + i);

			if (e->mask & IN_Q_OVERFLOW)
				return false;
			if (e->len > 0)
				copy_blob(r, e->name, c);
			i += (ssize_t)(sizeof(*e) + e->len);
		}
	return true;
}

void rec_recorder_copy_blobs(struct rec_recorder *r, bool all)
{
	scoped(copied_done) struct copied c = {0};

	if (r->raw.error)
		return;
	if (!r->appeared) {
		r->appeared = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		inotify_add_watch(r->appeared, r->session.folder, IN_MOVED_TO);
		all = true; /* files that existed before */
	}
	if (all || !copy_new(r, &c))
		copy_blobs(r, &c);
	if (c.n == 0 || rec_raw_flush(&r->raw) < 0)
		return;
	for (size_t i = 0; i < c.n; i++) {
		int fd = openat(r->session.dir_fd, c.names[i],
				O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);

		close_fd(&fd);
	}
}
