/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/constants.h"
#include "tests/unit/scene.h"
#include "tests/unit/test.h"

#include <stdbool.h>

/* An expected edge between two rows. */
struct want {
	const char *rule;
	int from, to;
	int lag; /* us; ANY */
};
#define ANY 1000000

/* Launches for calibration: 5 us from the end of a call to the start of its kernel. */
#define CALIBRATE                                                                                  \
	{CALL, LAUNCH, 0, 10, 1, 0}, {ON_7, "k", 15, 2, 1, 0}, {CALL, LAUNCH, 100, 10, 2, 0},      \
		{ON_7, "k", 115, 2, 2, 0}, {CALL, LAUNCH, 200, 10, 3, 0},                          \
		{ON_7, "k", 215, 2, 3, 0}, {CALL, LAUNCH, 300, 10, 4, 0},                          \
	{                                                                                          \
		ON_7, "k", 315, 2, 4, 0                                                            \
	}
#define FIRST 8 /* index of the first row after CALIBRATE */

static const struct scene {
	const char *what;
	struct row rows[40];
	struct want wants[8];
	const char *never; /* a rule that must not produce an edge */
} scenes[] = {
	{"nothing waits", {CALIBRATE}, {{0}}, "event-wait"},
	{"a collective waits for earlier launches",
	 {CALIBRATE,
	  {CALL, LAUNCH, 400, 10, 5, 0},
	  {ON_7, "k", 415, 100, 5, 0},
	  {CALL, WAIT, 415, 1, 6, 0},
	  {CALL, "cudaLaunchKernelExC", 420, 10, 7, 0},
	  {NCCL, ALL_REDUCE, 518, 50, 7, 0}},
	 {{"comm-wait-compute", FIRST + 1, FIRST + 4, ANY}},
	 "capacity"},
	{"a stream waits for a collective",
	 {CALIBRATE,
	  {CALL, "cudaLaunchKernelExC", 400, 10, 5, 0},
	  {NCCL, ALL_REDUCE, 415, 200, 5, 0},
	  {CALL, WAIT, 420, 1, 6, 0},
	  {CALL, LAUNCH, 430, 10, 7, 0},
	  {ON_7, "k", 618, 9, 7, 0}},
	 {{"event-wait", FIRST + 1, FIRST + 4, ANY}},
	 NULL},
	{"an event orders two streams",
	 {CALIBRATE,
	  {CALL, LAUNCH, 400, 10, 5, 0},
	  {ON_7, "k", 415, 9, 5, 0},
	  {CALL, RECORD, 420, 1, 6, 0},
	  {CALL, WAIT, 422, 1, 7, 0},
	  {CALL, LAUNCH, 480, 10, 8, 0},
	  {ON_20, "k", 495, 9, 8, 0}},
	 {{"event-wait", FIRST + 1, FIRST + 5, ANY}},
	 NULL},
	{"a wait behind the record of an event, whatever else was recorded before",
	 {CALIBRATE,
	  {CALL, LAUNCH, 400, 10, 5, 0},
	  {ON_7, "k", 415, 9, 5, 0},
	  {CALL, RECORD, 420, 1, 6, 0},
	  {CALL, RECORD, 440, 1, 9, 0},
	  {CALL, WAIT, 442, 1, 7, 0},
	  {CALL, LAUNCH, 480, 10, 8, 0},
	  {ON_20, "k", 495, 9, 8, 0}},
	 {{"event-wait", FIRST + 1, FIRST + 6, ANY}},
	 NULL},
	{"a call waits for a stream; the rest of its duration is its own",
	 {CALIBRATE,
	  {CALL, LAUNCH, 400, 10, 5, 0},
	  {ON_7, "k", 415, 500, 5, 0},
	  {CALL, "cudaStreamSynchronize", 420, 510, 6, 0}},
	 {{"sync-stream", FIRST + 1, FIRST + 2, 15}},
	 "sync-device"},
	{"a loop asks whether a stream is complete, until it is",
	 {CALIBRATE,
	  {CALL, LAUNCH, 400, 10, 5, 0},
	  {ON_7, "k", 415, 29, 5, 0},
	  {CALL, "cudaStreamQuery", 420, 2, 6, 0},
	  {CALL, "cudaStreamQuery", 423, 2, 7, 0},
	  {CALL, "cudaStreamQuery", 426, 2, 8, 0},
	  {CALL, "cudaStreamQuery", 429, 2, 9, 0},
	  {CALL, "cudaStreamQuery", 432, 2, 10, 0},
	  {CALL, "cudaStreamQuery", 435, 2, 11, 0},
	  {CALL, "cudaStreamQuery", 438, 2, 12, 0},
	  {CALL, "cudaStreamQuery", 441, 4, 13, 0}},
	 {{"poll", FIRST + 1, FIRST + 2, 1},
	  {"poll", FIRST + 1, FIRST + 3, 0},
	  {"poll", FIRST + 2, FIRST + 3, 0},
	  {"poll", FIRST + 1, FIRST + 9, 0},
	  {"poll", FIRST + 8, FIRST + 9, 0}},
	 NULL},
	{"queries that are not a loop: rare ones",
	 {CALIBRATE,
	  {CALL, LAUNCH, 400, 10, 5, 0},
	  {ON_7, "k", 415, 74, 5, 0},
	  {CALL, "cudaEventQuery", 420, 2, 6, 0},
	  {CALL, "cudaEventQuery", 430, 2, 7, 0},
	  {CALL, "cudaEventQuery", 460, 2, 8, 0},
	  {CALL, "cudaEventQuery", 463, 2, 9, 0},
	  {CALL, "cudaEventQuery", 480, 2, 10, 0},
	  {CALL, "cudaEventQuery", 483, 2, 11, 0},
	  {CALL, "cudaEventQuery", 486, 2, 12, 0},
	  {CALL, "cudaEventQuery", 490, 2, 13, 0}},
	 {{0}},
	 "poll"},
	{"a call waits for the device, that is, for both streams",
	 {CALIBRATE,
	  {CALL, LAUNCH, 400, 10, 5, 0},
	  {ON_7, "k", 415, 500, 5, 0},
	  {CALL, LAUNCH, 412, 10, 6, 0},
	  {ON_20, "k", 427, 600, 6, 0},
	  {CALL, "cudaDeviceSynchronize", 430, 610, 7, 0}},
	 {{"sync-device", FIRST + 1, FIRST + 4, 13}, {"sync-device", FIRST + 3, FIRST + 4, 13}},
	 NULL},
	{"malloc returns while a kernel runs, so it never waits",
	 {CALIBRATE,
	  {CALL, LAUNCH, 400, 10, 5, 0},
	  {ON_7, "k", 415, 5000, 5, 0},
	  {CALL, "cudaMalloc", 420, 900, 6, 0},
	  {CALL, "cudaFree", 5500, 1000, 7, 0},
	  {CALL, "cudaMalloc", 6500, 900, 8, 0}},
	 {{"sync-device", FIRST + 1, FIRST + 3, 1000}},
	 NULL},
	{"a copy to pageable memory",
	 {CALIBRATE,
	  {CALL, LAUNCH, 400, 10, 5, 0},
	  {ON_7, "k", 415, 500, 5, 0},
	  {CALL, "cudaMemcpyAsync", 420, 510, 6, 0},
	  {FMT_MEMCPY, 7, "Memcpy DtoH (Device -> Pageable)", 916, 2, 6, 0}},
	 {{"copy", FIRST + 3, FIRST + 2, 12}},
	 NULL},
	{"one thread hands over to another",
	 {CALIBRATE,
	  {FMT_CALL, 2, LAUNCH, 400, 10, 5, 0},
	  {ON_7, "k", 415, 9, 5, 0},
	  {FMT_CALL, 2, LAUNCH, 500, 10, 6, 0},
	  {ON_7, "k", 515, 9, 6, 0},
	  {CALL, LAUNCH, 600, 10, 7, 0},
	  {ON_7, "k", 615, 9, 7, 0}},
	 {{"thread-handover", 6, FIRST, 90}, {"thread-handover", FIRST + 2, FIRST + 4, 90}},
	 NULL},
	{"launched before the recording",
	 {CALIBRATE, {FMT_KERNEL, 30, "k", 50, 100, 99, 0}, {FMT_KERNEL, 30, "k", 152, 9, 98, 0}},
	 {{"window", FIRST, FIRST, 50}},
	 NULL},
	{"a full device",
	 {CALIBRATE,
	  {CALL, LAUNCH, 400, 10, 5, 0},
	  {ON_7, "big", 415, 1000, 5, 0},
	  {CALL, LAUNCH, 420, 10, 6, 0},
	  {ON_20, "k", 1400, 9, 6, 0}},
	 {{"capacity", FIRST + 1, FIRST + 3, 985}},
	 "event-wait"},
	{"a full device until a wave of blocks ends",
	 {CALIBRATE,
	  {CALL, LAUNCH, 400, 10, 5, 0},
	  {ON_7, WAVES, 415, 1000, 5, 0},
	  {CALL, LAUNCH, 600, 10, 6, 0},
	  {ON_20, "k", 715, 9, 6, 0}},
	 {{"capacity", FIRST + 1, FIRST + 3, 300}},
	 "event-wait"},
	{"a delay of more than a wave has another reason",
	 {CALIBRATE,
	  {CALL, LAUNCH, 400, 10, 5, 0},
	  {ON_7, WAVES, 415, 1000, 5, 0},
	  {CALL, LAUNCH, 600, 10, 6, 0},
	  {ON_20, "k", 815, 9, 6, 0}},
	 {{0}},
	 "capacity"},
};

