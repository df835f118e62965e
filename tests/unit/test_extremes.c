/* SPDX-License-Identifier: Apache-2.0 */

/* Times in a trace of unknown origin may be any 64 bits: every report and renderer must give valid
 * output. The sanitizer builds detect overflows. */
#include "formats/render/export/chrome.h"
#include "formats/render/export/svg.h"
#include "formats/render/report/report.h"
#include "formats/trace/json.h"

#include "tests/unit/made.h"
#include "tests/unit/test.h"

static const struct {
	int64_t start_ns, duration_ns;
} times[] = {
	{INT64_MIN, 0}, {INT64_MIN, INT64_MAX}, {-1, 1},	{0, 0},
	{0, INT64_MAX}, {1, INT64_MAX},		{INT64_MAX, 0}, {INT64_MAX, INT64_MAX},
};

/* Returns a slice with an event of each kind at each of the times. Events of one track are sorted
 * by start. */
static struct fmt_slice *extreme_slice(const struct made *m, uint32_t rank)
{
	struct fmt_slice *s = calloc(1, sizeof(*s));
	const uint32_t templates[] = {m->launch, m->kernel, m->collective, m->range};
	const uint32_t tracks[] = {0, 1, 1, 0}, n_values[] = {0, 0, 2, 2};
	size_t n = ARRAY_SIZE(times) * ARRAY_SIZE(templates);

	s->rank = rank;
	s->iteration = (struct fmt_iteration){
		.number = INT64_MAX, .start_ns = INT64_MIN, .duration_ns = INT64_MAX};
	s->events = calloc(n, sizeof(*s->events));
	s->ranges = calloc(n, sizeof(*s->ranges));
	s->values = calloc(n * 2, sizeof(*s->values));
	for (size_t i = 0; i < n; i++) {
		size_t k = i % ARRAY_SIZE(templates), at = i / ARRAY_SIZE(templates);
		struct fmt_event e = {.template = templates[k],
				      .track = tracks[k],
				      .start_ns = times[at].start_ns,
				      .duration_ns = times[at].duration_ns,
				      .correlation = at % 2 ? UINT64_MAX : 0,
				      .first_value = (uint32_t)s->n_values};

		for (uint32_t v = 0; v < n_values[k]; v++)
			s->values[s->n_values++] = v ? INT64_MAX : INT64_MAX * (int64_t)(at % 2);
		if (k == ARRAY_SIZE(templates) - 1)
			s->ranges[s->n_ranges++] = e;
		else
			s->events[s->n_events++] = e;
	}
	ck_assert_int_eq(fmt_slice_sort(s, NULL), 0);
	return s;
}

static struct fmt_trace *write_and_open(const char *folder)
{
	struct fmt_error err = {.what = ""};
	const char *path = made_path(folder, "t");
	struct fmt_writer *w;
	struct made m;

	made_init(&m, 3);
	ck_assert_int_eq(fmt_writer_open(path, m.names, 0, &w, &err), 0);
	for (uint32_t r = 0; r < 3; r++) {
		struct fmt_rank_writer *rank;
		scoped(fmt_slice_freep) struct fmt_slice *s = extreme_slice(&m, r);

		ck_assert_int_eq(fmt_writer_rank(w, r, r, &rank, &err), 0);
		ck_assert_msg(fmt_rank_writer_slice(rank, s, &err) == 0, "%s", err.what);
	}
	ck_assert_msg(fmt_writer_close(w, &err) == 0, "%s", err.what);
	made_done(&m);
	return made_open(path);
}

TEST(test_extreme_times)
{
	static const struct fmt_part parts[] = {
		{FMT_ANY, FMT_ANY}, {INT64_MAX, FMT_ANY}, {INT64_MAX, 2}, {FMT_ANY, 0}};
	static const struct fmt_report_style style;
	scoped(made_removep) char *folder = made_directory();
	scoped(fmt_trace_closep) struct fmt_trace *trace = write_and_open(folder);

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		struct fmt_report *report;
		scoped(text_done) struct text t = {0};

		ck_assert_int_eq(fmt_report_new(trace, &parts[i], true, &report, NULL), 0);
		fmt_report_text(report, &style, &t);
		ck_assert_int_eq(t.error, 0);
		t.len = 0;
		fmt_report_json(report, &style, &t);
		ck_assert(fmt_json_valid(t.data, t.len));
		fmt_report_free(report);
		t.len = 0;
		ck_assert_int_eq(fmt_chrome(trace, FMT_CHROME_MERGED, &parts[i], &t, NULL), 0);
		ck_assert(fmt_json_valid(t.data, t.len));
		t.len = 0;
		ck_assert_int_eq(fmt_svg(trace, &parts[i], true, &t, NULL), 0);
		ck_assert(!memmem(t.data, t.len, "nan", 3) && !memmem(t.data, t.len, "inf", 3));
	}
}
