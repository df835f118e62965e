/* SPDX-License-Identifier: Apache-2.0 */

/* A trace is exactly its list of files: a missing, exchanged or added file is reported, and no
 * slice is read wrong. */
#include "formats/trace/store/pack.h"
#include "formats/trace/store/verify.h"

#include "tests/unit/made.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <sys/stat.h>

#define RANKS 3
#define SLICES 2
#define LAUNCHES 40

/* Two runs of one program: equal slices, but their names are numbered differently. */
struct runs {
	char *dir;
	char own[400], other[400];
	struct made m;
	struct fmt_slice *slices[RANKS * SLICES];
};

static void write_other(const char *path)
{
	scoped(made_done) struct made m = {.seed = 1};

	ck_assert_int_eq(fmt_names_new(&m.names), 0);
	made_string(&m, "of the other run");
	made_names(&m, RANKS);
	made_write(&m, path, RANKS, SLICES, LAUNCHES, 0);
}

static void make_runs(struct runs *k)
{
	k->dir = made_directory();
	snprintf(k->own, sizeof(k->own), "%s/own", k->dir);
	snprintf(k->other, sizeof(k->other), "%s/other", k->dir);
	made_init(&k->m, RANKS);
	made_write(&k->m, k->own, RANKS, SLICES, LAUNCHES, 0);
	write_other(k->other);
	made_slices(&k->m, RANKS, SLICES, LAUNCHES, k->slices);
}

static void runs_done(struct runs *k)
{
	for (uint32_t i = 0; i < RANKS * SLICES; i++)
		fmt_slice_free(k->slices[i]);
	made_done(&k->m);
	made_remove(k->dir);
}

/* Runs a shell command with $OWN and $OTHER set to the traces. */
static void run_shell(const struct runs *k, const char *command)
{
	ck_assert_int_eq(setenv("OWN", k->own, 1), 0);
	ck_assert_int_eq(setenv("OTHER", k->other, 1), 0);
	ck_assert_int_eq(system(command), 0);
}

/* Counts the slices that can be read. Each must be as written. */
static int count_correct_slices(const struct runs *k, const char *path, const char *what)
{
	struct fmt_error err = {.what = ""};
	struct fmt_trace *t;
	int n = 0;

	ck_assert_msg(fmt_trace_open(path, &t, &err) == 0, "%s: %s: %s", what, err.file, err.what);
	for (uint32_t r = 0; r < fmt_trace_n_ranks(t); r++)
		for (uint32_t s = 0; s < fmt_trace_rank(t, r)->n_slices; s++) {
			uint32_t number = fmt_trace_rank(t, r)->number;
			struct fmt_slice *got;

			if (fmt_slice_load(t, r, s, FMT_WANT_ALL, &got, &err) < 0)
				continue;
			ck_assert_msg(number < RANKS && s < SLICES &&
					      same_slice(k->slices[number * SLICES + s], got,
							 fmt_trace_names(t)),
				      "%s: wrong data of rank %u", what, number);
			fmt_slice_free(got);
			n++;
		}
	fmt_trace_close(t);
	return n;
}

struct reported {
	const char *text;
	int n;
};

static int match(void *context, const struct fmt_problem *p)
{
	struct reported *r = context;
	char line[1024];

	snprintf(line, sizeof(line), "%s: %s", p->error.file, p->error.what);
	r->n += strstr(line, r->text) != NULL;
	return 0;
}

static void expect_report(const char *path, const char *what, const char *text)
{
	struct reported reported = {.text = text};
	struct fmt_verified v;
	struct fmt_error err;

	ck_assert_int_eq(fmt_verify(path, match, &reported, &v, &err), 0);
	ck_assert_msg(v.problems > 0, "%s: called whole", what);
	ck_assert_msg(reported.n > 0, "%s: not said: %s", what, text);
}

/* A change of the directory, the message of verify, and the number of slices that can still be
 * read. */
