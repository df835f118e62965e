/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/node.h"

#include "base/scope.h"
#include "fs/dir.h"
#include "fs/render.h"
#include "fs/stored.h"

/* Five eighths of the memory are for the cache and for rendering in flight, one for reusable
 * buffers, one for slices that others are patches of; the rest is overhead of the allocator. */
#define CACHE_BYTES (64u << 20)

enum emulation { NOT_MADE, MADE, FAILED };

struct fs {
	size_t bytes; /* that may be resident */
	struct fs_cache *cache;
	struct fs_spares spares;
	struct fs_tree *recorded;
	struct fs_tree *emulated; /* once MADE */
	_Atomic int emulation;
	pthread_mutex_t emulating;
	fs_emulate *emulate;
	void *context;
	char why[512]; /* FAILED: what emulated/errors says */
};

define_cleanup(fs_freep, struct fs *, fs_close);

/* Maps damage and I/O errors to EIO. No other function does. */
static int reply(int r)
{
	if (r >= 0 || r == -ENOMEM || r == -ENOENT || r == -ENOTDIR || r == -EINVAL || r == -EISDIR)
		return r;
	return -EIO;
}

int fs_open(struct fmt_trace *trace, const struct fs_options *options, struct fs **ret,
	    struct fmt_error *err)
{
	scoped(fs_freep) struct fs *fs = calloc(1, sizeof(*fs));
	size_t bytes = options->cache_bytes ? options->cache_bytes : CACHE_BYTES;
	int r;

	if (!fs) {
		fmt_trace_close(trace);
		return -ENOMEM;
	}
	pthread_mutex_init(&fs->emulating, NULL);
	fs_spares_init(&fs->spares, bytes / 8);
	fs->bytes = bytes;
	fs->emulate = options->emulate;
	fs->context = options->context;
	r = fs_cache_new(bytes / 8 * 5, &fs->cache);
	if (r < 0) {
		fmt_trace_close(trace);
		return r;
	}
	fmt_trace_set_memory(trace, bytes / 8);
	r = fs_tree_new(trace, fs->cache, &fs->spares, 0, &fs->recorded, err);
	if (r < 0)
		return r;
	*ret = take(fs);
	return 0;
}

void fs_close(struct fs *fs)
{
	if (!fs)
		return;
	fs_cache_free(fs->cache);
	fs_spares_done(&fs->spares);
	fs_tree_free(fs->emulated);
	fs_tree_free(fs->recorded);
	pthread_mutex_destroy(&fs->emulating);
	free(fs);
}

/* ---- the emulated run */

bool fs_is_pending(struct fs *fs, fs_ino ino, bool inside)
{
	struct fs_node p = fs_node_of(ino);

	return p.emulated && (inside || p.dir != FS_ROOT || p.file != 0) && fs->emulate &&
	       atomic_load(&fs->emulation) == NOT_MADE;
}

static int make_emulated(struct fs *fs, struct fmt_error *err)
{
	struct fmt_trace *trace;
	int r = fs->emulate(fs->context, fs->recorded->trace, &trace, err);

	if (r < 0)
		return r;
	fmt_trace_set_memory(trace, fs->bytes / 8);
	return fs_tree_new(trace, fs->cache, &fs->spares, 1, &fs->emulated, err);
}

void fs_emulate_now(struct fs *fs)
{
	struct fmt_error err = {.offset = FMT_NO_OFFSET};
	int r;

	pthread_mutex_lock(&fs->emulating);
	if (fs->emulation == NOT_MADE && fs->emulate) {
		r = make_emulated(fs, &err);
		if (r < 0)
			snprintf(fs->why, sizeof(fs->why), "cannot emulate this run: %s\n",
				 err.what[0] ? err.what : strerror(-r));
		fs->emulation = r < 0 ? FAILED : MADE;
	}
	pthread_mutex_unlock(&fs->emulating);
}

/* ---- nodes */