static int has(const struct made *m, const struct row *rows, const struct want *w)
{
	for (size_t i = 0; i < m->ranks[0].n_edges; i++) {
		const struct fmt_run_edge *e = &m->ranks[0].edges[i];

		if (m->row_of[0][e->from] == &rows[w->from] &&
		    m->row_of[0][e->to] == &rows[w->to] && strcmp(rule_of(m, e), w->rule) == 0 &&
		    (w->lag == ANY || e->lag_ns == w->lag * 1000LL))
			return 1;
	}
	return 0;
}

static void check_scene(const struct scene *s)
{
	scoped(unmake) struct made m;

	make(&m, s->rows, ARRAY_SIZE(s->rows), 1);
	for (size_t i = 0; i < ARRAY_SIZE(s->wants) && s->wants[i].rule; i++)
		ck_assert_msg(has(&m, s->rows, &s->wants[i]), "%s: no edge %s %d -> %d", s->what,
			      s->wants[i].rule, s->wants[i].from, s->wants[i].to);
	for (size_t i = 0; i < m.ranks[0].n_edges; i++) {
		const struct fmt_run_edge *e = &m.ranks[0].edges[i];

		ck_assert_msg(!s->never || strcmp(rule_of(&m, e), s->never) != 0, "%s: an edge %s",
			      s->what, s->never);
		ck_assert(i == 0 || m.ranks[0].edges[i - 1].to <= e->to);
	}
}

