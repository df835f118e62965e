/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/fuse.h"

#include "base/scope.h"

#include <errno.h>
#include <string.h>

/* Valid while the trace is mounted, since a trace cannot change. Attributes of files that change
 * are queried at each use: the kernel drops a listing if the time of the directory has changed. */
#define FOREVER 1e9
#define BACKGROUND_REQUESTS 64

static struct fs_server *server_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static struct fs *fs_of(fuse_req_t req)
{
	return server_of(req)->fs;
}

static void reply_error(fuse_req_t req, int r)
{
	fuse_reply_err(req, -r);
}

/* ---- dispatch: the receiving thread answers, except long calls and those that wait for a run */

/* The kind of a call. */
enum asks {
	ABOUT, /* the file or directory itself */
	INSIDE /* its contents */
};

static void emulate_run(const struct fs_call *c)
{
	struct fs_call own = *c;

	fs_emulate_now(fs_of(c->request), c->ino);
	own.is_pooled = false; /* this thread must not store pages: it is the only one */
	own.then(&own);
}

static void answer_request(fuse_req_t req, const struct fs_call *c, enum asks asks)
{
	struct fs_server *s = server_of(req);
	struct fs_call waits = *c;
	int r;

	if (fs_is_pending(s->fs, c->ino, asks == INSIDE)) {
		waits.answer = emulate_run;
		waits.then = c->answer;
		r = fs_pool_submit(&s->emulator, &waits);
		if (r < 0)
			reply_error(req, r);
	} else if (!fs_is_expensive(s->fs, c->ino) || fs_pool_submit(&s->pool, c) < 0) {
		c->answer(c);
	}
}

/* ---- attributes */

static struct stat stat_of(const struct fs_server *s, const struct fs_attr *a)
{
	struct timespec time = {a->time_ns / 1000000000, a->time_ns % 1000000000};

	return (struct stat){
		.st_ino = a->ino,
		.st_mode = a->mode,
		.st_nlink = a->n_links,
		.st_uid = s->owner,
		.st_gid = s->group,
		.st_size = (off_t)a->size_bytes,
		.st_blksize = 4096,
		.st_blocks = (blkcnt_t)((a->size_bytes + 511) / 512),
		.st_atim = time,
		.st_mtim = time,
		.st_ctim = time,
	};
}

static double timeout_of(fs_ino ino)
{
	return fs_ino_changes(ino) ? 0 : FOREVER;
}

static struct fuse_entry_param entry_of(const struct fs_server *s, const struct fs_attr *a)
{
	double timeout = timeout_of(a->ino);

	return (struct fuse_entry_param){
		.ino = a->ino,
		.generation = 1,
		.attr = stat_of(s, a),
		.attr_timeout = timeout,
		.entry_timeout = timeout,
	};
}

static void answer_lookup(const struct fs_call *c)
{
	fuse_req_t req = c->request;
	struct fuse_entry_param entry = {.entry_timeout = timeout_of(c->ino)};
	struct fs_attr a;
	int r = fs_lookup(fs_of(req), c->ino, c->name, &a);

	if (r == 0)
		entry = entry_of(server_of(req), &a);
	if (r == 0 || r == -ENOENT)
		fuse_reply_entry(req, &entry);
	else
		reply_error(req, r);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs_call c = {.answer = answer_lookup, .request = req, .ino = parent};

	fs_readdirplus_note_lookup(&server_of(req)->eager);
	if (strlen(name) > FS_NAME_MAX) {
		reply_error(req, -ENAMETOOLONG);
		return;
	}
	strcpy(c.name, name);
	answer_request(req, &c, strcmp(name, ".") != 0 && strcmp(name, "..") != 0 ? INSIDE : ABOUT);
}

static void answer_getattr(const struct fs_call *c)
{
	fuse_req_t req = c->request;
	struct stat st;
	struct fs_attr a;
	int r = fs_stat(fs_of(req), c->ino, &a);

	if (r < 0) {
		reply_error(req, r);
		return;
	}
	st = stat_of(server_of(req), &a);
	fuse_reply_attr(req, &st, timeout_of(a.ino));
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	answer_request(req, &(struct fs_call){.answer = answer_getattr, .request = req, .ino = ino},
		       ABOUT);
}