/* The only file of an emulated run that failed. */
static const struct fs_file failed_file = {"errors", FS_QUICK, 0, NULL};
#define FAILED_FILE 7 /* the number of `errors` in the root */

/* Decodes `ino`: sets *p and *tree (NULL if the emulated run does not exist). */
static int find_place(struct fs *fs, fs_ino ino, struct fs_tree **tree, struct fs_node *p)
{
	*p = fs_node_of(ino);
	if (fs_ino_of(*p) != ino)
		return -ENOENT;
	*tree = fs->recorded;
	if (p->emulated) {
		if (!fs->emulate)
			return -ENOENT;
		*tree = fs->emulation == MADE ? fs->emulated : NULL;
	}
	if (*tree)
		return fs_node_exists(*tree, p) ? 0 : -ENOENT;
	if (p->dir != FS_ROOT || p->gpu || p->iteration)
		return -ENOENT;
	if (p->file == 0 || (p->file == FAILED_FILE && fs->emulation == FAILED))
		return 0;
	return -ENOENT;
}

static const struct fs_file *file_of(const struct fs_tree *t, const struct fs_node *p)
{
	static const struct fs_file stored = {"", FS_QUICK, 0, fs_render_stored, fs_stored_size};

	if (t && p->file == FS_STORED)
		return &stored;
	return t ? &fs_dir_kind(p->dir)->files[p->file - 1] : &failed_file;
}

static long link_target(const struct fs_tree *t, const struct fs_node *p, char *buf, size_t size)
{
	struct fs_node gpu = {.dir = FS_ITERATION}, to = {.dir = FS_ITERATIONS};
	char iteration[FS_NAME_BYTES], rank[FS_NAME_BYTES];
	int n;

	if (p->dir == FS_ROOT) {
		n = snprintf(buf, size, "%s", t->path ? t->path : "");
		return n;
	}
	fs_dir_kind(FS_ITERATIONS)->more->at(t, &to, p->iteration, &to, iteration);
	gpu.iteration = p->iteration;
	fs_dir_kind(FS_ITERATION)->more->at(t, &gpu, p->gpu, &gpu, rank);
	n = snprintf(buf, size, "../../../iterations/%s/%s", iteration, rank);
	return n;
}

long fs_link(struct fs *fs, fs_ino ino, char *buf, size_t size)
{
	struct fs_tree *t;
	struct fs_node p;
	int r = find_place(fs, ino, &t, &p);

	if (r < 0)
		return reply(r);
	if (!t || p.file != FS_LINK)
		return -EINVAL;
	return link_target(t, &p, buf, size);
}

/* ---- attributes */

/* The size shown for a damaged file. Not 0, because programs skip reading an empty file and would
 * not get the error. */
#define DAMAGED_BYTES 4096

static int file_size(struct fs *fs, struct fs_tree *t, const struct fs_node *p, uint64_t *ret)
{
	int r;

	if (!t) {
		*ret = strlen(fs->why);
		return 0;
	}
	r = fs_content_size(t, p, file_of(t, p), ret);
	if (reply(r) == -EIO) {
		*ret = DAMAGED_BYTES;
		return 0;
	}
	return r;
}

static int place_attr(struct fs *fs, struct fs_tree *t, const struct fs_node *p,
		      struct fs_attr *ret)
{
	struct fs_attr a = {
		.ino = fs_ino_of(*p),
		.mode = fs_type_of(p),
		.n_links = 1,
		.time_ns = fs->recorded->start_ns,
	};
	char target[64];
	int r = 0;

	if (S_ISREG(a.mode)) {
		a.mode |= 0444;
		r = file_size(fs, t, p, &a.size_bytes);
	} else if (S_ISLNK(a.mode)) {
		a.mode |= 0777;
		a.size_bytes = (uint64_t)link_target(t, p, target, sizeof(target));
	} else {
		a.mode |= 0555;
		a.size_bytes = 4096;
		/* The root of the emulated run is shown as if it existed: looking at its name
		 * must not make it. */
		a.n_links = fs_n_links(t ? t : fs->recorded, p);
		a.n_links += p->dir == FS_ROOT && !p->emulated && fs->emulate;
	}
	if (r == 0)
		*ret = a;
	return reply(r);
}