TEST_ROWS(test_scenes, scenes)
{
	check_scene(row);
}

static struct fmt_constants constants_of(const struct row *rows, size_t n)
{
	struct fmt_constants c;
	struct made m;

	make(&m, rows, n, 1);
	ck_assert_int_eq(fmt_constants_get(m.names, 0, &c), 1);
	unmake(&m);
	return c;
}

/* Rows that repeat with correlations increased by two each time, and the expected constants. */
static const struct {
	const char *what;
	struct row rows[4];
	int times, period;
	int64_t launch_ns, copy_ns; /* -1: not checked */
	bool no_gaps;
} repeated[] = {
	{"if only collectives are launched into an idle stream, they give the launch latency",
	 {{CALL, LAUNCH, 0, 10, 1},
	  {NCCL, ALL_REDUCE, 13, 100, 1},
	  {CALL, LAUNCH, 20, 10, 2},
	  {FMT_KERNEL, 24, "k", 115, 5, 2}},
	 11,
	 200,
	 3000,
	 -1},
	{"the same if every operation except the collectives waits",
	 {{CALL, LAUNCH, 0, 10, 1},
	  {NCCL, ALL_REDUCE, 13, 300, 1},
	  {CALL, LAUNCH, 20, 10, 2},
	  {ON_7, "k", 315, 9, 2}},
	 12,
	 1000,
	 3000,
	 -1},
	{"pairs of launches, the second 5 us before its turn: short queues without gaps",
	 {{CALL, LAUNCH, 0, 3, 1},
	  {ON_7, "k", 4, 9, 1},
	  {CALL, LAUNCH, 4, 3, 2},
	  {ON_7, "k", 13, 4, 2}},
	 12,
	 200,
	 1000,
	 -1,
	 true},
	{"without copies to the host, copies to the device give the latency of copies",
	 {{CALL, "cudaMemcpy", 0, 100, 1},
	  {FMT_MEMCPY, 7, "Memcpy HtoD (Pageable -> Device)", 3, 96, 1}},
	 12,
	 200,
	 -1,
	 3000},
};

