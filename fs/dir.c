/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/dir.h"

#include "base/array.h"
#include "fs/render.h"
#include "fs/stored.h"

#include <sys/stat.h>

#define SUMMARY                                                                                    \
	{                                                                                          \
		"summary", FS_WHOLE, 0, fs_render_summary                                          \
	}
#define TIMELINES                                                                                  \
	{"timeline.json", FS_PIECES_OF, FS_PIECE_TIMELINE, NULL},                                  \
	{                                                                                          \
		"timeline.svg", FS_WHOLE, 0, fs_render_svg                                         \
	}

/* Inode numbers contain a file's index in these tables: append new files. */
static const struct fs_file root_files[] = {
	{"README", FS_CHEAP, 0, fs_render_readme},
	{"id", FS_CHEAP, 0, fs_render_id},
	{"CITATION", FS_CHEAP, 0, fs_render_citation},
	{"LICENSE", FS_CHEAP, 0, fs_render_license},
	{"trace.json", FS_CHEAP, 0, fs_render_trace_json},
	SUMMARY,
	{"errors", FS_WHOLE, 0, fs_render_errors},
	TIMELINES,
};

static const struct fs_sub root_subs[] = {
	{"iterations", FS_ITERATIONS}, {"gpus", FS_GPUS},	  {"communicators", FS_COMMS},
	{"modules", FS_MODULES},       {"contents", FS_CONTENTS},
};

static const struct fs_file iteration_files[] = {SUMMARY, TIMELINES};

static const struct fs_file iteration_gpu_files[] = {
	SUMMARY,
	TIMELINES,
	{"calls", FS_PIECES_OF, FMT_TABLE_CALLS, NULL},
	{"kernels", FS_PIECES_OF, FMT_TABLE_KERNELS, NULL},
	{"memcpy", FS_PIECES_OF, FMT_TABLE_MEMCPY, NULL},
	{"memset", FS_PIECES_OF, FMT_TABLE_MEMSET, NULL},
	{"collectives", FS_PIECES_OF, FMT_TABLE_COLLECTIVES, NULL},
	{"syncs", FS_PIECES_OF, FMT_TABLE_SYNCS, NULL},
	{"memory", FS_PIECES_OF, FMT_TABLE_MEMORY, NULL},
	{"digests", FS_PIECES_OF, FMT_TABLE_DIGESTS, NULL},
};

static const struct fs_file gpu_files[] = {
	{"device.json", FS_CHEAP, 0, fs_render_device_json},
	{"kernels", FS_WHOLE, 0, fs_render_totals},
	{"memory", FS_PIECES_OF, FMT_TABLE_MEMORY, NULL},
	{"streams", FS_WHOLE, 0, fs_render_streams},
	{"graphs", FS_CHEAP, 0, fs_render_graphs},
	{"allocations", FS_CHEAP, 0, fs_render_allocations},
};

static const struct fs_sub gpu_subs[] = {{"iterations", FS_GPU_ITERATIONS}};

static const struct fs_file comm_files[] = {
	{"ranks", FS_CHEAP, 0, fs_render_comm_ranks},
	{"collectives", FS_WHOLE, 0, fs_render_comm_collectives},
};

static const struct fs_file modules_files[] = {{"index", FS_CHEAP, 0, fs_render_modules}};
static const struct fs_file what_if_files[] = {{"errors", FS_CHEAP, 0, NULL}};
static const struct fs_file contents_files[] = {{"index", FS_WHOLE, 0, fs_render_contents}};

/* ---- entries that depend on the trace */

/* The number in a name after `prefix`, or -1 if the name has another form. */
static int64_t number_in(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncmp(name, prefix, n) != 0 || name[n] < '0' || name[n] > '9')
		return -1;
	return strtoll(name + n, NULL, 10);
}

static void name_number(char name[FS_NAME_BYTES], const char *prefix, int width, uint64_t number)
{
	snprintf(name, FS_NAME_BYTES, "%s%0*llu", prefix, width, (unsigned long long)number);
}

/* The root: before/ and after/. */
static uint64_t root_n(const struct fs_tree *t, const struct fs_node *dir)
{
	return 2;
}

static bool root_at(const struct fs_tree *t, const struct fs_node *dir, uint64_t i,
		    struct fs_node *ret, char name[FS_NAME_BYTES])
{
	*ret = *dir;
	ret->dir = FS_ITERATION;
	ret->iteration = i == 0 ? 0 : t->n_iterations - 1;
	snprintf(name, FS_NAME_BYTES, "%s", i == 0 ? "before" : "after");
	return i == 0 ? t->has_before : t->has_after;
}

static uint64_t root_guess(const struct fs_tree *t, const struct fs_node *dir, const char *name)
{
	return name[0] == 'a';
}

static uint32_t root_dirs(const struct fs_tree *t, const struct fs_node *dir)
{
	return t->has_before + t->has_after;
}

/* Iterations, as directories and as links. */
static uint64_t iterations_n(const struct fs_tree *t, const struct fs_node *dir)
{
	return t->n_iterations;
}

static bool iteration_is_numbered(const struct fs_tree *t, uint64_t i)
{
	return i >= t->has_before && i < t->n_iterations - t->has_after;
}

