/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/contents.h"

#include "base/array.h"
#include "base/scope.h"
#include "base/text.h"
#include "formats/trace/images.h"
#include "formats/trace/json.h"
#include "formats/trace/store/blobs.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>

void rec_contents_path(const char *folder, const uint64_t hash[2], char *ret, size_t cap)
{
	snprintf(ret, cap, "%s/blob-%016llx%016llx", folder, (unsigned long long)hash[1],
		 (unsigned long long)hash[0]);
}

struct contents {
	const char *folder;
	struct fmt_writer *writer;
	struct fmt_output *out; /* the writer's; NULL until there is a content */
	uint64_t (*names)[2];	/* owned */
	size_t n, cap;
};

static int want_images(struct contents *c, const struct rec_process *p)
{
	if (array_reserve(&c->names, c->n + p->n_images, &c->cap) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_images; i++)
		if (p->images[i].stored)
			memcpy(c->names[c->n++], p->images[i].name, sizeof(*c->names));
	return 0;
}

static int add_wanted(struct contents *c, const struct fmt_digest *list, size_t n)
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

/* Returns 1 if stored, 0 if missing, which is counted by reason. */
static int store_content(struct contents *c, const uint64_t name[2],
			 struct rec_contents_result *ret, struct fmt_error *err)
{
	char path[PATH_MAX + 64];
	scoped(close_fd) int fd = -1;
	struct stat st;
	void *data;
	int r;

	rec_contents_path(c->folder, name, path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0)
		return ret->missing[REC_CONTENTS_ABSENT]++, 0;
	if (st.st_size > FMT_CHUNK_RAW_MAX - 16)
		return ret->missing[REC_CONTENTS_LARGE]++, 0;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return ret->missing[REC_CONTENTS_ABSENT]++, 0;
	r = fmt_writer_blobs(c->writer, &c->out, err);
	if (r == 0)
		r = fmt_blobs_put(c->out, name, data, (size_t)st.st_size, err);
	munmap(data, (size_t)st.st_size);
	ret->missing[REC_CONTENTS_DAMAGED] += r == -EBADMSG;
	ret->kept_bytes += r == 0 ? (uint64_t)st.st_size : 0;
	return r == 0 ? 1 : r == -EBADMSG ? 0 : r;
}

/* Stores all contents that are needed and readable. */
static int store_needed(struct contents *c, struct rec_contents_result *ret, struct fmt_error *err)
{
	size_t n = 0;

	if (c->n > 0)
		qsort(c->names, c->n, sizeof(*c->names), by_name);
	for (size_t i = 0; i < c->n; i++) {
		int r;

		if (i > 0 && by_name(c->names[i], c->names[i - 1]) == 0)
			continue;
		r = store_content(c, c->names[i], ret, err);
		if (r < 0)
			return r;
		if (r == 1)
			memmove(c->names[n++], c->names[i], sizeof(*c->names));
	}
	ret->kept = c->n = n;
	return 0;
}

static bool is_kept(const struct contents *c, const uint64_t name[2])
{
	return c->n > 0 && bsearch(name, c->names, c->n, sizeof(*c->names), by_name);
}

static int put_list(struct contents *c, uint32_t number, struct fmt_digest *list, size_t n,
		    struct fmt_error *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (is_kept(c, list[i].digest))
			list[kept++] = list[i];
	return kept == 0 ? 0 : fmt_blobs_contents(c->out, number, list, kept, err);
}

/* ---- facts */

static int put_missing(struct fmt_names *names, const struct rec_contents_result *result)
{
	static const char *const keys[REC_CONTENTS_REASONS] = {
		[REC_CONTENTS_ABSENT] = "capture.contents_absent",
		[REC_CONTENTS_DAMAGED] = "capture.contents_damaged",
		[REC_CONTENTS_LARGE] = "capture.contents_too_large",
		[REC_CONTENTS_UNWRITTEN] = "capture.contents_unwritten",
	};
	int r = 0;

	for (int i = 0; i < REC_CONTENTS_REASONS && r == 0; i++) {
		scoped(text_done) struct text json = {0};

		text_u64(&json, result->missing[i]);
		if (result->missing[i] > 0)
			r = fmt_names_fact_text(names, FMT_WHOLE_TRACE, keys[i], &json);
	}
	return r;
}

