/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/node.h"

#include "fs/copy.h"
#include "fs/pool.h"
#include "tests/unit/made.h"
#include "tests/unit/test.h"

define_cleanup(fs_closep, struct fs *, fs_close);

/* ---- the tree, without FUSE */

static int emulate_same(void *context, struct fmt_trace *in, const char *spec,
			struct fmt_trace **ret, struct fmt_error *err)
{
	if (spec && !strchr(spec, '='))
		return fmt_fail(err, -EINVAL, "", FMT_NO_OFFSET, "no value for %s", spec);
	if (!ret)
		return 0;
	++*(int *)context;
	return fmt_trace_open(fmt_trace_path(in), ret, err);
}

static int emulate_nothing(void *context, struct fmt_trace *in, const char *spec,
			   struct fmt_trace **ret, struct fmt_error *err)
{
	return fmt_fail(err, -EBADMSG, "x", FMT_NO_OFFSET, "no clock");
}

static struct fs *open_made(const char *folder, const struct fs_options *options)
{
	const char *path = made_path(folder, "run");
	struct fs *fs;

	ck_assert_int_eq(
		fs_open(access(path, F_OK) < 0 ? made_trace(path, 3, 4, 50) : made_open(path),
			options, &fs, NULL),
		0);
	return fs;
}

static size_t read_all(struct fs *fs, fs_ino ino, size_t block)
{
	size_t n, total = 0;

	do {
		scoped(fs_view_done) struct fs_view view = {0};

		ck_assert_int_eq(fs_read(fs, ino, total, block, &view), 0);
		n = 0;
		for (size_t i = 0; i < view.n; i++)
			n += view.parts[i].iov_len;
		ck_assert_uint_le(n, block);
		total += n;
	} while (n == block);
	return total;
}

/* Checks everything below `dir`. Returns the number of files. */
static int check_directory(struct fs *fs, fs_ino dir, size_t block)
{
	struct fs_entry e;
	struct fs_attr a, of_dir;
	uint64_t offset = 0;
	uint32_t n_dirs = 0;
	int files = 0;

	ck_assert_int_eq(fs_stat(fs, dir, &of_dir), 0);
	while (fs_list(fs, dir, offset, &e) == 1) {
		ck_assert_uint_gt(e.next, offset);
		offset = e.next;
		ck_assert_int_eq(fs_lookup(fs, dir, e.name, &a), 0);
		ck_assert_uint_eq(a.ino, e.ino);
		ck_assert_uint_eq(a.mode & S_IFMT, e.type);
		if (S_ISDIR(e.type) && e.name[0] != '.')
			n_dirs++;
		if (S_ISREG(e.type)) {
			files++;
			ck_assert_uint_eq(read_all(fs, e.ino, block), a.size_bytes);
			ck_assert_int_eq(fs_lookup(fs, e.ino, "x", &a), -ENOTDIR);
		} else if (S_ISDIR(e.type) && e.name[0] != '.') {
			files += check_directory(fs, e.ino, block);
			ck_assert_int_eq(fs_lookup(fs, e.ino, "..", &a), 0);
			ck_assert_uint_eq(a.ino, dir);
		}
	}
	ck_assert_uint_eq(of_dir.n_links, n_dirs + 2);
	return files;
}

TEST(test_sizes_and_contents_agree)
{
	scoped(made_removep) char *folder = made_directory();
	scoped(fs_closep) struct fs *fs = open_made(folder, &(struct fs_options){0});

	ck_assert_int_eq(check_directory(fs, 1, 1 << 20), 9 + 4 * 3 + 4 * 3 * 11 + 3 * 6 + 2 + 2);
	ck_assert_int_eq(check_directory(fs, 1, 100), check_directory(fs, 1, 4096));
}

