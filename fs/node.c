/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/node.h"

#include "base/scope.h"
#include "fs/dir.h"
#include "fs/render.h"
#include "fs/runs.h"

/* Five eighths of the memory are for the cache and for rendering in flight, one for reusable
 * buffers, one for base slices; the rest is overhead of the allocator. */
#define CACHE_BYTES (64u << 20)

struct fs {
	struct fs_cache *cache;
	struct fs_tree *recorded;
	struct fs_runs *runs; /* computed runs; NULL if there is no emulation */
};

define_cleanup(fs_freep, struct fs *, fs_close);

/* Maps damage and I/O errors to EIO. No other function does. */
static int reply_errno(int r)
{
	if (r >= 0 || r == -ENOMEM || r == -ENOENT || r == -ENOTDIR || r == -EINVAL ||
	    r == -EISDIR || r == -ENOSPC)
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
	r = fs_cache_new(bytes / 8 * 5, &fs->cache);
	if (r < 0) {
		fmt_trace_close(trace);
		return r;
	}
	fmt_trace_set_memory(trace, bytes / 8);
	r = fs_tree_new(trace, fs->cache, FS_RECORDED, &fs->recorded, err);
	if (r == 0 && options->emulate)
		r = fs_runs_new(fs->recorded, options, bytes / 64, &fs->runs);
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
	fs_runs_free(fs->runs);
	fs_tree_free(fs->recorded);
	free(fs);
}

/* ---- runs */

bool fs_is_pending(struct fs *fs, fs_ino ino, bool inside)
{
	struct fs_node p = fs_node_of(ino);

	return p.run != FS_RECORDED && (inside || p.dir != FS_ROOT || p.file != 0) && fs->runs &&
	       fs_run_is_pending(fs->runs, p.run);
}

void fs_emulate_now(struct fs *fs, fs_ino ino)
{
	if (fs_is_pending(fs, ino, true))
		fs_run_make(fs->runs, fs_node_of(ino).run);
}

/* ---- nodes */

#define FAILED_FILE 7 /* the number of `errors` in the root: the only file of a failed run */

/* Decodes `ino`: sets *p and *tree (NULL if the run does not exist yet). */
static int find_node(struct fs *fs, fs_ino ino, struct fs_tree **tree, struct fs_node *p)
{
	*p = fs_node_of(ino);
	if (fs_ino_of(*p) != ino)
		return -ENOENT;
	*tree = fs->recorded;
	if (p->run != FS_RECORDED || p->dir == FS_WHAT_IF) {
		if (!fs->runs || p->run >= fs_runs_end(fs->runs) ||
		    (p->run != FS_RECORDED && p->dir == FS_WHAT_IF))
			return -ENOENT;
		if (p->run != FS_RECORDED)
			*tree = fs_run_tree(fs->runs, p->run);
	}
	if (*tree)
		return fs_node_exists(*tree, p) ? 0 : -ENOENT;
	if (p->dir != FS_ROOT || p->gpu || p->iteration)
		return -ENOENT;
	if (p->file == 0 || (p->file == FAILED_FILE && *fs_run_error(fs->runs, p->run)))
		return 0;
	return -ENOENT;
}

/* Returns the text of a file without a renderer, or NULL: the reason why a run failed; invalid
 * specs. */
static const char *plain_text(const struct fs *fs, const struct fs_tree *t, const struct fs_node *p,
			      size_t *len)
{
	const char *why;

	if (p->dir == FS_WHAT_IF)
		return fs_runs_rejected(fs->runs, len);
	if (t)
		return NULL;
	why = fs_run_error(fs->runs, p->run);
	*len = strlen(why);
	return why;
}

static const struct fs_file *file_of(const struct fs_node *p)
{
	static const struct fs_file stored = {"", FS_CHEAP, 0, fs_render_stored, fs_stored_size};

	if (p->file == FS_STORED)
		return &stored;
	return &fs_dir_kind(p->dir)->files[p->file - 1];
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
	int r = find_node(fs, ino, &t, &p);

	if (r < 0)
		return reply_errno(r);
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
	size_t len;
	int r;

	if (plain_text(fs, t, p, &len)) {
		*ret = len;
		return 0;
	}
	r = fs_content_size(t, p, file_of(p), ret);
	if (reply_errno(r) == -EIO) {
		*ret = DAMAGED_BYTES;
		return 0;
	}
	return r;
}

