/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorder/contents.h"

#include "base/array.h"
#include "base/scope.h"
#include "capture/recorder/session.h"
#include "formats/store/blobs.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct contents {
	const char *folder, *trace;
	struct fmt_output out;
	bool begun;
	uint64_t (*names)[2]; /* owned */
	size_t n, cap;
};

static int want_images(struct contents *c, const struct rec_process *p)
{
	if (array_reserve(&c->names, c->n + p->n_images, &c->cap) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_images; i++)
		memcpy(c->names[c->n++], p->images[i], sizeof(*c->names));
	return 0;
}

static int want(struct contents *c, const struct fmt_digest *list, size_t n)
{
	if (array_reserve(&c->names, c->n + n, &c->cap) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		memcpy(c->names[c->n++], list[i].digest, sizeof(*c->names));
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return array_order(x[1], y[1]) ?: array_order(x[0], y[0]);
}

static int begin(struct contents *c, struct fmt_error *err)
{
	int r = c->begun ? 0 : fmt_blobs_begin(&c->out, c->trace, err);

	c->begun |= r == 0;
	return r;
}

/* 1 when it is stored, 0 when it is missing. */
static int store(struct contents *c, const uint64_t name[2], struct fmt_error *err)
{
	char path[PATH_MAX + 64];
	scoped(close_fd) int fd = -1;
	struct stat st;
	void *data;
	int r;

	rec_session_blob(c->folder, name, path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > FMT_CHUNK_RAW_MAX - 16)
		return 0;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return 0;
	r = begin(c, err);
	if (r == 0)
		r = fmt_blobs_put(&c->out, name, data, (size_t)st.st_size, err);
	munmap(data, (size_t)st.st_size);
	return r == 0 ? 1 : r == -EBADMSG ? 0 : r;
}

/* What can be read of all that is wanted. */
static int keep_all(struct contents *c, struct rec_contents_result *ret, struct fmt_error *err)
{
	size_t n = 0;

	if (c->n > 0)
		qsort(c->names, c->n, sizeof(*c->names), by_name);
	for (size_t i = 0; i < c->n; i++) {
		int r;

		if (i > 0 && by_name(c->names[i], c->names[i - 1]) == 0)
			continue;
		r = store(c, c->names[i], err);
		if (r < 0)
			return r;
		ret->missing += r == 0;
		if (r == 1)
			memmove(c->names[n++], c->names[i], sizeof(*c->names));
	}
	ret->kept = c->n = n;
	return 0;
}

static int put_list(struct contents *c, uint32_t number, struct fmt_digest *list, size_t n,
		    struct fmt_error *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (c->n > 0 && bsearch(list[i].digest, c->names, c->n, sizeof(*c->names), by_name))
			list[kept++] = list[i];
	return kept == 0 ? 0 : fmt_blobs_contents(&c->out, number, list, kept, err);
}

static void contents_done(struct contents *c)
{
	if (c->begun)
		fmt_output_done(&c->out);
	free(c->names);
}

int rec_contents_write(const char *folder, const char *trace, struct rec_process *const *processes,
		       size_t n_processes, struct rec_reading *readings, uint32_t n_ranks,
		       struct rec_contents_result *ret, struct fmt_error *err)
{
	scoped(contents_done) struct contents c = {.folder = folder, .trace = trace};
	int r = 0;

	*ret = (struct rec_contents_result){0};
	for (size_t i = 0; i < n_processes && r == 0; i++)
		r = want_images(&c, processes[i]);
	for (uint32_t i = 0; i < n_ranks && r == 0; i++)
		r = want(&c, readings[i].contents, readings[i].n_contents);
	if (r == 0)
		r = keep_all(&c, ret, err);
	for (uint32_t i = 0; i < n_ranks && r == 0; i++)
		r = put_list(&c, readings[i].part->rank->number, readings[i].contents,
			     readings[i].n_contents, err);
	return r == 0 && c.begun ? fmt_output_end(&c.out, err) : r;
}