int fs_stat(struct fs *fs, fs_ino ino, struct fs_attr *ret)
{
	struct fs_tree *t;
	struct fs_node p;
	int r = find_place(fs, ino, &t, &p);

	return r < 0 ? reply(r) : place_attr(fs, t, &p, ret);
}

bool fs_is_quick(struct fs *fs, fs_ino ino)
{
	struct fs_tree *t;
	struct fs_node p;

	if (find_place(fs, ino, &t, &p) < 0)
		return false;
	return !t || !S_ISREG(fs_type_of(&p)) || fs_content_is_quick(t, &p, file_of(t, &p));
}

/* So many records are rendered in a few milliseconds. */
#define LONG_RECORDS 16384

bool fs_is_long(struct fs *fs, fs_ino ino)
{
	struct fs_cursor cursor = {0};
	uint32_t rank, slice;
	struct fs_tree *t;
	struct fs_node p;
	uint64_t n = 0;

	if (find_place(fs, ino, &t, &p) < 0 || !t)
		return false;
	while (n < LONG_RECORDS && fs_tree_next(t, fs_scope_of(&p), &cursor, &rank, &slice))
		n += fs_tree_n_records(t, rank, slice) + 1;
	return n >= LONG_RECORDS;
}

/* ---- directories */

/* Offsets of directory entries: files, fixed subdirectories, entries that depend on the trace (with
 * gaps), and emulated/ last. */
static bool entry_at(struct fs *fs, struct fs_tree *t, const struct fs_node *dir, uint64_t i,
		     struct fs_node *ret, char name[FS_NAME_BYTES])
{
	const struct fs_dir_kind *kind = fs_dir_kind(dir->dir);

	*ret = *dir;
	if (!t) {
		ret->file = FAILED_FILE;
		snprintf(name, FS_NAME_BYTES, "%s", failed_file.name);
		return i == 0;
	}
	if (i < kind->n_files) {
		ret->file = (uint32_t)i + 1;
		snprintf(name, FS_NAME_BYTES, "%s", kind->files[i].name);
		return true;
	}
	i -= kind->n_files;
	if (i < kind->n_subs) {
		ret->dir = kind->subs[i].dir;
		snprintf(name, FS_NAME_BYTES, "%s", kind->subs[i].name);
		return true;
	}
	i -= kind->n_subs;
	if (kind->more && i < kind->more->n(t, dir))
		return kind->more->at(t, dir, i, ret, name);
	ret->emulated = 1;
	snprintf(name, FS_NAME_BYTES, "emulated");
	return dir->dir == FS_ROOT && !dir->emulated && fs->emulate;
}

static uint64_t n_entries(const struct fs_tree *t, const struct fs_node *dir)
{
	const struct fs_dir_kind *kind = fs_dir_kind(dir->dir);

	if (!t)
		return 1;
	return kind->n_files + kind->n_subs + (kind->more ? kind->more->n(t, dir) : 0) +
	       (dir->dir == FS_ROOT);
}

/* The offset of the only entry that can have this name. */
static uint64_t guess_entry(const struct fs_tree *t, const struct fs_node *dir, const char *name)
{
	const struct fs_dir_kind *kind = fs_dir_kind(dir->dir);
	uint64_t i;

	if (!t)
		return 0;
	for (i = 0; i < kind->n_files; i++)
		if (strcmp(kind->files[i].name, name) == 0)
			return i;
	for (i = 0; i < kind->n_subs; i++)
		if (strcmp(kind->subs[i].name, name) == 0)
			return kind->n_files + i;
	if (strcmp(name, "emulated") == 0)
		return n_entries(t, dir) - 1;
	i = kind->more ? kind->more->guess(t, dir, name) : 0;
	return i > UINT32_MAX ? UINT64_MAX : kind->n_files + kind->n_subs + i;
}