static int node_attr(struct fs *fs, struct fs_tree *t, const struct fs_node *p, struct fs_attr *ret)
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
		/* The root of an emulated run is shown as if it existed: looking at its name
		 * must not make it. */
		a.n_links = fs_n_links(t ? t : fs->recorded, p);
		a.n_links += fs->runs && p->dir == FS_ROOT && p->run == FS_RECORDED ? 2 : 0;
	}
	if (p->dir == FS_WHAT_IF) { /* a changed time makes the kernel list it again */
		a.n_links += p->file == 0 ? fs_runs_end(fs->runs) - FS_CHANGED : 0;
		a.time_ns += fs_runs_end(fs->runs);
	}
	if (r == 0)
		*ret = a;
	return reply_errno(r);
}

int fs_stat(struct fs *fs, fs_ino ino, struct fs_attr *ret)
{
	struct fs_tree *t;
	struct fs_node p;
	int r = find_node(fs, ino, &t, &p);

	return r < 0 ? reply_errno(r) : node_attr(fs, t, &p, ret);
}

bool fs_is_cheap(struct fs *fs, fs_ino ino)
{
	struct fs_tree *t;
	struct fs_node p;
	size_t len;

	if (find_node(fs, ino, &t, &p) < 0)
		return false;
	return !S_ISREG(fs_type_of(&p)) || plain_text(fs, t, &p, &len) ||
	       fs_content_is_cheap(t, &p, file_of(&p));
}

/* Number of records that are rendered within a few milliseconds. */
#define LONG_RECORDS 16384

bool fs_is_expensive(struct fs *fs, fs_ino ino)
{
	struct fs_tree *t;
	struct fmt_walk w;
	struct fs_node p;
	uint64_t n = 0;
	size_t len;

	if (find_node(fs, ino, &t, &p) < 0 || !t || plain_text(fs, t, &p, &len))
		return false;
	w = fs_tree_walk(t, &p);
	while (n < LONG_RECORDS && fmt_walk_next(&w))
		n += fs_tree_n_records(t, w.rank, w.slice) + 1;
	return n >= LONG_RECORDS;
}

/* ---- directories */

static uint64_t n_changed(const struct fs *fs)
{
	return fs_runs_end(fs->runs) - FS_CHANGED;
}

/* Entries in addition to those of the trace: what-if/SPEC in what-if/; emulated/ and what-if/ in
 * the root. */
static bool run_entry_at(struct fs *fs, const struct fs_node *dir, uint64_t i, struct fs_node *ret,
			 char name[FS_NAME_BYTES])
{
	*ret = (struct fs_node){.dir = FS_ROOT, .run = FS_EMULATED};
	if (dir->dir == FS_WHAT_IF) {
		ret->run = FS_CHANGED + (uint32_t)i;
		if (i < n_changed(fs))
			snprintf(name, FS_NAME_BYTES, "%s", fs_run_spec(fs->runs, ret->run));
		return i < n_changed(fs);
	}
	if (i == 1)
		*ret = (struct fs_node){.dir = FS_WHAT_IF};
	snprintf(name, FS_NAME_BYTES, "%s", i == 0 ? "emulated" : "what-if");
	return dir->dir == FS_ROOT && dir->run == FS_RECORDED && fs->runs && i < 2;
}

/* Offsets of directory entries: files, fixed subdirectories, entries that depend on the trace (with
 * gaps), and other runs last. */
static bool entry_at(struct fs *fs, struct fs_tree *t, const struct fs_node *dir, uint64_t i,
		     struct fs_node *ret, char name[FS_NAME_BYTES])
{
	const struct fs_dir_kind *kind = fs_dir_kind(dir->dir);