static bool iterations_at(const struct fs_tree *t, const struct fs_node *dir, uint64_t i,
			  struct fs_node *ret, char name[FS_NAME_BYTES])
{
	if (!iteration_is_numbered(t, i))
		return false;
	*ret = *dir;
	ret->dir = FS_ITERATION;
	ret->iteration = (uint32_t)i;
	if (t->numbers[i] < 0)
		name_number(name, "-", 5, -(uint64_t)t->numbers[i]);
	else
		name_number(name, "", 6, (uint64_t)t->numbers[i]);
	return true;
}

static bool links_at(const struct fs_tree *t, const struct fs_node *dir, uint64_t i,
		     struct fs_node *ret, char name[FS_NAME_BYTES])
{
	if (!iterations_at(t, dir, i, ret, name) || !fs_tree_has_slices(t, dir->gpu, (uint32_t)i))
		return false;
	ret->dir = FS_GPU_ITERATIONS;
	ret->file = FS_LINK;
	return true;
}

static uint64_t iterations_guess(const struct fs_tree *t, const struct fs_node *dir,
				 const char *name)
{
	int64_t number = name[0] == '-' ? -number_in(name, "-") : number_in(name, "");

	return (uint64_t)fs_tree_iteration(t, number);
}

static uint32_t iterations_dirs(const struct fs_tree *t, const struct fs_node *dir)
{
	return t->n_iterations - t->has_before - t->has_after;
}

static uint32_t no_dirs(const struct fs_tree *t, const struct fs_node *dir)
{
	return 0;
}

/* GPUs, of the run and of an iteration. */
static uint64_t gpus_n(const struct fs_tree *t, const struct fs_node *dir)
{
	return t->n_ranks;
}

static bool gpus_at(const struct fs_tree *t, const struct fs_node *dir, uint64_t i,
		    struct fs_node *ret, char name[FS_NAME_BYTES])
{
	if (i >= t->n_ranks ||
	    (dir->dir == FS_ITERATION && !fs_tree_has_slices(t, (uint32_t)i, dir->iteration)))
		return false;
	*ret = *dir;
	ret->dir = dir->dir == FS_ITERATION ? FS_ITERATION_GPU : FS_GPU;
	ret->gpu = (uint32_t)i;
	name_number(name, "gpu", 1, fmt_trace_rank(t->trace, (uint32_t)i)->number);
	return true;
}

static uint64_t gpus_guess(const struct fs_tree *t, const struct fs_node *dir, const char *name)
{
	int64_t number = number_in(name, "gpu");
	uint32_t from = 0, end = t->n_ranks;

	while (from < end) {
		uint32_t middle = from + (end - from) / 2;

		if (fmt_trace_rank(t->trace, middle)->number < number)
			from = middle + 1;
		else
			end = middle;
	}
	return from;
}

static uint32_t gpus_dirs(const struct fs_tree *t, const struct fs_node *dir)
{
	uint32_t n = 0;

	if (dir->dir == FS_GPUS)
		return t->n_ranks;
	for (uint32_t i = 0; i < t->n_ranks; i++)
		n += fs_tree_has_slices(t, i, dir->iteration);
	return n;
}

/* Communicators. */
static uint64_t comms_n(const struct fs_tree *t, const struct fs_node *dir)
{
	return fmt_n_comms(t->names);
}

static bool comms_at(const struct fs_tree *t, const struct fs_node *dir, uint64_t i,
		     struct fs_node *ret, char name[FS_NAME_BYTES])
{
	if (i >= fmt_n_comms(t->names))
		return false;
	*ret = *dir;
	ret->dir = FS_COMM;
	ret->iteration = (uint32_t)i;
	name_number(name, "", 1, i);
	return true;
}

static uint64_t comms_guess(const struct fs_tree *t, const struct fs_node *dir, const char *name)
{
	return (uint64_t)number_in(name, "");
}

static uint32_t comms_dirs(const struct fs_tree *t, const struct fs_node *dir)
{
	return fmt_n_comms(t->names);
}

/* Contents, by name. */
static uint64_t stored_n(const struct fs_tree *t, const struct fs_node *dir)
{
	return fs_stored_list(t->stored, dir->dir == FS_MODULES)->n;
}

static bool stored_at(const struct fs_tree *t, const struct fs_node *dir, uint64_t i,
		      struct fs_node *ret, char name[FS_NAME_BYTES])
{
	const struct fs_stored_list *list = fs_stored_list(t->stored, dir->dir == FS_MODULES);

	if (i >= list->n)
		return false;
	*ret = *dir;
	ret->file = FS_STORED;
	ret->iteration = (uint32_t)i;
	fs_stored_name(&list->items[i], name);
	return true;
}

static uint64_t stored_guess(const struct fs_tree *t, const struct fs_node *dir, const char *name)
{
	return fs_stored_find(fs_stored_list(t->stored, dir->dir == FS_MODULES), name);
}

static const struct fs_more root_more = {root_n, root_at, root_guess, root_dirs};
static const struct fs_more iterations_more = {iterations_n, iterations_at, iterations_guess,
					       iterations_dirs};