/* Names that almost exist. */
TEST(test_no_such_names)
{
	static const char *const paths[][3] = {
		{"Readme"},
		{"readme"},
		{""},
		{"iterations", "1"},
		{"iterations", "0000001"},
		{"iterations", "000004"},
		{"iterations", "-1"},
		{"iterations", "00000x"},
		{"iterations", " 000001"},
		{"gpus", "gpu"},
		{"gpus", "gpu3"},
		{"gpus", "gpu00"},
		{"gpus", "gpu-0"},
		{"gpus", "0"},
		{"gpus", "gpu18446744073709551616"},
		{"communicators", "1"},
		{"contents", "00000000000000000000000000000000"},
		{"modules", "00000000000000000000000000000000.cubin"},
		{"modules", "index.cubin"},
		{"before"},
		{"after"},
		{"emulated"},
		{"what-if"},
	};
	scoped(made_removep) char *folder = made_directory();
	scoped(fs_closep) struct fs *fs = open_made(folder, &(struct fs_options){0});

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct fs_attr a = {.ino = 1};
		int r = 0;

		for (int k = 0; r == 0 && k < 3 && paths[i][k]; k++)
			r = fs_lookup(fs, a.ino, paths[i][k], &a);
		ck_assert_msg(r == -ENOENT, "%s", paths[i][0]);
	}
}

/* Inode numbers that an NFS client may invent. */
TEST(test_no_such_inodes)
{
	scoped(made_removep) char *folder = made_directory();
	scoped(fs_closep) struct fs *fs = open_made(folder, &(struct fs_options){0});
	struct fs_attr a;
	uint64_t seed = 1;

	ck_assert_int_eq(fs_stat(fs, 0, &a), -ENOENT);
	ck_assert_int_eq(fs_stat(fs, UINT64_MAX, &a), -ENOENT);
	for (int i = 0; i < 100000; i++) {
		char link[64];
		fs_ino ino;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		ino = seed >> (i % 64);
		if (fs_stat(fs, ino, &a) == 0)
			ck_assert_uint_eq(a.ino, ino);
		fs_link(fs, ino, link, sizeof(link));
	}
}

TEST(test_the_emulated_run_is_made_on_first_access)
{
	scoped(made_removep) char *folder = made_directory();
	int made = 0;
	struct fs_options options = {.emulate = emulate_same, .context = &made};
	scoped(fs_closep) struct fs *fs = open_made(folder, &options);
	struct fs_attr emulated, a;

	ck_assert_int_eq(fs_lookup(fs, 1, "emulated", &emulated), 0);
	ck_assert(S_ISDIR(emulated.mode));
	ck_assert(!fs_is_pending(fs, emulated.ino, false));
	ck_assert(fs_is_pending(fs, emulated.ino, true));
	ck_assert_int_eq(made, 0);
	fs_emulate_now(fs, 1);
	ck_assert_int_eq(made, 0);
	fs_emulate_now(fs, emulated.ino);
	fs_emulate_now(fs, emulated.ino);
	ck_assert_int_eq(made, 1);
	ck_assert(!fs_is_pending(fs, emulated.ino, true));
	ck_assert_int_eq(fs_lookup(fs, emulated.ino, "id", &a), 0);
	ck_assert_int_eq(fs_lookup(fs, emulated.ino, "emulated", &a), -ENOENT);
	ck_assert_int_gt(check_directory(fs, 1, 1 << 17), 300);
}

/* Reads a whole file in blocks. The caller frees the text. */
static char *read_text(struct fs *fs, fs_ino ino, uint64_t size, size_t block)
{
	char *all = malloc(size + 1);
	uint64_t at = 0;

	while (at < size) {
		scoped(fs_view_done) struct fs_view view = {0};
		scoped(free_ptr) char *joined = NULL;
		size_t n;

		ck_assert_int_eq(fs_read(fs, ino, at, block, &view), 0);
		joined = fs_view_join(&view, &n);
		ck_assert_uint_le(n, size - at);
		memcpy(all + at, joined, n);
		at += n;
	}
	return all;
}

static int count_entries(struct fs *fs, fs_ino dir)
{
	struct fs_entry e;
	int n = 0;

	for (uint64_t offset = 2; fs_list(fs, dir, offset, &e) == 1; n++)
		offset = e.next;
	return n;
}

