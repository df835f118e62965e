/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/node.h"

#include "formats/store/writer.h"
#include "fs/cache.h"
#include "fs/copy.h"
#include "fs/pool.h"
#include "tests/unit/made.h"
#include "tests/unit/test.h"

#include <pthread.h>

/* ---- the tree, without FUSE */

static int emulate_same(void *context, struct fmt_trace *in, struct fmt_trace **ret,
			struct fmt_error *err)
{
	++*(int *)context;
	return fmt_trace_open(fmt_trace_path(in), ret, err);
}

static int emulate_nothing(void *context, struct fmt_trace *in, struct fmt_trace **ret,
			   struct fmt_error *err)
{
	return fmt_fail(err, -EBADMSG, "x", FMT_NO_OFFSET, "no clock");
}

static struct fs *open_made(const char *folder, const struct fs_options *options)
{
	struct fmt_trace *trace;
	struct fmt_error err;
	char path[256];
	struct made m;
	struct fs *fs;

	snprintf(path, sizeof(path), "%s/run", folder);
	if (access(path, F_OK) < 0) {
		made_init(&m, 3);
		made_write(&m, path, FMT_NAMES_SHARED, 3, 4, 50, 1);
		made_done(&m);
	}
	ck_assert_int_eq(fmt_trace_open(path, &trace, &err), 0);
	ck_assert_int_eq(fs_open(trace, options, &fs, &err), 0);
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

/* Looks at everything below `dir`: returns how many files there are. */
static int walk(struct fs *fs, fs_ino dir, size_t block)
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
			files += walk(fs, e.ino, block);
			ck_assert_int_eq(fs_lookup(fs, e.ino, "..", &a), 0);
			ck_assert_uint_eq(a.ino, dir);
		}
	}
	ck_assert_uint_eq(of_dir.n_links, n_dirs + 2);
	return files;
}

START_TEST(test_everything_is_what_it_says)
{
	char *folder = made_directory();
	struct fs_options options = {0};
	struct fs *fs = open_made(folder, &options);

	ck_assert_int_eq(walk(fs, 1, 1 << 20), 9 + 4 * 3 + 4 * 3 * 11 + 3 * 5 + 2 + 2);
	ck_assert_int_eq(walk(fs, 1, 100), walk(fs, 1, 4096));
	fs_close(fs);
	made_remove(folder);
}
END_TEST

/* Names that are nearly right. */
START_TEST(test_no_such_names)
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
	};
	char *folder = made_directory();
	struct fs_options options = {0};
	struct fs *fs = open_made(folder, &options);

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct fs_attr a = {.ino = 1};
		int r = 0;

		for (int k = 0; r == 0 && k < 3 && paths[i][k]; k++)
			r = fs_lookup(fs, a.ino, paths[i][k], &a);
		ck_assert_msg(r == -ENOENT, "%s", paths[i][0]);
	}
	fs_close(fs);
	made_remove(folder);
}
END_TEST

/* Numbers that a client of NFS may make up. */
START_TEST(test_no_such_inodes)
{
	char *folder = made_directory();
	struct fs_options options = {0};
	struct fs *fs = open_made(folder, &options);
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
	fs_close(fs);
	made_remove(folder);
}
END_TEST

START_TEST(test_the_emulated_run_is_made_when_looked_into)
{
	char *folder = made_directory();
	int made = 0;
	struct fs_options options = {.emulate = emulate_same, .context = &made};
	struct fs *fs = open_made(folder, &options);
	struct fs_attr emulated, a;

	ck_assert_int_eq(fs_lookup(fs, 1, "emulated", &emulated), 0);
	ck_assert(S_ISDIR(emulated.mode));
	ck_assert(!fs_is_pending(fs, emulated.ino, false));
	ck_assert(fs_is_pending(fs, emulated.ino, true));
	ck_assert_int_eq(made, 0);
	fs_emulate_now(fs);
	fs_emulate_now(fs);
	ck_assert_int_eq(made, 1);
	ck_assert(!fs_is_pending(fs, emulated.ino, true));
	ck_assert_int_eq(fs_lookup(fs, emulated.ino, "id", &a), 0);
	ck_assert_int_eq(fs_lookup(fs, emulated.ino, "emulated", &a), -ENOENT);
	ck_assert_int_gt(walk(fs, 1, 1 << 17), 300);
	fs_close(fs);
	made_remove(folder);
}
END_TEST