static int find_dir(struct fs *fs, fs_ino ino, struct fs_tree **tree, struct fs_node *p)
{
	int r = find_place(fs, ino, tree, p);

	return r == 0 && p->file != 0 ? -ENOTDIR : r;
}

int fs_lookup(struct fs *fs, fs_ino parent, const char *name, struct fs_attr *ret)
{
	char found[FS_NAME_BYTES];
	struct fs_node dir, p;
	struct fs_tree *t;
	uint64_t i;
	int r;

	if (strcmp(name, ".") == 0)
		return fs_stat(fs, parent, ret);
	r = find_dir(fs, parent, &t, &dir);
	if (r < 0)
		return reply(r);
	if (strcmp(name, "..") == 0) {
		p = fs_parent_of(t ? t : fs->recorded, dir);
		return fs_stat(fs, fs_ino_of(p), ret);
	}
	if (t && dir.dir == FS_ROOT && strcmp(name, FMT_MOUNT_LINK) == 0) {
		dir.file = FS_LINK;
		return fs_stat(fs, fs_ino_of(dir), ret);
	}
	i = guess_entry(t, &dir, name);
	if (i >= n_entries(t, &dir) || !entry_at(fs, t, &dir, i, &p, found) ||
	    strcmp(name, found) != 0)
		return -ENOENT;
	return fs_stat(fs, fs_ino_of(p), ret);
}

int fs_list(struct fs *fs, fs_ino ino, uint64_t offset, struct fs_entry *ret)
{
	struct fs_node dir, p;
	struct fs_tree *t;
	int r = find_dir(fs, ino, &t, &dir);

	if (r < 0)
		return reply(r);
	if (offset < 2) {
		p = offset == 0 ? dir : fs_parent_of(t ? t : fs->recorded, dir);
		snprintf(ret->name, sizeof(ret->name), "%s", offset == 0 ? "." : "..");
	} else {
		uint64_t i = offset - 2, end = n_entries(t, &dir);

		while (i < end && !entry_at(fs, t, &dir, i, &p, ret->name))
			i++;
		if (i >= end)
			return 0;
		offset = i + 2;
	}
	ret->ino = fs_ino_of(p);
	ret->type = fs_type_of(&p);
	ret->next = offset + 1;
	return 1;
}

/* ---- contents */

static int read_why(struct fs *fs, uint64_t offset, size_t size, struct fs_view *view)
{
	size_t len = strlen(fs->why);

	if (offset >= len)
		return 0;
	view->parts = malloc(sizeof(*view->parts));
	view->held = calloc(1, sizeof(*view->held));
	if (!view->parts || !view->held)
		return -ENOMEM;
	view->cache = fs->cache;
	view->held[0].put = fs_cache_put;
	view->parts[0] =
		(struct iovec){fs->why + offset, size < len - offset ? size : len - offset};
	view->n = 1;
	return 0;
}

int fs_read(struct fs *fs, fs_ino ino, uint64_t offset, size_t size, struct fs_view *view)
{
	struct fs_tree *t;
	struct fs_node p;
	int r = find_place(fs, ino, &t, &p);

	if (r < 0)
		return reply(r);
	if (!S_ISREG(fs_type_of(&p)))
		return S_ISDIR(fs_type_of(&p)) ? -EISDIR : -EINVAL;
	if (!t)
		return read_why(fs, offset, size, view);
	return reply(fs_content_read(t, &p, file_of(t, &p), offset, size, view));
}

int fs_window(struct fs *fs, fs_ino ino, uint64_t offset, struct fs_window *ret)
{
	struct fs_tree *t;
	struct fs_node p;
	int r = find_place(fs, ino, &t, &p);

	if (r < 0 || !t || !S_ISREG(fs_type_of(&p)))
		return -ENOENT;
	return reply(fs_content_window(t, &p, file_of(t, &p), offset, ret));
}

uint64_t fs_total_bytes(struct fs *fs)
{
	return fmt_trace_bytes(fs->recorded->trace);
}