TEST(test_changed_runs_are_made_on_first_access)
{
	static const char *const invalid[] = {"fast", "fast", ".git", "new\nline"};
	scoped(made_removep) char *folder = made_directory();
	char spec[20];
	int made = 0;
	struct fs_options options = {.emulate = emulate_same, .context = &made};
	scoped(fs_closep) struct fs *fs = open_made(folder, &options);
	struct fs_attr what_if, errors, run, again, a;
	scoped(free_ptr) char *text = NULL;

	ck_assert_int_eq(fs_lookup(fs, 1, "what-if", &what_if), 0);
	ck_assert(!fs_is_pending(fs, what_if.ino, true));
	ck_assert_int_eq(count_entries(fs, what_if.ino), 1);

	/* Each invalid spec has one line. */
	for (size_t i = 0; i < ARRAY_SIZE(invalid); i++)
		ck_assert_int_eq(fs_lookup(fs, what_if.ino, invalid[i], &a), -ENOENT);
	ck_assert_int_eq(count_entries(fs, what_if.ino), 1);
	ck_assert_int_eq(fs_lookup(fs, what_if.ino, "errors", &errors), 0);
	text = read_text(fs, errors.ino, errors.size_bytes, 7);
	text[errors.size_bytes] = 0;
	ck_assert_str_eq(text, "what-if/fast\t-\t-\tno value for fast\n"
			       "what-if/new?line\t-\t-\tno value for new?line\n");

	ck_assert_int_eq(fs_lookup(fs, what_if.ino, "network=2x", &run), 0);
	ck_assert_int_eq(fs_lookup(fs, what_if.ino, "network=2x", &again), 0);
	ck_assert_uint_eq(run.ino, again.ino);
	ck_assert(!fs_is_pending(fs, run.ino, false));
	ck_assert(fs_is_pending(fs, run.ino, true));
	ck_assert_int_eq(made, 0);
	fs_emulate_now(fs, run.ino);
	ck_assert_int_eq(made, 1);
	ck_assert(!fs_is_pending(fs, run.ino, true));
	ck_assert_int_eq(fs_lookup(fs, run.ino, "what-if", &a), -ENOENT);
	ck_assert_int_eq(fs_lookup(fs, run.ino, "..", &a), 0);
	ck_assert_uint_eq(a.ino, what_if.ino);
	ck_assert_int_gt(check_directory(fs, run.ino, 4096), 100);

	/* The directory has another time, so that its listing is not taken from a cache. */
	ck_assert_int_eq(fs_stat(fs, what_if.ino, &a), 0);
	ck_assert_int_ne(a.time_ns, what_if.time_ns);
	ck_assert_uint_eq(a.n_links, 3);
	for (int i = 1; i < FS_RUNS - FS_CHANGED; i++) {
		snprintf(spec, sizeof(spec), "gpu=%d", i);
		ck_assert_int_eq(fs_lookup(fs, what_if.ino, spec, &a), 0);
	}
	ck_assert_int_eq(fs_lookup(fs, what_if.ino, "gpu=300", &a), -ENOSPC);
	ck_assert_int_eq(fs_lookup(fs, what_if.ino, "gpu=1", &a), 0);
	ck_assert_int_eq(count_entries(fs, what_if.ino), 1 + FS_RUNS - FS_CHANGED);
}

TEST(test_an_emulation_that_fails_says_why)
{
	scoped(made_removep) char *folder = made_directory();
	struct fs_options options = {.emulate = emulate_nothing};
	scoped(fs_closep) struct fs *fs = open_made(folder, &options);
	scoped(fs_view_done) struct fs_view view = {0};
	struct fs_attr a;
	struct fs_entry e;

	ck_assert_int_eq(fs_lookup(fs, 1, "emulated", &a), 0);
	fs_emulate_now(fs, a.ino);
	ck_assert_int_eq(fs_list(fs, a.ino, 2, &e), 1);
	ck_assert_str_eq(e.name, "errors");
	ck_assert_int_eq(fs_list(fs, a.ino, e.next, &e), 0);
	ck_assert_int_eq(fs_lookup(fs, a.ino, "id", &a), -ENOENT);
	ck_assert_int_eq(fs_stat(fs, e.ino, &a), 0);
	ck_assert_int_eq(fs_read(fs, e.ino, 0, 4096, &view), 0);
	ck_assert_uint_eq(view.parts[0].iov_len, a.size_bytes);
	ck_assert_ptr_nonnull(memmem(view.parts[0].iov_base, view.parts[0].iov_len, "no clock", 8));
}