static int by_place(const void *a, const void *b)
{
	const struct rec_image *x = a, *y = b;

	if (by_name(x->name, y->name) != 0)
		return by_name(x->name, y->name);
	if (x->build_id != y->build_id)
		return x->build_id < y->build_id ? -1 : 1;
	return x->offset_bytes < y->offset_bytes ? -1 : x->offset_bytes > y->offset_bytes;
}

static void put_image(struct fmt_json *j, const struct contents *c, struct fmt_names *names,
		      const struct rec_image *image)
{
	char name[FMT_CONTENT_NAME_BYTES];

	fmt_content_name(image->name, name);
	fmt_json_open(j, NULL, '{');
	fmt_json_str(j, "kind", fmt_image_kind_name(image->kind));
	fmt_json_u64(j, "bytes", image->bytes);
	if (is_kept(c, image->name))
		fmt_json_str(j, "content", name);
	if (image->file) {
		fmt_json_str(j, "file", fmt_string(names, image->file, NULL));
		fmt_json_str(j, "build_id", fmt_string(names, image->build_id, NULL));
		fmt_json_u64(j, "offset", image->offset_bytes);
	}
	fmt_json_close(j, '}');
}

/* Each image once, whichever processes loaded it. */
static int put_images(const struct contents *c, struct fmt_names *names,
		      struct rec_process *const *processes, size_t n)
{
	scoped(free_ptr) struct rec_image *images = NULL;
	scoped(text_done) struct text json = {0};
	struct fmt_json j = {.text = &json};
	size_t n_images = 0, cap = 0;

	for (size_t i = 0; i < n; i++) {
		const struct rec_process *p = processes[i];

		if (array_reserve(&images, n_images + p->n_images, &cap) < 0)
			return -ENOMEM;
		if (p->n_images > 0)
			memcpy(images + n_images, p->images, p->n_images * sizeof(*images));
		n_images += p->n_images;
	}
	if (n_images == 0)
		return 0;
	qsort(images, n_images, sizeof(*images), by_place);
	fmt_json_open(&j, NULL, '[');
	for (size_t i = 0; i < n_images; i++)
		if (i == 0 || by_place(&images[i], &images[i - 1]) != 0)
			put_image(&j, c, names, &images[i]);
	fmt_json_close(&j, ']');
	json.len -= !json.error; /* the line's end */
	return fmt_names_fact_text(names, FMT_WHOLE_TRACE, FMT_FACT_IMAGES, &json);
}

static void contents_done(struct contents *c)
{
	free(c->names);
}

int rec_contents_write(const char *folder, struct fmt_writer *writer,
		       struct rec_process *const *processes, size_t n_processes,
		       struct fmt_rank_data_reader *read, const struct rec_ranks *ranks,
		       struct fmt_names *names, struct rec_contents_result *ret,
		       struct fmt_error *err)
{
	scoped(contents_done) struct contents c = {.folder = folder, .writer = writer};
	int r = 0;

	for (size_t i = 0; i < n_processes && r == 0; i++)
		r = want_images(&c, processes[i]);
	for (uint32_t i = 0; i < ranks->n && r == 0; i++)
		r = add_wanted(&c, read[i].contents, read[i].n_contents);
	if (r == 0)
		r = store_needed(&c, ret, err);
	for (uint32_t i = 0; i < ranks->n && r == 0; i++)
		r = put_list(&c, ranks->ranks[i].number, read[i].contents, read[i].n_contents, err);
	if (r == 0)
		r = put_images(&c, names, processes, n_processes);
	return r < 0 ? r : put_missing(names, ret);
}
