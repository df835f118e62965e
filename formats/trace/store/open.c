/* SPDX-License-Identifier: Apache-2.0 */

/* Finds the members of a trace: the files of a directory, or the pieces of a packed file. */
#include "formats/trace/store/trace_impl.h"

#include "base/array.h"
#include "formats/trace/store/index.h"
#include "formats/trace/store/scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

/* Returns the member for files of that kind; NULL for ranks, of which there are many. */
static struct fmt_member *single_member(struct fmt_trace *t, enum fmt_file_kind kind)
{
	switch (kind) {
	case FMT_FILE_TRACE:
		return &t->shared;
	case FMT_FILE_BLOBS:
		return &t->blobs;
	default:
		return NULL;
	}
}

/* Records that a file is left out, with the reason. `code` is -EBADMSG for damage. */
__attribute__((format(printf, 5, 6))) static int leave_out(struct fmt_trace *t, int code,
							   const struct fmt_source *source,
							   uint64_t offset, const char *format, ...)
{
	const struct fmt_member as_if = {.source = *source};
	char path[512], what[128];
	struct fmt_error e;
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	fmt_member_path(t, &as_if, path, sizeof(path));
	fmt_fail(&e, code, path, offset, "%s", what);
	fmt_trace_add_loss(t, &e);
	return 0;
}

/* Adds a file whose name is that of a trace's file. */
static int add_member(struct fmt_trace *t, const struct fmt_source *source, size_t *cap,
		      struct fmt_error *err)
{
	enum fmt_file_kind kind = FMT_FILE_RANK;
	struct fmt_source copy = *source;
	struct fmt_member *single;
	uint32_t number;