TEST_ROWS(test_repeated_rows, repeated)
{
	static struct row rows[48];
	struct fmt_constants c;
	size_t n = 0;

	for (int k = 0; k < row->times; k++)
		for (int j = 0; j < 4 && row->rows[j].name; j++) {
			rows[n] = row->rows[j];
			rows[n].start += k * row->period;
			rows[n++].correlation += 2 * k;
		}
	c = constants_of(rows, n);
	ck_assert_msg(row->launch_ns < 0 || c.launch_ns == row->launch_ns, "%s: %lld", row->what,
		      (long long)c.launch_ns);
	ck_assert_msg(row->copy_ns < 0 || c.copy_ns == row->copy_ns, "%s: %lld", row->what,
		      (long long)c.copy_ns);
	for (size_t k = 0; row->no_gaps && k < sizeof(c.gap_ns) / sizeof(int64_t); k++)
		ck_assert_int_eq((&c.gap_ns[0][0])[k], 0);
}

/* Code loading delays the only copy on an idle stream. The copies behind kernels show that copies
 * begin sooner. */
TEST(test_copy_held_back)
{
	static struct row rows[2 + 4 * 8] = {
		{CALL, "cudaMemcpyAsync", 0, 22000, 1},
		{FMT_MEMCPY, 7, "Memcpy DtoH (Device -> Pageable)", 21990, 5, 1}};
	const struct row behind[] = {
		{CALL, LAUNCH, 30000, 3, 2},
		{ON_7, "k", 30004, 30, 2},
		{CALL, "cudaMemcpyAsync", 30010, 32, 3},
		{FMT_MEMCPY, 7, "Memcpy DtoH (Device -> Pageable)", 30035, 5, 3}};

	for (int i = 0; i < 4 * 8; i++) {
		rows[2 + i] = behind[i % 4];
		rows[2 + i].start += i / 4 * 1000;
		rows[2 + i].correlation += i / 4 * 2;
	}
	ck_assert_int_le(constants_of(rows, ARRAY_SIZE(rows)).copy_ns, 25000);
}

/* If most operations wait for another stream, the launch latency is taken from those that do not
 * wait. */
TEST(test_launch_among_waits)
{
	static struct row rows[48];
	struct fmt_constants c;

	for (int i = 0; i < 16; i++) {
		int held = i % 8 == 0 ? 0 : 200 + i % 3;

		rows[2 * i] = (struct row){CALL, LAUNCH, 1000 * i, 10, i + 1, 0};
		rows[2 * i + 1] = (struct row){ON_7, "k", 1000 * i + 14 + held, 9, i + 1, 0};
	}
	c = constants_of(rows, 32);
	ck_assert_int_eq(c.launch_ns, 4000);
}