static const struct {
	const char *command, *says;
	int left; /* slices */
} changes[] = {
	{"rm $OWN/rank-00001.chunks", "rank-00001.chunks: missing", 4},
	{"rm $OWN/rank-00000.chunks $OWN/rank-00002.chunks", "rank-00002.chunks: missing", 2},
	{"rm $OWN/trace.chunks", "no trace.chunks", 0},
	{"cp $OTHER/rank-00001.chunks $OWN", "rank-00001.chunks: of another trace", 4},
	{"cp $OWN/rank-00000.chunks $OWN/rank-00001.chunks", "rank-00001.chunks: a file of rank 0",
	 4},
	{"cp $OTHER/rank-00002.chunks $OWN/rank-00003.chunks", "rank-00003.chunks: a file of rank",
	 6},
	{"cp $OWN/trace.chunks $OWN/rank-00001.chunks", "rank-00001.chunks: not a file of a rank",
	 4},
	{"cp $OWN/rank-00001.chunks $OWN/blobs.chunks", "blobs.chunks: not a file of contents", 6},
	{"ln -sf nowhere $OWN/rank-00001.chunks", "rank-00001.chunks: cannot open: No such file",
	 4},
	{"rm $OWN/rank-00001.chunks; mkdir $OWN/rank-00001.chunks", "rank-00001.chunks: ", 4},
	{": >$OWN/rank-00001.chunks", "rank-00001.chunks: not a trace", 4},
};

TEST_ROWS(test_every_change_of_files_is_found, changes)
{
	scoped(runs_done) struct runs k;

	make_runs(&k);
	run_shell(&k, row->command);
	ck_assert_msg(count_correct_slices(&k, k.own, row->command) == row->left, "%s: %d slices",
		      row->command, count_correct_slices(&k, k.own, row->command));
	expect_report(k.own, row->command, row->says);
}

/* The id is that of the written trace, whatever happened to its files. */
TEST(test_the_id_stays)
{
	scoped(fmt_trace_closep) struct fmt_trace *t = NULL;
	scoped(runs_done) struct runs k;
	char id[65];

	make_runs(&k);
	t = made_open(k.own);
	snprintf(id, sizeof(id), "%s", fmt_trace_id(t));
	fmt_trace_close(t);
	run_shell(&k, "rm $OWN/rank-00001.chunks");
	t = made_open(k.own);
	ck_assert_str_eq(fmt_trace_id(t), id);
}

/* Packing and unpacking keep the report of a missing file. */
TEST(test_a_packed_trace_reports_missing_files)
{
	char packed[450], again[450];
	struct fmt_error err;
	scoped(runs_done) struct runs k;

	make_runs(&k);
	run_shell(&k, "rm $OWN/rank-00001.chunks");
	snprintf(packed, sizeof(packed), "%s/packed", k.dir);
	snprintf(again, sizeof(again), "%s/again", k.dir);
	ck_assert_int_eq(fmt_pack(k.own, packed, 0, &err), 0);
	expect_report(packed, "packed", "rank-00001.chunks: missing");
	ck_assert_int_eq(count_correct_slices(&k, packed, "packed"), 4);
	ck_assert_int_eq(fmt_unpack(packed, again, &err), 0);
	expect_report(again, "unpacked", "rank-00001.chunks: missing");
}

/* Files of another trace under these names: which of the two is wrong is unknown, so the trace is
 * refused. */
TEST(test_names_of_another_trace_are_refused)
{
	struct fmt_error err = {.what = ""};
	struct fmt_trace *t;
	scoped(runs_done) struct runs k;

	make_runs(&k);
	run_shell(&k, "cp $OTHER/trace.chunks $OWN");
	ck_assert_int_eq(fmt_trace_open(k.own, &t, &err), -EBADMSG);
	ck_assert_msg(strstr(err.what, "of another trace") != NULL, "%s", err.what);
}
