/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/json.h"

#include "base/array.h"
#include "base/scope.h"
#include "base/text.h"
#include "tests/unit/test.h"

#include <sys/mman.h>

/* An event as the reader returns it, as one line of text. */
struct seen {
	struct fmt_strings strings;
	struct text text;
};

static void print_arg(struct seen *s, const struct kineto_arg *a)
{
	if (a->type == FMT_INT)
		text_i64(&s->text, a->value);
	else
		text_printf(&s->text, a->type == FMT_STRING ? "'%s'" : "%s",
			    s->strings.strings[a->value].s);
}

static int on_event(void *context, const struct kineto_event *e)
{
	struct seen *s = context;

	text_printf(&s->text, "@%d %s/%s/%s ", (int)e->offset, s->strings.strings[e->ph].s,
		    s->strings.strings[e->cat].s, s->strings.strings[e->name].s);
	print_arg(s, &e->pid);
	text_char(&s->text, ',');
	print_arg(s, &e->tid);
	text_printf(&s->text, " %d:%lld %d:%lld", (int)e->has_ts, (long long)e->ts_ns,
		    (int)e->has_dur, (long long)e->dur_ns);
	for (size_t i = 0; i < e->n_args; i++) {
		text_printf(&s->text, " %s=", s->strings.strings[e->args[i].key].s);
		print_arg(s, &e->args[i]);
	}
	for (size_t i = 0; i < e->n_others; i++) {
		text_printf(&s->text, " .%s=", s->strings.strings[e->others[i].key].s);
		print_arg(s, &e->others[i]);
	}
	text_str(&s->text, ";");
	return 0;
}

static int on_member(void *context, uint32_t key, const char *json, size_t len)
{
	struct seen *s = context;

	text_printf(&s->text, "%s=%.*s;", s->strings.strings[key].s, (int)len, json);
	return 0;
}