	t->bytes += source->bytes;
	if (!fmt_member_kind(source->name, &kind, &number))
		return leave_out(t, -EBADMSG, source, source->data_at,
				 "not a name of a trace's file");
	single = single_member(t, kind);
	if (single && single->source.name)
		return leave_out(t, -EBADMSG, source, source->data_at, "another %s", source->name);
	if (!single && array_reserve(&t->ranks, (size_t)t->n_ranks + 1, cap) < 0)
		return fmt_fail(err, -ENOMEM, t->path, FMT_NO_OFFSET, "out of memory");
	copy.name = strdup(source->name);
	if (!copy.name)
		return fmt_fail(err, -ENOMEM, t->path, FMT_NO_OFFSET, "out of memory");
	if (single) {
		single->source = copy;
		return 0;
	}
	memset(&t->ranks[t->n_ranks], 0, sizeof(*t->ranks));
	t->ranks[t->n_ranks++].member.source = copy;
	return 0;
}

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static int find_in_directory(struct fmt_trace *t, struct fmt_error *err)
{
	scoped(close_fd) int fd = dup(t->dir_fd);
	scoped(close_dir) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	size_t cap = 0;

	if (dir)
		take_fd(fd);
	else
		return fmt_fail(err, -errno, t->path, FMT_NO_OFFSET, "cannot read: %s",
				strerror(errno));
	for (const struct dirent *e; (e = readdir(dir));) {
		char name[256];
		struct fmt_source s = {
			.fd = -1, .dir_fd = t->dir_fd, .name = name, .kept = &t->kept};
		enum fmt_file_kind kind;
		uint32_t number;
		struct stat st;
		int r;

		if (!fmt_member_kind(e->d_name, &kind, &number))
			continue;
		snprintf(name, sizeof(name), "%s", e->d_name);
		if (fstatat(t->dir_fd, name, &st, 0) < 0) {
			leave_out(t, -errno, &s, FMT_NO_OFFSET, "cannot open: %s", strerror(errno));
			continue;
		}
		if (!S_ISREG(st.st_mode)) {
			leave_out(t, -EBADMSG, &s, FMT_NO_OFFSET, "not a regular file");
			continue;
		}
		s.bytes = s.data_bytes = (uint64_t)st.st_size;
		r = add_member(t, &s, &cap, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- packed ---- */

static int add_spans(struct fmt_trace *t, const struct fmt_member_span *spans, size_t n,
		     uint64_t tails_at, struct fmt_error *err)
{
	uint64_t data_at = FMT_FILE_HEADER_BYTES, tail_at = tails_at;
	size_t cap = 0;

	for (size_t i = 0; i < n; i++) {
		const struct fmt_member_span *p = &spans[i];
		char name[FMT_MEMBER_NAME_BYTES];
		struct fmt_source s = {
			.fd = t->packed_fd,
			.dir_fd = -1,
			.name = name,
			.bytes = p->data_bytes + p->tail_bytes,
			.data_at = data_at,
			.tail_at = tail_at,
			.data_bytes = p->data_bytes,
		};
		int r;

		snprintf(name, sizeof(name), "%s", p->name);
		r = add_member(t, &s, &cap, err);
		if (r < 0)
			return r;
		data_at += p->data_bytes;
		tail_at += p->tail_bytes;
	}
	return 0;
}

/* Finds the members of a packed file by its footer: 1, or 0 if footer or list are damaged. */
static int find_by_footer(struct fmt_trace *t, const struct fmt_source *whole,
			  struct fmt_error *err)
{
	uint8_t end[FMT_FOOTER_BYTES];
	scoped(free_ptr) uint8_t *index = NULL;
	scoped(free_ptr) struct fmt_member_span *spans = NULL;
	struct fmt_footer f;
	const char *why = "";
	uint64_t at = whole->bytes - sizeof(end), data = FMT_FILE_HEADER_BYTES, tails = 0;
	size_t n = 0;
	long got = whole->bytes < sizeof(end)
			   ? 0
			   : fmt_source_read(whole, t->packed_fd, end, sizeof(end), at);

	if (got < (long)sizeof(end))
		return got < 0 ? (int)got : 0;
	if (fmt_footer_get(end, sizeof(end), &f, &why) < 0 || f.index_bytes > at)
		return 0;
	at -= f.index_bytes;
	index = malloc(f.index_bytes + 1);
	if (!index)
		return -ENOMEM;
	got = fmt_source_read(whole, t->packed_fd, index, f.index_bytes, at);
	if (got < 0 || fmt_members_get(index, (size_t)got, whole->bytes, &spans, &n, &why) < 0)
		return got < 0 ? (int)got : 0;
	for (size_t i = 0; i < n; i++) {
		data += spans[i].data_bytes;
		tails += spans[i].tail_bytes;
		if (data > at || tails > at)
			return 0;
	}
	if (data + tails != at)
		return 0;
	memcpy(t->packed_root, f.root, sizeof(f.root));
	t->has_packed_root = 1;
	return add_spans(t, spans, n, data, err) < 0 ? -ENOMEM : 1;
}

struct found {
	struct fmt_source source;
	struct fmt_file_header header;
};

/* Adds a frame of a packed file to its member. */
static int take_frame(struct found **found, size_t *n, size_t *cap, const struct fmt_frame *f,
		      size_t *ending)
{
	struct found *last = *n > 0 ? &(*found)[*n - 1] : NULL;

	if (f->tag == 'F' && f->offset > 0) {
		if (array_reserve(found, *n + 1, cap) < 0)
			return -ENOMEM;
		memset(&(*found)[*n], 0, sizeof(**found));
		(*found)[*n].header = f->file;
		(*found)[*n].source.data_at = f->offset;
		(*found)[(*n)++].source.data_bytes = f->bytes;
	} else if (f->tag == 'C' && last) {
		last->source.data_bytes = f->offset + f->bytes - last->source.data_at;
	} else if (f->tag == 'I') {
		for (*ending = 0; *ending < *n; ++*ending) {
			struct found *k = &(*found)[*ending];

			if (k->header.kind != f->file.kind || k->header.number != f->file.number ||
			    k->source.tail_at > 0)
				continue;
			k->source.tail_at = f->offset;
			k->source.bytes = f->bytes;
			break;
		}
	} else if (f->tag == 'E' && *ending < *n) {
		struct found *k = &(*found)[*ending];

		if (k->source.tail_at + k->source.bytes == f->offset)
			k->source.bytes += f->bytes;
		*ending = SIZE_MAX;
	}
	return 0;
}

/* Finds the members of a packed file with a damaged footer, by walking its frames. */
static int find_by_scan(struct fmt_trace *t, const struct fmt_source *whole, struct fmt_error *err)
{
	scoped(fmt_scan_done) struct fmt_scan scan;
	scoped(free_ptr) struct found *found = NULL;
	size_t n = 0, found_cap = 0, cap = 0, ending = SIZE_MAX;
	struct fmt_frame f;
	int r;

	fmt_scan_init(&scan, whole, t->packed_fd);
	while ((r = fmt_scan_next(&scan, &f)) == 1)
		if (take_frame(&found, &n, &found_cap, &f, &ending) < 0)
			return -ENOMEM;
	if (r < 0)
		return fmt_fail(err, r, t->path, scan.at, "%s", strerror(-r));
	for (size_t i = 0; i < n; i++) {
		struct fmt_source s = found[i].source;
		char name[FMT_MEMBER_NAME_BYTES];

		fmt_file_name(&found[i].header, name);
		s.name = name;
		s.fd = t->packed_fd;
		s.dir_fd = -1;
		s.bytes += s.data_bytes;
		r = add_member(t, &s, &cap, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int find_in_file(struct fmt_trace *t, uint64_t bytes, struct fmt_error *err)
{
	struct fmt_source whole = {.fd = t->packed_fd, .bytes = bytes, .data_bytes = bytes};
	uint8_t head[FMT_FILE_HEADER_BYTES] = {0};
	struct fmt_file_header h;
	struct fmt_error damage;
	const char *why = "";
	long n = fmt_source_read(&whole, t->packed_fd, head, sizeof(head), 0);
	int r = n < 0 ? (int)n : fmt_file_header_get(head, (size_t)n, &h, &why);

	if (r == -ENOTSUP || (n < 0))
		return fmt_fail(err, r, t->path, 0, "%s", n < 0 ? strerror(-r) : why);
	if (r == 0 && h.kind != FMT_FILE_PACKED)
		return fmt_fail(err, -EBADMSG, t->path, 0,
				"one file of a trace; name its directory");
	if (r < 0) {
		fmt_fail(&damage, r, t->path, 0, "%s", why);
		fmt_damage_add(&t->damage, &damage);
	}
	r = find_by_footer(t, &whole, err);
	if (r == 0) {
		r = find_by_scan(t, &whole, err);
		fmt_fail(&damage, -EBADMSG, t->path, bytes,
			 "the index of the packed file is damaged");
		fmt_damage_add(&t->damage, &damage);
	}
	if (r < 0)
		return fmt_fail(err, r, t->path, 0, "%s", strerror(-r));
	t->bytes = bytes;
	return 0;
}

/* If `path` is the root of a mount: stores the path from which the trace was mounted in `buf` and
 * the id of the mounted trace in `id`. Returns 1, or 0 if `path` is not the root of a mount. */
static int read_mount(const char *path, char *buf, size_t len, char id[65])
{
	scoped(close_fd) int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	scoped(close_fd) int fd = -1;
	ssize_t n = dir < 0 ? -1 : readlinkat(dir, FMT_MOUNT_LINK, buf, len - 1);

	if (n <= 0 || buf[0] != '/')
		return 0;
	buf[n] = '\0';
	fd = openat(dir, "id", O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : pread(fd, id, 64, 0);
	id[n > 0 ? n : 0] = '\0';
	return 1;
}

int fmt_trace_find(struct fmt_trace *t, const char *path, struct fmt_error *err)
{
	char source[4096];
	struct stat st;
	int fd, r;

	if (read_mount(path, source, sizeof(source), t->mounted_id))
		path = source;
	t->path = strdup(path);
	if (!t->path)
		return fmt_fail(err, -ENOMEM, path, FMT_NO_OFFSET, "out of memory");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0) {
		r = -errno;
		close_fd(&fd);
		return fmt_fail(err, r, path, FMT_NO_OFFSET, "%s", strerror(-r));
	}
	if (S_ISDIR(st.st_mode)) {
		t->dir_fd = fd;
		r = find_in_directory(t, err);
	} else {
		t->packed_fd = fd;
		r = S_ISREG(st.st_mode) ? find_in_file(t, (uint64_t)st.st_size, err) : 0;
	}
	return r;
}