/* ---- the cost of listing */

static int count_load(void *context, uint32_t rank, uint32_t slice, struct fmt_slice **ret)
{
	__atomic_fetch_add((int *)context, 1, __ATOMIC_RELAXED);
	return 0;
}

/* `ls -l` of the root: `errors` needs checksums only, and nothing is computed twice. */
TEST(test_the_root_is_listed_at_little_cost)
{
	scoped(made_removep) char *folder = made_directory();
	scoped(fs_closep) struct fs *fs = NULL;
	struct fmt_trace *trace = made_trace(made_path(folder, "run"), 3, 4, 50);
	struct fs_attr a;
	struct fs_entry e;
	int loads = 0;

	ck_assert_int_eq(fs_open(trace, &(struct fs_options){0}, &fs, NULL), 0);
	fmt_trace_set_keeper(trace, (struct fmt_slice_keeper){count_load, &loads});

	ck_assert_int_eq(fs_lookup(fs, 1, "errors", &a), 0);
	ck_assert_int_eq(loads, 0);
	for (int i = 0; i < 2; i++)
		for (uint64_t offset = 0; fs_list(fs, 1, offset, &e) == 1; offset = e.next)
			ck_assert_int_eq(fs_lookup(fs, 1, e.name, &a), 0);
	/* One pass for the summary, two for the picture, and one for the timeline, whose length is
	 * not stored. */
	ck_assert_int_le(loads, 4 * 3 * 4);
}

/* ---- requests answered by other threads */

static void count(const struct fs_call *c)
{
	usleep(100);
	__atomic_fetch_add((uint64_t *)c->request, c->offset, __ATOMIC_RELAXED);
}

TEST(test_pooled_requests_are_answered)
{
	uint64_t sum = 0;
	struct fs_pool p;

	ck_assert_int_eq(fs_pool_init(&p, 3), 0);
	ck_assert(fs_pool_is_free(&p));
	for (uint64_t i = 1; i <= 100; i++)
		ck_assert_int_eq(fs_pool_submit(&p, &(struct fs_call){.answer = count,
								      .request = &sum,
								      .offset = i}),
				 0);
	fs_pool_done(&p);
	ck_assert_uint_eq(sum, 5050);
}

TEST(test_large_slices_go_to_the_pool)
{
	scoped(made_removep) char *folder = made_directory();
	scoped(fs_closep) struct fs *fs = open_made(folder, &(struct fs_options){0});

	ck_assert(!fs_is_expensive(fs, 1));
	fs_close(fs);
	ck_assert_int_eq(fs_open(made_trace(made_path(folder, "long"), 2, 4, 5000),
				 &(struct fs_options){0}, &fs, NULL),
			 0);
	ck_assert(fs_is_expensive(fs, 1));
	ck_assert(!fs_is_expensive(fs, 12345678));
}

static int asked;

static int stopped(void)
{
	return ++asked > 3;
}

TEST(test_an_interrupted_copy_stops)
{
	scoped(made_removep) char *folder = made_directory();
	char to[256], failed[512];
	scoped(fs_closep) struct fs *fs = open_made(folder, &(struct fs_options){0});
	uint64_t left_out = 0;

	snprintf(to, sizeof(to), "%s/copy", folder);
	ck_assert_int_eq(
		fs_copy(fs, 1, to, FS_COPY_TABLES, stopped, &left_out, failed, sizeof(failed)),
		-ECANCELED);
	ck_assert_uint_eq(left_out, 0);
	ck_assert_int_eq(asked, 4);
	ck_assert_int_eq(strncmp(failed, to, strlen(to)), 0);
}