static int read_text(const char *json, size_t len, struct seen *s, struct fmt_error *err)
{
	scoped(close_fd) int fd = memfd_create("json", MFD_CLOEXEC);
	struct kineto_json j = {
		.strings = &s->strings, .event = on_event, .member = on_member, .context = s};
	struct kineto_source *source;
	struct kineto_json_counts counts;
	char path[64];
	int r;

	ck_assert_int_eq(write(fd, json, len), (ssize_t)len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ck_assert_int_eq(kineto_strings_init(&s->strings), 0);
	r = kineto_source_open(path, &source, err);
	if (r < 0)
		return r;
	r = kineto_json_read(source, path, &j, &counts, err);
	kineto_source_close(source);
	ck_assert(r < 0 || counts.bytes == len);
	if (counts.not_numbers || counts.commas)
		text_printf(&s->text, "%d not numbers, %d commas", (int)counts.not_numbers,
			    (int)counts.commas);
	text_char(&s->text, '\0');
	return r;
}

static void seen_done(struct seen *s)
{
	fmt_strings_done(&s->strings);
	text_done(&s->text);
}

#define EVENT "{\"ph\":\"X\",\"cat\":\"c\",\"name\":\"n\",\"pid\":1,\"tid\":2,\"ts\":3,\"dur\":4}"
#define IN(event) "{\"traceEvents\":[" event "]}"

static const struct {
	const char *json, *seen;
} good[] = {
	{IN(EVENT), "@16 X/c/n 1,2 1:3000 1:4000;"},
	{"[" EVENT "]", "@1 X/c/n 1,2 1:3000 1:4000;"},
	{IN(EVENT "," EVENT), "@16 X/c/n 1,2 1:3000 1:4000;@79 X/c/n 1,2 1:3000 1:4000;"},
	{"{\"a\":1,\"b\":\"x\\\"y\",\"c\":[1, 2.50, {\"d\": null}],\"traceEvents\":[],\"e\":true}",
	 "a=1;b=\"x\\\"y\";c=[1,2.50,{\"d\":null}];e=true;"},
	{IN("{\"pid\":\"p\",\"tid\":\"\"}"), "@16 // 'p','' 0:0 0:0;"},
	{IN("{\"ts\":\"5\",\"dur\":null,\"name\":7}"), "@16 // , 2:0 2:0;"},
	{IN("{\"args\":{\"i\":9223372036854775807,\"j\":9223372036854775808,\"k\":-0,\"l\":1.0,"
	    "\"m\":-9223372036854775808,\"s\":\"5\",\"n\":null,\"o\":[ ],\"p\":{ }}}"),
	 "@16 // , 0:0 0:0 i=9223372036854775807 j=9223372036854775808 k=-0 l=1.0 "
	 "m=-9223372036854775808 s='5' n=null o=[] p={};"},
	{IN("{\"s\":\"g\",\"args\":{\"x\":1,\"x\":2},\"id\":[1]}"),
	 "@16 // , 0:0 0:0 x=1 x=2 .s='g' .id=[1];"},
	{IN("{\"name\":\"a\\u00e9\\/\\\\\"}"), "@16 //a\xc3\xa9/\\ , 0:0 0:0;"},
	{IN("{\"name\":\"a\x01\nb\"}"), "@16 //a  b , 0:0 0:0;"},
	{IN("{\"args\":5}"), "@16 // , 0:0 0:0 .args=5;"},
	{"\xef\xbb\xbf[" EVENT "]", "@4 X/c/n 1,2 1:3000 1:4000;"},
	{IN("{\"name\":\"a\xff\xc3\"}"), "@16 //a\xff\xc3 , 0:0 0:0;"},
	/* Invalid JSON. */
	{"[" EVENT, "@1 X/c/n 1,2 1:3000 1:4000;"},
	{"[" EVENT ",\n", "@1 X/c/n 1,2 1:3000 1:4000;"},
	{"[" EVENT ", ]", "@1 X/c/n 1,2 1:3000 1:4000;0 not numbers, 1 commas"},
	{IN("{\"args\":{\"a\":NaN,\"b\":-Infinity,\"c\":inf,\"d\":-nan(ind),\"e\":1},\"ts\":3,"
	    "\"dur\":nan}"
	    "," EVENT),
	 "@16 // , 1:3000 2:0 a='NaN' b='-Infinity' c='Infinity' d='NaN' e=1;@94 X/c/n 1,2 1:3000 "
	 "1:4000;5 not numbers, 0 commas"},
	{"{\"a\":[{\"b\":[NaN,{\"c\":+inf}],},],\"d\":Infinity,\"traceEvents\":[" EVENT "],}",
	 "a=[{\"b\":[\"NaN\",{\"c\":\"Infinity\"}]}];d=\"Infinity\";@60 X/c/n 1,2 1:3000 1:4000;"
	 "3 not numbers, 3 commas"},
	{IN("{\"args\":{\"a\":\"b, nan, c\",\"d\": inf ,}}"),
	 "@16 // , 0:0 0:0 a='b, nan, c' d='Infinity';1 not numbers, 1 commas"},
};

TEST_ROWS(test_events_are_read, good)
{
	scoped(seen_done) struct seen s = {0};

	ck_assert_int_eq(read_text(row->json, strlen(row->json), &s, NULL), 0);
	ck_assert_str_eq(s.text.data, row->seen);
}

static const struct {
	const char *json;
	int64_t offset; /* -1: the error has no offset */
	const char *what;
} bad[] = {
	{"x", 0, "not JSON"},
	{"\"x\"", 0, "neither an object nor an array"},
	{"{\"a\":1}", -1, "traceEvents"},
	{"{", 1, "truncated here"},
	{"[{\"ph\":\"X\"", 10, "truncated here"},
	{"{\"traceEvents\":[" EVENT, 77, "truncated here"},
	{"NaN", 0, "neither an object nor an array"},
	{"[" EVENT ",}", 63, "not JSON"},
	{IN("{\"ts\":nano}"), 22, "not JSON"},
	{IN("{\"ts\":,}"), 22, "not JSON"},
	{"[1]", 2, "not an object"},
	{"[[]]", 2, "not an object"},
	{"[\"x\"]", 1, "not an object"},
	{IN("{\"name\":\"a\"b\"}"), 28, "unescaped quote"},
	{IN(EVENT) "x", 80, "not JSON"},
};

TEST_ROWS(test_invalid_files_are_refused, bad)
{
	scoped(seen_done) struct seen s = {0};
	struct fmt_error err = {0};

	ck_assert_int_eq(read_text(row->json, strlen(row->json), &s, &err), -EBADMSG);
	ck_assert_msg(strstr(err.what, row->what), "%s: %s", row->json, err.what);
	if (row->offset < 0)
		ck_assert_uint_eq(err.offset, FMT_NO_OFFSET);
	else
		ck_assert_msg(llabs((long long)err.offset - row->offset) <= 1, "%s: %lld",
			      row->json, (long long)err.offset);
}

/* Valid and invalid values. */
static const char *const values[] = {
	"1",
	"-0",
	"-1",
	"01",
	"-",
	"+1",
	"1.",
	".5",
	"1.50",
	"1e5",
	"1E+05",
	"1e",
	"1e+",
	"1.e1",
	"12345678901234567890",
	"true",
	"false",
	"null",
	"tru",
	"nulls",
	"True",
	"NaN",
	"\"\"",
	"\"x\"",
	"\"\\u0041\"",
	"\"\\\"\"",
	"\"\xc3\xa9\"",
	"\"a\tb\"",
	"\"x",
	"\"x\\\"",
	"x\"",
	"[]",
	"[ ]",
	"{ }",
	"[1 , 2]",
	"[1 2]",
	"[1,]",
	"[,1]",
	"[01]",
	"[1.]",
	"[true,nul]",
	"[\"\xc3\xa9\"]",
	"[\"\x7f\"]",
	"[\"\xff\"]",
	"[\"a\tb\"]",
	"[\"a\\nb\"]",
	"[\"a\"",
	"[[]",
	"[]]",
	"[}",
	"{]",
	"{\"a\" : [{}], \"b\":-1.0e-1}",
	"{\"a\":1,}",
	"{\"a\" 1}",
	"{\"a\":}",
	"{a:1}",
	"{1:1}",
	"{\"a\\n\":1}",
	"{\"args\":{\"args\":1}}",
	"1,\"x\":1",
	"1}",
	"1,",
	"",
};

#define ROW(value) "{\"args\":{\"v\":" value "},\"e\":\"%2$s\"},"

static int read_row(const char *format, const char *value, const char *e, struct seen *s,
		    struct fmt_error *err)
{
	char json[1024];

	snprintf(json, sizeof(json), format, value, e);
	return read_text(json, strlen(json), s, err);
}

/* Events are read with guesses from the previous event, which change nothing. */
TEST(test_guesses_change_nothing)
{
	static const char *const rows[] = {
		"[" ROW("%1$s") EVENT "]",
		"[" ROW("%1$s") ROW("%1$s") EVENT "]",
		"[" ROW("\"x\"") ROW("%1$s") EVENT "]",
		"[" ROW("[1,2]") ROW("%1$s") EVENT "]",
	};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		scoped(seen_done) struct seen first = {0};
		struct fmt_error why = {0};
		int r = read_row(rows[0], values[i], "\\u0061", &first, &why);
		char *args = r == 0 ? strstr(first.text.data, " v=") : NULL;

		if (args)
			args[strcspn(args, ";") + 1] = '\0';

		for (size_t k = 0; k < ARRAY_SIZE(rows); k++) {
			scoped(seen_done) struct seen s = {0};
			struct fmt_error err = {0};

			ck_assert_msg(read_row(rows[k], values[i], "a", &s, &err) == r, "%s: %s",
				      values[i], err.what);
			ck_assert_str_eq(err.what, why.what);
			if (r == 0)
				ck_assert_msg(strstr(s.text.data, args), "%s: %s", values[i],
					      s.text.data);
		}
	}
}