static void answer_readlink(const struct fs_call *c)
{
	fuse_req_t req = c->request;
	char target[4096];
	long n = fs_link(fs_of(req), c->ino, target, sizeof(target) - 1);

	if (n < 0) {
		reply_error(req, (int)n);
		return;
	}
	target[n < (long)sizeof(target) ? n : (long)sizeof(target) - 1] = 0;
	fuse_reply_readlink(req, target);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	answer_request(req,
		       &(struct fs_call){.answer = answer_readlink, .request = req, .ino = ino},
		       INSIDE);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st = {
		.f_bsize = 4096,
		.f_frsize = 4096,
		.f_blocks = (fs_total_bytes(fs_of(req)) + 4095) / 4096,
		.f_namemax = FS_NAME_MAX,
		.f_flag = ST_RDONLY,
	};

	fuse_reply_statfs(req, &st);
}

/* ---- directories */

/* Adds an entry. `plus`: with attributes of directories, and of files if `files` is set and they
 * are cheap. Returns the size of the entry, which is larger than `space` if it does not fit. */
static size_t add_entry(fuse_req_t req, const struct fs_entry *e, bool plus, bool files, char *at,
			size_t space)
{
	struct fuse_entry_param entry = {.attr = {.st_ino = e->ino, .st_mode = e->type}};
	struct fs_server *s = server_of(req);
	struct fs_attr a;

	if (!plus)
		return fuse_add_direntry(req, at, space, e->name, &entry.attr, (off_t)e->next);
	if (e->name[0] != '.' && (files || S_ISDIR(e->type)) && fs_is_cheap(s->fs, e->ino) &&
	    fs_stat(s->fs, e->ino, &a) == 0)
		entry = entry_of(s, &a);
	return fuse_add_direntry_plus(req, at, space, e->name, &entry, (off_t)e->next);
}

static void list_directory(const struct fs_call *c, bool plus)
{
	fuse_req_t req = c->request;
	scoped(free_ptr) char *buf = malloc(c->size);
	bool files = plus && fs_readdirplus_note_list(&server_of(req)->eager, c->offset == 0);
	uint64_t offset = c->offset;
	struct fs_entry e;
	size_t used = 0;
	int r = 0;

	if (!buf) {
		reply_error(req, -ENOMEM);
		return;
	}
	while ((r = fs_list(fs_of(req), c->ino, offset, &e)) == 1) {
		size_t n = add_entry(req, &e, plus, files, buf + used, c->size - used);

		if (n > c->size - used)
			break;
		used += n;
		offset = e.next;
	}
	if (r < 0)
		reply_error(req, r);
	else
		fuse_reply_buf(req, buf, used);
}

static void answer_readdir(const struct fs_call *c)
{
	list_directory(c, false);
}

static void answer_readdirplus(const struct fs_call *c)
{
	list_directory(c, true);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		       struct fuse_file_info *fi)
{
	answer_request(req,
		       &(struct fs_call){.answer = answer_readdir,
					 .request = req,
					 .ino = ino,
					 .size = size,
					 .offset = (uint64_t)offset},
		       INSIDE);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
			   struct fuse_file_info *fi)
{
	answer_request(req,
		       &(struct fs_call){.answer = answer_readdirplus,
					 .request = req,
					 .ino = ino,
					 .size = size,
					 .offset = (uint64_t)offset},
		       INSIDE);
}

/* ---- files */

/* After ENOSYS the kernel no longer sends open, and keeps the pages that it has read. */
static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	fi->keep_cache = 1;
	if (server_of(req)->no_open)
		reply_error(req, -ENOSYS);
	else if ((fi->flags & O_ACCMODE) != O_RDONLY)
		reply_error(req, -EROFS);
	else
		fuse_reply_open(req, fi);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	fi->keep_cache = 1;
	fi->cache_readdir = 1;
	if (server_of(req)->no_opendir)
		reply_error(req, -ENOSYS);
	else
		fuse_reply_open(req, fi);
}

/* Maximum number of parts of a reply for writev(), including the header. */
#define MAX_PARTS 1000

static void reply_parts(fuse_req_t req, const struct fs_view *view)
{
	scoped(free_ptr) char *joined = NULL;
	size_t size;

	if (view->n <= MAX_PARTS) {
		fuse_reply_iov(req, view->parts, (int)view->n);
		return;
	}
	joined = fs_view_join(view, &size);
	if (joined)
		fuse_reply_buf(req, joined, size);
	else
		reply_error(req, -ENOMEM);
}

