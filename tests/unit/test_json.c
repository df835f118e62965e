/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/json.h"

#include "base/array.h"
#include "base/scope.h"
#include "tests/unit/test.h"

#define BYTES(s) (s), sizeof(s) - 1

static const struct {
	const char *in;
	size_t len;
	const char *want;
} strings[] = {
	{BYTES(""), "\"\""},
	{BYTES("plain"), "\"plain\""},
	{BYTES("a\"b\\c"), "\"a\\\"b\\\\c\""},
	{BYTES("\b\t\n\v\f\r"), "\"\\b\\t\\n\\u000b\\f\\r\""},
	{BYTES("\0\x1f\x7f"), "\"\\u0000\\u001f\\u007f\""},
	{BYTES("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
	{BYTES("\xff"), "\"\xef\xbf\xbd\""},
	{BYTES("\xc3"), "\"\xef\xbf\xbd\""},
	{BYTES("\xc0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\""},
	{BYTES("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
	{BYTES("\xf4\x90\x80\x80x"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx\""},
};

TEST_ROWS(test_strings, strings)
{
	scoped(text_done) struct text t = {0};

	fmt_json_string(&t, row->in, row->len);
	ck_assert(fmt_json_valid(t.data, t.len));
	text_char(&t, 0);
	ck_assert_str_eq(t.data, row->want);
}

static const struct {
	const char *in;
	int valid;
} values[] = {
	{"0", 1},
	{"-0.5e+10", 1},
	{" [1, {\"a\": [true, false, null]}, \"\\u00e9\\n\"] ", 1},
	{"{}", 1},
	{"[]", 1},
	{"", 0},
	{"01", 0},
	{"1.", 0},
	{"-", 0},
	{"1e", 0},
	{"+1", 0},
	{"NaN", 0},
	{"nul", 0},
	{"[1,]", 0},
	{"[1 2]", 0},
	{"{\"a\" 1}", 0},
	{"{1: 2}", 0},
	{"\"\\x\"", 0},
	{"\"\\u12g4\"", 0},
	{"\"\\u12", 0},
	{"\"\n\"", 0},
	{"\"\xff\"", 0},
	{"\"", 0},
	{"1 2", 0},
	{"[[1]", 0},
};

TEST_ROWS(test_validity, values)
{
	ck_assert_msg(fmt_json_valid(row->in, strlen(row->in)) == row->valid, "%s", row->in);
}

TEST(test_deep_nesting_is_refused)
{
	char deep[4000];

	memset(deep, '[', sizeof(deep));
	ck_assert(!fmt_json_valid(deep, sizeof(deep)));
	memset(deep + 64, ']', 64);
	ck_assert(fmt_json_valid(deep, 128));
	memset(deep, '[', 65);
	memset(deep + 65, ']', 65);
	ck_assert(!fmt_json_valid(deep, 130));
	ck_assert(!fmt_json_valid("\"\\\0\"", 4));
}

TEST(test_invalid_values_become_strings)
{
	scoped(text_done) struct text t = {0};

	fmt_json_value(&t, "[1]", 3);
	fmt_json_value(&t, "],\"x\":[", 7);
	text_char(&t, 0);
	ck_assert_str_eq(t.data, "[1]\"],\\\"x\\\":[\"");
}

TEST(test_elements)
{
	static const char array[] = " [ 1 ,[2, 3], {\"a\": [4]} , \"]\" ] ";
	static const char *const want[] = {"1", "[2, 3]", "{\"a\": [4]}", "\"]\""};
	const char *at = array, *end = array + strlen(array), *element;
	size_t len, n = 0;

	for (; fmt_json_element(&at, end, &element, &len); n++) {
		ck_assert_uint_lt(n, 4);
		ck_assert_uint_eq(len, strlen(want[n]));
		ck_assert_mem_eq(element, want[n], len);
	}
	ck_assert_uint_eq(n, 4);
	at = "[]";
	ck_assert_int_eq(fmt_json_element(&at, at + 2, &element, &len), 0);
	at = "7";
	ck_assert_int_eq(fmt_json_element(&at, at + 1, &element, &len), 0);
}

TEST(test_member)
{
	static const char object[] = " { \"a\" : 1, \"bb\":{\"a\":2} , \"c\": \"x\" } ";
	const char *value;
	size_t len;

	ck_assert_int_eq(fmt_json_member(object, strlen(object), "bb", &value, &len), 1);
	ck_assert_mem_eq(value, "{\"a\":2}", len);
	ck_assert_int_eq(fmt_json_member(object, strlen(object), "c", &value, &len), 1);
	ck_assert_mem_eq(value, "\"x\"", len);
	ck_assert_int_eq(fmt_json_member(object, strlen(object), "b", &value, &len), 0);
	ck_assert_int_eq(fmt_json_member(object, 12, "c", &value, &len), 0);
	ck_assert_int_eq(fmt_json_member("[]", 2, "c", &value, &len), 0);
}

TEST(test_member_of_a_kind)
{
	static const char object[] =
		"{\"s\": \"a\\\"b\", \"e\": \"\", \"n\": -12, \"m\": 9223372036854775807}";
	size_t len = strlen(object);
	const char *text;

	ck_assert_uint_eq(fmt_json_member_text(object, len, "s", &text), 4);
	ck_assert_mem_eq(text, "a\\\"b", 4);
	ck_assert_uint_eq(fmt_json_member_text(object, len, "e", &text), 0);
	ck_assert_uint_eq(fmt_json_member_text(object, len, "n", &text), 0);
	ck_assert_uint_eq(fmt_json_member_text("", 0, "s", &text), 0);
	ck_assert_int_eq(fmt_json_member_i64(object, len, "n", 7), -12);
	ck_assert_int_eq(fmt_json_member_i64(object, len, "m", 7), INT64_MAX);
	ck_assert_int_eq(fmt_json_member_i64(object, len, "s", 7), 7);
	ck_assert_int_eq(fmt_json_member_i64(object, len, "none", 7), 7);
	ck_assert_int_eq(fmt_json_member_i64("{\"a\": -9223372036854775808}", 27, "a", 7),
			 INT64_MIN);
}

static const struct {
	const char *in, *out;
	size_t valid;
} escapes[] = {
	{"plain", "plain", 5},
	{"a\\\"b\\\\c\\/d", "a\"b\\c/d", 10},
	{"\\b\\f\\n\\r\\t", "\b\f\n\r\t", 10},
	{"\\u0041\\u00e9\\u20ac", "A\xc3\xa9\xe2\x82\xac", 18},
	{"\\ud83d\\ude00", "\xf0\x9f\x98\x80", 12},
	{"\\ud83dx", "\xef\xbf\xbdx", 7},
	{"\\ude00", "\xef\xbf\xbd", 6},
	{"a\\x", "a", 1},
	{"a\\", "a", 1},
	{"\\u12g4", "", 0},
	{"\\u123", "", 0},
};

TEST_ROWS(test_escape_sequences, escapes)
{
	scoped(text_done) struct text t = {0};

	ck_assert_uint_eq(fmt_json_unescape(&t, row->in, strlen(row->in)), row->valid);
	ck_assert_msg(t.len == strlen(row->out) && memcmp(t.data ?: "", row->out, t.len) == 0,
		      "%s: %.*s", row->in, (int)t.len, t.data);
}

TEST(test_integers)
{
	static const struct {
		const char *text;
		int valid;
		int64_t value;
	} integers[] = {
		{"0", 1, 0},
		{"-12", 1, -12},
		{"9223372036854775807", 1, INT64_MAX},
		{"-9223372036854775808", 1, INT64_MIN},
		{"-0", 0, 0},
		{"9223372036854775808", 0, 0},
		{"01", 0, 0},
		{"1.0", 0, 0},
		{"-", 0, 0},
		{"", 0, 0},
		{"\"1\"", 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(integers); i++) {
		const char *text = integers[i].text;
		int64_t v = 0;

		ck_assert_msg(fmt_json_integer(text, strlen(text), &v) == integers[i].valid, "%s",
			      text);
		ck_assert(v == integers[i].value);
	}
}

TEST(test_document)
{
	scoped(text_done) struct text t = {0};
	struct fmt_json j = {.text = &t, .broken = 1};

	fmt_json_open(&j, NULL, '{');
	fmt_json_u64(&j, "gpus", 4);
	fmt_json_open(&j, "none", '[');
	fmt_json_close(&j, ']');
	fmt_json_open(&j, "list", '[');
	fmt_json_open(&j, NULL, '{');
	fmt_json_i64(&j, "a", -1);
	fmt_json_double(&j, "b", 0.5, 2);
	fmt_json_close(&j, '}');
	fmt_json_double(&j, NULL, 0.0 / 0.0, 2);
	fmt_json_bool(&j, NULL, true);
	fmt_json_close(&j, ']');
	fmt_json_str(&j, "s", "x\"y");
	fmt_json_close(&j, '}');
	text_char(&t, 0);
	ck_assert_str_eq(t.data, "{\n  \"gpus\": 4,\n  \"none\": [],\n"
				 "  \"list\": [{\"a\": -1, \"b\": 0.50}, null, true],\n"
				 "  \"s\": \"x\\\"y\"\n}\n");
}