TEST(test_nesting_is_bounded)
{
	scoped(seen_done) struct seen s = {0};
	static char json[200000];
	struct fmt_error err = {0};
	size_t n = (size_t)sprintf(json, "{\"traceEvents\":[{\"args\":{\"x\":");

	memset(json + n, '[', 100000);
	ck_assert_int_eq(read_text(json, n + 100000, &s, &err), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.what, "nested too deep"));
}

/* Tokens that cross the boundaries of the windows in which a file is read. */
TEST(test_tokens_across_windows)
{
	scoped(seen_done) struct seen s = {0};
	size_t n = 5000, len = 1;
	scoped(free_ptr) char *json = malloc(n * sizeof(EVENT) + 2);

	ck_assert_ptr_nonnull(json);
	json[0] = '[';
	for (size_t i = 0; i < n; i++)
		len += (size_t)sprintf(json + len, "%s%s", i ? "," : "", EVENT);
	json[len++] = ']';
	ck_assert_int_eq(read_text(json, len, &s, NULL), 0);
	n = 0;
	for (const char *at = s.text.data; (at = strstr(at, " X/c/n 1,2 1:3000 1:4000;")); at++)
		n++;
	ck_assert_uint_eq(n, 5000);
}

/* Long strings, which are skipped at once, that cross the boundaries. */
TEST(test_long_strings_across_windows)
{
	scoped(seen_done) struct seen s = {0};
	scoped(text_done) struct text json = {0};
	size_t n = 0;

	text_str(&json, "[" EVENT ",{\"name\":\"\\n");
	for (size_t i = 0; i < 1000000; i++)
		text_str(&json, "[{\\\"\\\\},");
	text_str(&json, "\"}," EVENT "," EVENT "]");
	ck_assert_int_eq(read_text(json.data, json.len, &s, NULL), 0);
	ck_assert_uint_gt(s.text.len, 6000000);
	for (const char *at = s.text.data; (at = strstr(at, " X/c/n 1,2 1:3000 1:4000;")); at++)
		n++;
	ck_assert_uint_eq(n, 3);
}