static void reply_view(fuse_req_t req, const struct fs_view *view)
{
	if (view->n <= 1)
		fuse_reply_buf(req, view->n ? view->parts[0].iov_base : NULL,
			       view->n ? view->parts[0].iov_len : 0);
	else
		reply_parts(req, view);
}

static void answer_read(const struct fs_call *c)
{
	fuse_req_t req = c->request;
	struct fs_server *s = server_of(req);
	scoped(fs_view_done) struct fs_view view = {0};
	int r = fs_read(s->fs, c->ino, c->offset, c->size, &view);

	if (r < 0) {
		reply_error(req, r);
		return;
	}
	reply_view(req, &view);
	if (c->is_pooled && !c->is_direct)
		fs_readahead_after_read(&s->ahead, c->ino, c->offset, c->size);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	struct fs_server *s = server_of(req);
	bool is_direct = (fi->flags & O_DIRECT) != 0;

	if (!is_direct && fs_is_expensive(s->fs, ino))
		fs_readahead_before_read(&s->ahead, ino, (uint64_t)off, size);
	answer_request(req,
		       &(struct fs_call){.answer = answer_read,
					 .request = req,
					 .ino = ino,
					 .size = size,
					 .offset = (uint64_t)off,
					 .is_direct = is_direct},
		       INSIDE);
}

/* ---- writing: only after a remount, because the mount is read-only */

#define REFUSE(name, ...)                                                                          \
	static void op_##name(fuse_req_t req, __VA_ARGS__)                                         \
	{                                                                                          \
		reply_error(req, -EROFS);                                                          \
	}

REFUSE(setattr, fuse_ino_t ino, struct stat *attr, int set, struct fuse_file_info *fi)
REFUSE(mknod, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev)
REFUSE(mkdir, fuse_ino_t parent, const char *name, mode_t mode)
REFUSE(unlink, fuse_ino_t parent, const char *name)
REFUSE(rmdir, fuse_ino_t parent, const char *name)
REFUSE(symlink, const char *target, fuse_ino_t parent, const char *name)
REFUSE(rename, fuse_ino_t parent, const char *name, fuse_ino_t to, const char *new_name,
       unsigned flags)
REFUSE(link, fuse_ino_t ino, fuse_ino_t parent, const char *name)
REFUSE(write, fuse_ino_t ino, const char *data, size_t size, off_t at, struct fuse_file_info *fi)
REFUSE(setxattr, fuse_ino_t ino, const char *name, const char *value, size_t size, int flags)
REFUSE(removexattr, fuse_ino_t ino, const char *name)
REFUSE(create, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
REFUSE(fallocate, fuse_ino_t ino, int mode, off_t at, off_t size, struct fuse_file_info *fi)

/* ---- the session */

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	struct fs_server *s = userdata;
	const unsigned unwanted = FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
				  FUSE_CAP_SPLICE_MOVE | FUSE_CAP_AUTO_INVAL_DATA |
				  FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_ATOMIC_O_TRUNC;
	const unsigned wanted = FUSE_CAP_READDIRPLUS | FUSE_CAP_EXPORT_SUPPORT |
				FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS |
				FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_NO_OPEN_SUPPORT |
				FUSE_CAP_NO_OPENDIR_SUPPORT;

	conn->want = (conn->want & ~unwanted) | (wanted & conn->capable);
	conn->max_background = BACKGROUND_REQUESTS;
	conn->time_gran = 1;
	s->no_open = conn->capable & FUSE_CAP_NO_OPEN_SUPPORT;
	/* The helper of auto_unmount opens the root to check if the server is dead. */
	s->no_opendir = (conn->capable & FUSE_CAP_NO_OPENDIR_SUPPORT) &&
			!strstr(s->mount->options, "auto_unmount");
	if (s->mount->ready)
		s->mount->ready(s->mount->context);
}

const struct fuse_lowlevel_ops fs_fuse_ops = {
	.init = op_init,
	.lookup = op_lookup,
	.getattr = op_getattr,
	.readlink = op_readlink,
	.statfs = op_statfs,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.open = op_open,
	.read = op_read,
	.setattr = op_setattr,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.symlink = op_symlink,
	.rename = op_rename,
	.link = op_link,
	.write = op_write,
	.setxattr = op_setxattr,
	.removexattr = op_removexattr,
	.create = op_create,
	.fallocate = op_fallocate,
};