	*ret = *dir;
	if (!t) {
		ret->file = FAILED_FILE;
		snprintf(name, FS_NAME_BYTES, "%s", kind->files[FAILED_FILE - 1].name);
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
	return run_entry_at(fs, dir, i - (kind->more ? kind->more->n(t, dir) : 0), ret, name);
}

static uint64_t n_entries(const struct fs *fs, const struct fs_tree *t, const struct fs_node *dir)
{
	const struct fs_dir_kind *kind = fs_dir_kind(dir->dir);
	uint64_t runs = dir->dir == FS_ROOT ? 2 : dir->dir == FS_WHAT_IF ? n_changed(fs) : 0;

	if (!t)
		return 1;
	return kind->n_files + kind->n_subs + (kind->more ? kind->more->n(t, dir) : 0) + runs;
}

/* Returns the offset of the only entry that can have this name. */
static uint64_t guess_entry(const struct fs *fs, const struct fs_tree *t, const struct fs_node *dir,
			    const char *name)
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
	if (dir->dir == FS_ROOT && strcmp(name, "emulated") == 0)
		return n_entries(fs, t, dir) - 2;
	if (dir->dir == FS_ROOT && strcmp(name, "what-if") == 0)
		return n_entries(fs, t, dir) - 1;
	i = kind->more ? kind->more->guess(t, dir, name) : 0;
	return i > UINT32_MAX ? UINT64_MAX : kind->n_files + kind->n_subs + i;
}

static int find_dir(struct fs *fs, fs_ino ino, struct fs_tree **tree, struct fs_node *p)
{
	int r = find_node(fs, ino, tree, p);

	return r == 0 && p->file != 0 ? -ENOTDIR : r;
}

/* Hidden names are looked up by programs, not by users. */
static int find_changed(struct fs *fs, const char *name, struct fs_attr *ret)
{
	int run = name[0] == '.' ? -ENOENT : fs_runs_find(fs->runs, name);
	struct fs_node p = {.dir = FS_ROOT, .run = (uint32_t)run};

	return run < 0 ? reply_errno(run) : fs_stat(fs, fs_ino_of(p), ret);
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
		return reply_errno(r);
	if (strcmp(name, "..") == 0) {
		p = fs_parent_of(t ? t : fs->recorded, dir);
		return fs_stat(fs, fs_ino_of(p), ret);
	}
	if (t && dir.dir == FS_ROOT && strcmp(name, FMT_MOUNT_LINK) == 0) {
		dir.file = FS_LINK;
		return fs_stat(fs, fs_ino_of(dir), ret);
	}
	if (t && dir.dir == FS_WHAT_IF && strcmp(name, "errors") != 0)
		return find_changed(fs, name, ret);
	i = guess_entry(fs, t, &dir, name);
	if (i >= n_entries(fs, t, &dir) || !entry_at(fs, t, &dir, i, &p, found) ||
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
		return reply_errno(r);
	if (offset < 2) {
		p = offset == 0 ? dir : fs_parent_of(t ? t : fs->recorded, dir);
		snprintf(ret->name, sizeof(ret->name), "%s", offset == 0 ? "." : "..");
	} else {
		uint64_t i = offset - 2, end = n_entries(fs, t, &dir);

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

static int read_plain(struct fs *fs, const char *text, size_t len, uint64_t offset, size_t size,
		      struct fs_view *view)
{
	if (offset >= len)
		return 0;
	view->parts = malloc(sizeof(*view->parts));
	view->held = calloc(1, sizeof(*view->held));
	if (!view->parts || !view->held)
		return -ENOMEM;
	view->cache = fs->cache;
	view->held[0].put = fs_cache_put;
	view->parts[0] = (struct iovec){(char *)(uintptr_t)text + offset,
					size < len - offset ? size : len - offset};
	view->n = 1;
	return 0;
}

int fs_read(struct fs *fs, fs_ino ino, uint64_t offset, size_t size, struct fs_view *view)
{
	struct fs_tree *t;
	struct fs_node p;
	int r = find_node(fs, ino, &t, &p);
	const char *text;
	size_t len;

	if (r < 0)
		return reply_errno(r);
	if (!S_ISREG(fs_type_of(&p)))
		return S_ISDIR(fs_type_of(&p)) ? -EISDIR : -EINVAL;
	text = plain_text(fs, t, &p, &len);
	if (text)
		return read_plain(fs, text, len, offset, size, view);
	return reply_errno(fs_content_read(t, &p, file_of(&p), offset, size, view));
}

uint64_t fs_total_bytes(struct fs *fs)
{
	return fmt_trace_bytes(fs->recorded->trace);
}