TEST(test_constants)
{
	struct fmt_constants c;

	c = constants_of(scenes[0].rows, ARRAY_SIZE(scenes[0].rows));
	ck_assert_int_eq(c.anchor_ns, 0);
	ck_assert_int_eq(c.launch_ns, 5000);
	ck_assert_int_eq(c.clock_ns, 0);
	ck_assert_int_eq(c.unexplained, 0);
}

/* Call durations vary, but operations start 3 us after the start of their calls. */
TEST(test_launched_from_start)
{
	static struct row rows[32];
	struct fmt_constants c;

	for (int i = 0; i < 16; i++) {
		rows[2 * i] = (struct row){CALL, LAUNCH, 100 * i, 5 + i * 7 % 13, i + 1, 0};
		rows[2 * i + 1] = (struct row){ON_7, "k", 100 * i + 3, 2, i + 1, 0};
	}
	c = constants_of(rows, ARRAY_SIZE(rows));
	ck_assert_int_eq(c.from_start, 1);
	ck_assert_int_eq(c.launch_ns, 3000);
}

/* Every second kernel is on a stream that was made to wait, and starts 20 us later than its launch
 * allows. */
TEST(test_launches_behind_waits)
{
	static struct row rows[40];

	for (int i = 0; i < 8; i++) {
		int at = 200 * i, correlation = 3 * i + 1;

		rows[5 * i] = (struct row){CALL, LAUNCH, at, 10, correlation, 0};
		rows[5 * i + 1] = (struct row){ON_7, "k", at + 13, 2, correlation, 0};
		rows[5 * i + 2] = (struct row){CALL, WAIT, at + 90, 1, correlation + 1, 0};
		rows[5 * i + 3] = (struct row){CALL, LAUNCH, at + 100, 10, correlation + 2, 0};
		rows[5 * i + 4] = (struct row){ON_7, "k", at + 133, 2, correlation + 2, 0};
	}
	ck_assert_int_eq(constants_of(rows, ARRAY_SIZE(rows)).launch_ns, 3000);
}

/* A collective starts 1 us after the end of the kernel that it waits for. Every second one starts
 * when the previous collective of its stream ends, which is 2 us after the end of the kernel. */
TEST(test_events_behind_collectives)
{
	static struct row rows[12 * 12];

	for (int i = 0; i < 12; i++) {
		int at = 1000 * i, number = 8 * i + 1;
		const struct row iteration[12] = {
			{CALL, LAUNCH, at, 5, number, 0},
			{ON_7, "k", at + 300, 30, number, 0},
			{CALL, RECORD, at + 10, 1, number + 1, 0},
			{CALL, WAIT, at + 12, 1, number + 2, 0},
			{CALL, "cudaLaunchKernelExC", at + 20, 5, number + 3, 0},
			{NCCL, ALL_REDUCE, at + 331, 60, number + 3, 0},
			{CALL, LAUNCH, at + 30, 5, number + 4, 0},
			{ON_7, "k", at + 330, 59, number + 4, 0},
			{CALL, RECORD, at + 40, 1, number + 5, 0},
			{CALL, WAIT, at + 42, 1, number + 6, 0},
			{CALL, "cudaLaunchKernelExC", at + 50, 5, number + 7, 0},
			{NCCL, ALL_REDUCE, at + 391, 60, number + 7, 0},
		};

		memcpy(&rows[12 * i], iteration, sizeof(iteration));
	}
	ck_assert_int_eq(constants_of(rows, ARRAY_SIZE(rows)).event_ns, 1000);
}

/* In queues, kernels of 30 us follow each other after 1 us, and collectives after 9 us. Kernels of
 * other durations are like the former. */