static const struct fs_more links_more = {iterations_n, links_at, iterations_guess, no_dirs};
static const struct fs_more gpus_more = {gpus_n, gpus_at, gpus_guess, gpus_dirs};
static const struct fs_more comms_more = {comms_n, comms_at, comms_guess, comms_dirs};
static const struct fs_more stored_more = {stored_n, stored_at, stored_guess, no_dirs};

#define FILES(a) .files = (a), .n_files = ARRAY_SIZE(a)
#define SUBS(a) .subs = (a), .n_subs = ARRAY_SIZE(a)

static const struct fs_dir_kind kinds[FS_DIRS] = {
	[FS_ROOT] = {FILES(root_files), SUBS(root_subs), .more = &root_more, .parent = FS_ROOT},
	[FS_ITERATIONS] = {.more = &iterations_more, .parent = FS_ROOT},
	[FS_ITERATION] = {FILES(iteration_files), .more = &gpus_more, .parent = FS_ITERATIONS},
	[FS_ITERATION_GPU] = {FILES(iteration_gpu_files), .parent = FS_ITERATION},
	[FS_GPUS] = {.more = &gpus_more, .parent = FS_ROOT},
	[FS_GPU] = {FILES(gpu_files), SUBS(gpu_subs), .parent = FS_GPUS},
	[FS_GPU_ITERATIONS] = {.more = &links_more, .parent = FS_GPU},
	[FS_COMMS] = {.more = &comms_more, .parent = FS_ROOT},
	[FS_COMM] = {FILES(comm_files), .parent = FS_COMMS},
	[FS_MODULES] = {FILES(modules_files), .more = &stored_more, .parent = FS_ROOT},
	[FS_CONTENTS] = {FILES(contents_files), .more = &stored_more, .parent = FS_ROOT},
	[FS_WHAT_IF] = {FILES(what_if_files), .parent = FS_ROOT},
};

const struct fs_dir_kind *fs_dir_kind(enum fs_dir dir)
{
	return dir >= FS_ROOT && dir < FS_DIRS ? &kinds[dir] : NULL;
}

/* ---- nodes */

/* True if the numbers of a node are valid in its directory, and unused numbers are 0. */
static bool numbers_exist(const struct fs_tree *t, const struct fs_node *p)
{
	switch (p->dir) {
	case FS_ITERATION:
		return p->iteration < t->n_iterations && p->gpu == 0;
	case FS_ITERATION_GPU:
		return p->iteration < t->n_iterations && p->gpu < t->n_ranks &&
		       fs_tree_has_slices(t, p->gpu, p->iteration);
	case FS_GPU:
		return p->gpu < t->n_ranks && p->iteration == 0;
	case FS_GPU_ITERATIONS:
		if (p->gpu >= t->n_ranks || (p->file == 0 && p->iteration > 0))
			return false;
		return p->file == 0 ||
		       (p->iteration < t->n_iterations && iteration_is_numbered(t, p->iteration) &&
			fs_tree_has_slices(t, p->gpu, p->iteration));
	case FS_COMM:
		return p->iteration < fmt_n_comms(t->names) && p->gpu == 0;
	case FS_MODULES:
	case FS_CONTENTS:
		return p->gpu == 0 && p->file == FS_STORED ? p->iteration < stored_n(t, p)
							   : p->iteration == 0 && p->gpu == 0;
	default:
		return p->iteration == 0 && p->gpu == 0;
	}
}

bool fs_node_exists(const struct fs_tree *t, const struct fs_node *p)
{
	const struct fs_dir_kind *kind = fs_dir_kind(p->dir);

	if (!kind || !numbers_exist(t, p))
		return false;
	if (p->file == FS_LINK)
		return p->dir == FS_GPU_ITERATIONS || p->dir == FS_ROOT;
	if (p->file == FS_STORED)
		return p->dir == FS_MODULES || p->dir == FS_CONTENTS;
	return p->file <= kind->n_files;
}

struct fs_node fs_parent_of(const struct fs_tree *t, struct fs_node dir)
{
	struct fs_node up = {.dir = kinds[dir.dir].parent, .run = dir.run};

	if (dir.dir == FS_ROOT)
		up = (struct fs_node){.dir = dir.run >= FS_CHANGED ? FS_WHAT_IF : FS_ROOT};
	else if (dir.dir == FS_ITERATION && !iteration_is_numbered(t, dir.iteration))
		up.dir = FS_ROOT;
	else if (dir.dir == FS_ITERATION_GPU)
		up.iteration = dir.iteration;
	else if (dir.dir == FS_GPU_ITERATIONS)
		up.gpu = dir.gpu;
	return up;
}

mode_t fs_type_of(const struct fs_node *p)
{
	return p->file == 0 ? S_IFDIR : p->file == FS_LINK ? S_IFLNK : S_IFREG;
}

uint32_t fs_n_links(const struct fs_tree *t, const struct fs_node *dir)
{
	const struct fs_dir_kind *kind = &kinds[dir->dir];

	return 2 + (uint32_t)kind->n_subs + (kind->more ? kind->more->n_dirs(t, dir) : 0);
}