/* A number beside the events at a window boundary. */
TEST(test_number_of_document_across_windows)
{
	static const char end[] = "],\"a\":1234567890}";

	for (size_t shift = 0; shift < sizeof(end); shift++) {
		scoped(seen_done) struct seen s = {0};
		scoped(text_done) struct text json = {0};

		text_str(&json, "{\"traceEvents\":[");
		while (json.len + shift < 256 << 10)
			text_char(&json, ' ');
		text_str(&json, end);
		ck_assert_int_eq(read_text(json.data, json.len, &s, NULL), 0);
		ck_assert_str_eq(s.text.data, "a=1234567890;");
	}
}

/* NaN and Infinity, which are not JSON, at every window boundary. */
TEST(test_nan_and_infinity_across_windows)
{
	static const char event[] = "{\"args\":{\"a\": -Infinity ,\"b\":nan, }},";

	for (size_t shift = 0; shift < sizeof(event); shift++) {
		scoped(seen_done) struct seen s = {0};
		scoped(text_done) struct text json = {0};
		size_t n = 0;

		text_char(&json, '[');
		for (size_t i = 0; i < shift; i++)
			text_char(&json, ' ');
		for (size_t i = 0; i < 6600; i++)
			text_str(&json, event);
		ck_assert_int_eq(read_text(json.data, json.len, &s, NULL), 0);
		for (const char *at = s.text.data; (at = strstr(at, " a='-Infinity' b='NaN';"));
		     at++)
			n++;
		ck_assert_uint_eq(n, 6600);
		ck_assert_ptr_nonnull(strstr(s.text.data, "13200 not numbers, 6600 commas"));
	}
}