START_TEST(test_an_emulation_that_fails_says_why)
{
	char *folder = made_directory();
	struct fs_options options = {.emulate = emulate_nothing};
	struct fs *fs = open_made(folder, &options);
	scoped(fs_view_done) struct fs_view view = {0};
	struct fs_attr a;
	struct fs_entry e;

	fs_emulate_now(fs);
	ck_assert_int_eq(fs_lookup(fs, 1, "emulated", &a), 0);
	ck_assert_int_eq(fs_list(fs, a.ino, 2, &e), 1);
	ck_assert_str_eq(e.name, "errors");
	ck_assert_int_eq(fs_list(fs, a.ino, e.next, &e), 0);
	ck_assert_int_eq(fs_lookup(fs, a.ino, "id", &a), -ENOENT);
	ck_assert_int_eq(fs_stat(fs, e.ino, &a), 0);
	ck_assert_int_eq(fs_read(fs, e.ino, 0, 4096, &view), 0);
	ck_assert_uint_eq(view.parts[0].iov_len, a.size_bytes);
	ck_assert_ptr_nonnull(memmem(view.parts[0].iov_base, view.parts[0].iov_len, "no clock", 8));
	fs_close(fs);
	made_remove(folder);
}
END_TEST

/* ---- the cache */

static int make_block(void *context, void **ret, size_t *bytes)
{
	__atomic_fetch_add((int *)context, 1, __ATOMIC_RELAXED);
	*bytes = 1000;
	*ret = malloc(*bytes);
	usleep(1000);
	return *ret ? 0 : -ENOMEM;
}

static int make_failure(void *context, void **ret, size_t *bytes)
{
	++*(int *)context;
	return -EIO;
}

START_TEST(test_the_cache_is_bounded_and_keeps_what_is_used)
{
	int made = 0;
	struct fs_maker maker = {make_block, free, &made}, broken = {make_failure, free, &made};
	struct fs_item *first, *item;
	struct fs_cache *c;

	ck_assert_int_eq(fs_cache_new(5000, &c), 0);
	ck_assert_int_eq(fs_cache_get(c, (struct fs_key){0, 0}, &maker, &first), 0);
	for (uint64_t i = 1; i < 50; i++) {
		ck_assert_int_eq(fs_cache_get(c, (struct fs_key){0, i}, &maker, &item), 0);
		fs_cache_put(c, item);
		ck_assert_uint_le(fs_cache_bytes(c), 5000);
	}
	ck_assert_int_eq(made, 50);
	ck_assert_int_eq(fs_cache_get(c, (struct fs_key){0, 0}, &maker, &item), 0);
	ck_assert_ptr_eq(item, first);
	ck_assert_int_eq(made, 50);
	fs_cache_put(c, item);
	fs_cache_put(c, first);
	ck_assert_int_eq(fs_cache_get(c, (struct fs_key){0, 1}, &maker, &item), 0);
	ck_assert_int_eq(made, 51);
	fs_cache_put(c, item);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(fs_cache_get(c, (struct fs_key){9, 9}, &broken, &item), -EIO);
	ck_assert_int_eq(made, 53);
	fs_cache_free(c);
}
END_TEST

START_TEST(test_the_cache_lets_go_of_what_is_put_for_the_last_time)
{
	int made = 0;
	struct fs_maker maker = {make_block, free, &made};
	struct fs_item *one, *two;
	struct fs_cache *c;

	ck_assert_int_eq(fs_cache_new(5000, &c), 0);
	ck_assert_int_eq(fs_cache_get(c, (struct fs_key){0, 0}, &maker, &one), 0);
	ck_assert_int_eq(fs_cache_get(c, (struct fs_key){0, 0}, &maker, &two), 0);
	fs_cache_put_last(c, one);
	ck_assert_uint_ge(fs_cache_bytes(c), 1000);
	fs_cache_put_last(c, two);
	ck_assert_uint_eq(fs_cache_bytes(c), 0);
	ck_assert_int_eq(fs_cache_get(c, (struct fs_key){0, 0}, &maker, &one), 0);
	ck_assert_int_eq(made, 2);
	fs_cache_put(c, one);
	ck_assert_uint_ge(fs_cache_bytes(c), 1000);

	/* What is cheap stays while the cache is less than half full. */
	for (uint64_t i = 1; i < 4; i++) {
		ck_assert_int_eq(fs_cache_get(c, (struct fs_key){0, i}, &maker, &one), 0);
		fs_cache_put_cheap(c, one);
	}
	ck_assert_uint_le(fs_cache_bytes(c), 2500);
	ck_assert_int_eq(fs_cache_get(c, (struct fs_key){0, 1}, &maker, &one), 0);
	fs_cache_put(c, one);
	ck_assert_int_eq(made, 5);
	fs_cache_free(c);
}
END_TEST