TEST(test_gaps_of_rare_classes)
{
	static struct row rows[48];
	int short_kernel = (int)fmt_gap_class(FMT_KERNEL, 3000);
	struct fmt_constants c;

	for (int i = 0; i < 12; i++) {
		rows[4 * i] = (struct row){CALL, LAUNCH, 20 * i, 5, 2 * i + 1, 0};
		rows[4 * i + 1] = (struct row){ON_7, "k", 500 + 31 * i, 30, 2 * i + 1, 0};
		rows[4 * i + 2] = (struct row){CALL, LAUNCH, 20 * i + 10, 5, 2 * i + 2, 0};
		rows[4 * i + 3] = (struct row){NCCL, ALL_REDUCE, 500 + 39 * i, 30, 2 * i + 2, 0};
	}
	c = constants_of(rows, ARRAY_SIZE(rows));
	ck_assert_int_eq(c.gap_ns[short_kernel][short_kernel], 1000);
}

/* In a queue, one kernel template has a gap of 3 us and the other of 1 us. */
TEST(test_gaps_of_kernels)
{
	static struct row rows[48];
	scoped(fmt_template_gaps_done) struct fmt_template_gaps gaps;
	scoped(unmake) struct made m;
	int at = 500;

	for (int i = 0; i < 24; i++) {
		rows[2 * i] = (struct row){CALL, LAUNCH, 10 * i, 5, i + 1, 0};
		rows[2 * i + 1] = (struct row){ON_7, i % 2 ? "l" : "k", at, 30, i + 1, 0};
		at += 30 + (i % 2 ? 1 : 3);
	}
	make(&m, rows, ARRAY_SIZE(rows), 1);
	ck_assert_int_eq(fmt_template_gaps_init(&gaps, fmt_n_templates(m.names)), 0);
	fmt_template_gaps_get(m.names, &gaps);
	for (size_t i = 0; i < m.ranks[0].n_events; i++) {
		int64_t gap = fmt_template_gap(&gaps, m.ranks[0].events[i].template);

		switch (m.row_of[0][i]->name[0]) {
		case 'k':
			ck_assert(gap > 700 && gap < 1000);
			break;
		case 'l':
			ck_assert(gap < -700 && gap > -1100);
			break;
		default:
			ck_assert_int_eq(gap, 0);
		}
	}
}

/* The end of a kernel is an event that is recorded behind its launch, which takes 6 us: a kernel of
 * 3 us on an idle stream seems to take 6 us, too. In a queue, such kernels take 3 us. */
TEST(test_late_ends)
{
	static struct row rows[40];

	for (int i = 0; i < 20; i++) {
		int at = 1000 * (i / 2), queued = i % 2;

		rows[2 * i] = (struct row){CALL, LAUNCH, at + 6 * queued, 6, i + 1, 0};
		rows[2 * i + 1] = queued  ? (struct row){ON_7, "k", at + 34, 3, i + 1, 0}
				  : i % 4 ? (struct row){ON_7, "k", at + 4, 6, i + 1, 0}
					  : (struct row){ON_7, "long", at + 4, 30, i + 1, 0};
	}
	for (int event_times = 0; event_times < 2; event_times++) {
		scoped(unmake) struct made m;
		struct fmt_constants c;
		int n = 0;

		make_process(&m, rows, ARRAY_SIZE(rows), 1, 0, event_times);
		fmt_constants_get(m.names, 0, &c);
		ck_assert_int_eq(c.from_start, event_times);
		ck_assert_int_eq(c.launch_ns, event_times ? 4000 : -2000);
		for (size_t i = 0; i < m.ranks[0].n_edges; i++) {
			const struct fmt_run_edge *e = &m.ranks[0].edges[i];

			if (strcmp(rule_of(&m, e), "late-end") != 0)
				continue;
			ck_assert_int_eq(m.row_of[0][e->to]->duration, 6);
			ck_assert_uint_eq(e->from, e->to);
			ck_assert_int_eq(e->kind, FMT_EDGE_RETURN);
			ck_assert_int_eq(e->lag_ns, 3000);
			n++;
		}
		ck_assert_int_eq(n, event_times ? 5 : 0);
	}
}

TEST(test_empty_run)
{
	scoped(unmake) struct made m;

	make(&m, NULL, 0, 2);
	ck_assert_uint_eq(m.ranks[0].n_edges, 0);
}