struct reader {
	struct fs_cache *cache;
	struct fs_maker maker;
};

static void *read_some(void *arg)
{
	struct reader *r = arg;

	for (uint64_t i = 0; i < 20; i++) {
		struct fs_item *item;

		ck_assert_int_eq(fs_cache_get(r->cache, (struct fs_key){1, i}, &r->maker, &item),
				 0);
		ck_assert_ptr_nonnull(fs_item_thing(item));
		fs_cache_put(r->cache, item);
	}
	return NULL;
}

START_TEST(test_what_many_want_is_made_once)
{
	int made = 0;
	struct reader r = {.maker = {make_block, free, &made}};
	pthread_t threads[8];

	ck_assert_int_eq(fs_cache_new(1 << 20, &r.cache), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, read_some, &r), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(made, 20);
	fs_cache_free(r.cache);
}
END_TEST

/* ---- calls that others answer */

static void count(const struct fs_call *c)
{
	usleep(100);
	__atomic_fetch_add((uint64_t *)c->request, c->offset, __ATOMIC_RELAXED);
}

START_TEST(test_what_the_pool_takes_is_answered)
{
	uint64_t sum = 0;
	struct fs_pool p;

	ck_assert_int_eq(fs_pool_init(&p, 3), 0);
	ck_assert(fs_pool_is_free(&p));
	for (uint64_t i = 1; i <= 100; i++)
		ck_assert_int_eq(fs_pool_give(&p, &(struct fs_call){.answer = count,
								    .request = &sum,
								    .offset = i}),
				 0);
	fs_pool_done(&p);
	ck_assert_uint_eq(sum, 5050);
}
END_TEST

START_TEST(test_long_is_what_has_many_records)
{
	char *folder = made_directory();
	struct fs *fs = open_made(folder, &(struct fs_options){0});
	struct fmt_trace *trace;
	struct fmt_error err;
	char path[256];
	struct made m;

	ck_assert(!fs_is_long(fs, 1));
	fs_close(fs);
	snprintf(path, sizeof(path), "%s/long", folder);
	made_init(&m, 3);
	made_write(&m, path, FMT_NAMES_SHARED, 2, 4, 5000, 1);
	made_done(&m);
	ck_assert_int_eq(fmt_trace_open(path, &trace, &err), 0);
	ck_assert_int_eq(fs_open(trace, &(struct fs_options){0}, &fs, &err), 0);
	ck_assert(fs_is_long(fs, 1));
	ck_assert(!fs_is_long(fs, 12345678));
	fs_close(fs);
	made_remove(folder);
}
END_TEST

static int asked;

static int stopped(void)
{
	return ++asked > 3;
}

START_TEST(test_a_copy_stops_when_told)
{
	char *folder = made_directory(), to[256], failed[512];
	struct fs *fs = open_made(folder, &(struct fs_options){0});

	snprintf(to, sizeof(to), "%s/copy", folder);
	ck_assert_int_eq(fs_copy(fs, 1, to, FS_COPY_TABLES, stopped, failed, sizeof(failed)),
			 -ECANCELED);
	ck_assert_int_eq(asked, 4);
	ck_assert_int_eq(strncmp(failed, to, strlen(to)), 0);
	fs_close(fs);
	made_remove(folder);
}
END_TEST

TESTS("node", test_a_copy_stops_when_told, test_what_the_pool_takes_is_answered,
      test_long_is_what_has_many_records, test_everything_is_what_it_says, test_no_such_names,
      test_no_such_inodes, test_the_emulated_run_is_made_when_looked_into,
      test_an_emulation_that_fails_says_why, test_the_cache_is_bounded_and_keeps_what_is_used,
      test_the_cache_lets_go_of_what_is_put_for_the_last_time, test_what_many_want_is_made_once)
