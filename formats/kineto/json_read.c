/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/kineto/json_impl.h"

#include "base/array.h"
#include "base/scope.h"

#include <ctype.h>
#include <yajl/yajl_parse.h>

#define WINDOW (256 << 10)
#define LONGEST 16 /* a word that is none of JSON's and is read all the same, at most */

static void reader_done(struct reader *r)
{
	if (r->yajl)
		yajl_free(r->yajl);
	free(r->args);
	free(r->others);
	text_done(&r->capture);
}

/* Why yajl stopped, as one clause. `at` is where it was set on. */
static int broken(struct reader *r, const char *path, yajl_status status, const char *at,
		  size_t len, struct fmt_error *err)
{
	size_t in = yajl_get_bytes_consumed(r->yajl);
	const char *hint = "";
	unsigned char *text;

	if (status == yajl_status_client_canceled && r->why)
		return fmt_fail(err, -EBADMSG, path, r->base + in, "%s", r->why);
	if (status == yajl_status_client_canceled)
		return r->error;
	if (len == 0)
		return fmt_fail(err, -EBADMSG, path, r->base,
				"not JSON: it ends in the middle; was it cut short?");
	text = yajl_get_error(r->yajl, 0, (const unsigned char *)at, len);
	if (!text)
		return -ENOMEM;
	text[strcspn((char *)text, "\n.")] = '\0';
	if (strstr((char *)text, "invalid char in json") || strstr((char *)text, "after key and"))
		hint = "; an unescaped quote before it?";
	in -= in > 0; /* it stands behind what it does not like */
	fmt_fail(err, -EBADMSG, path, r->base + in, "not JSON: %s%s", text, hint);
	yajl_free_error(r->yajl, text);
	return -EBADMSG;
}

/* ---- what is no JSON, and is read all the same ------------------------------------------- */

static bool ends_word(char c)
{
	return c == ',' || c == ']' || c == '}' || isspace((unsigned char)c);
}

/* Numbers that are none, as C, C++ and Python print them: bytes of the one at `s`, or 0. */
static size_t not_a_number(const char *s, size_t n, const char **name)
{
	static const struct {
		const char *word;
		bool infinite;
	} words[] = {{"nan(ind)", 0}, {"nan", 0}, {"infinity", 1}, {"inf", 1}};
	size_t sign = n > 0 && (s[0] == '-' || s[0] == '+');

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t len = strlen(words[i].word);

		if (n - sign < len || strncasecmp(s + sign, words[i].word, len) != 0 ||
		    (n > sign + len && !ends_word(s[sign + len])))
			continue;
		*name = !words[i].infinite ? "NaN" : s[0] == '-' ? "-Infinity" : "Infinity";
		return sign + len;
	}
	return 0;
}

static void opened(struct text *t, bool object)
{
	text_str(t, object ? "{\"\":" : "[");
}

/* A text that brings yajl to where the reader is, in each container behind a value. */
static void way_there(const struct reader *r, struct text *t)
{
	enum place place = r->place == CAPTURE ? r->after : r->place;
	size_t captured = r->place == CAPTURE ? r->depth : 0;

	if (place != START && !r->bare)
		opened(t, true);
	if (place >= LIST && place <= ARG)
		opened(t, false);
	if (place >= EVENT && place <= ARG)
		opened(t, true);
	if (place == ARGS || place == ARG)
		opened(t, true);
	for (size_t i = 0; i < captured; i++)
		opened(t, r->is_object[i]);
	text_str(t, "\"\"");
}

/* yajl does not go on behind an error: another takes its place, as if a value had just ended. */
static int set_on(struct reader *r)
{
	scoped(text_done) struct text t = {0};
	yajl_status status;

	way_there(r, &t);
	if (t.error)
		return t.error;
	yajl_free(r->yajl);
	r->callbacks = (yajl_callbacks){0};
	r->yajl = yajl_alloc(&r->callbacks, NULL, r);
	if (!r->yajl)
		return -ENOMEM;
	yajl_config(r->yajl, yajl_dont_validate_strings, 1);
	status = yajl_parse(r->yajl, (unsigned char *)t.data, t.len);
	r->callbacks = kineto_json_callbacks;
	return status == yajl_status_ok ? 0 : -ENOMEM;
}

/* The last character before `s` that is no space. */
static char before(const struct reader *r, const char *from, const char *s)
{
	while (s > from && isspace((unsigned char)s[-1]))
		s--;
	return s > from ? s[-1] : r->last;
}

/* What yajl stopped at, at buf[at + ..]: a number that is none is handed on, a comma that nothing
 * follows left out. 1 when yajl can be set on at buf[*next], else 0 or -errno. */
static int mend(struct reader *r, const char *buf, size_t at, size_t n, size_t *next)
{
	size_t fault = at + yajl_get_bytes_consumed(r->yajl);
	const char *name;
	size_t len;
	int e;

	if (fault == at || fault > n || r->base + fault - at == r->mended)
		return 0;
	r->mended = r->base + fault - at;
	fault--;
	len = not_a_number(buf + fault, n - fault, &name);
	if (len > 0) {
		if (!kineto_json_not_a_number(r, name))
			return r->error;
		r->not_numbers++;
	} else if ((buf[fault] == ']' || buf[fault] == '}') && before(r, buf, buf + fault) == ',') {
		r->commas++;
	} else {
		return 0;
	}
	e = set_on(r);
	*next = fault + len;
	return e < 0 ? e : 1;
}

/* ---- the document ------------------------------------------------------------------------ */

static int parse(struct reader *r, const char *path, const char *buf, size_t n,
		 struct fmt_error *err)
{
	size_t at = 0, next = 0;
	int e;

	for (;;) {
		yajl_status status = yajl_parse(r->yajl, (const unsigned char *)buf + at, n - at);

		if (status == yajl_status_ok)
			break;
		e = status == yajl_status_error ? mend(r, buf, at, n, &next) : 0;
		if (e < 0 && !r->why)
			return e;
		if (e <= 0)
			return broken(r, path, e < 0 ? yajl_status_client_canceled : status,
				      buf + at, n - at, err);
		r->base += next - at;
		at = next;
	}
	r->base += n - at;
	r->last = before(r, buf, buf + n);
	return 0;
}

/* An array of events may lack its end; nothing else may. */
static int finish(struct reader *r, const char *path, struct fmt_error *err)
{
	yajl_status status;

	if (r->bare && r->place == LIST)
		return 0;
	status = yajl_complete_parse(r->yajl);
	return status == yajl_status_ok ? 0 : broken(r, path, status, "", 0, err);
}

/* How much of the text is given to yajl now: a word that may go on waits. */
static size_t whole(const char *buf, size_t n)
{
	size_t end = n;

	while (end > 0 && n - end < LONGEST &&
	       (isalpha((unsigned char)buf[end - 1]) || strchr("+-()", buf[end - 1])))
		end--;
	return end > 0 && n - end < LONGEST ? end : n;
}

/* Strings hold no control characters in JSON, though some recorders write them as they are. */
static void tidy(char *buf, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf[i] = (unsigned char)buf[i] < ' ' ? ' ' : buf[i];
}

static int read_all(struct reader *r, struct kineto_source *s, const char *path, char *buf,
		    struct fmt_error *err)
{
	size_t held = 0, given;
	ssize_t n;
	int e;

	do {
		n = kineto_source_read(s, buf + held, WINDOW - held, err);
		if (n < 0)
			return (int)n;
		tidy(buf + held, (size_t)n);
		if (r->base == 0 && n >= 3 && memcmp(buf, "\xef\xbb\xbf", 3) == 0)
			memset(buf, ' ', 3); /* a byte order mark */
		held += (size_t)n;
		given = n > 0 ? whole(buf, held) : held;
		e = given > 0 ? parse(r, path, buf, given, err) : 0;
		if (e < 0)
			return e;
		memmove(buf, buf + given, held - given);
		held -= given;
		e = r->j->progress ? r->j->progress(r->j->context) : 0;
		if (e < 0)
			return e;
	} while (n > 0);
	e = finish(r, path, err);
	if (e == 0 && !r->events)
		return fmt_fail(err, -EBADMSG, path, FMT_NO_OFFSET,
				"not a profiler trace: there is no \"traceEvents\" in it");
	return e;
}

int kineto_json_read(struct kineto_source *s, const char *path, const struct kineto_json *j,
		     struct kineto_json_counts *counts, struct fmt_error *err)
{
	scoped(reader_done) struct reader r = {.j = j, .callbacks = kineto_json_callbacks};
	scoped(free_ptr) char *buf = malloc(WINDOW);
	int e;

	r.shape = r.shapes;
	if (!buf)
		return -ENOMEM;
	r.yajl = yajl_alloc(&r.callbacks, NULL, &r);
	if (!r.yajl)
		return -ENOMEM;
	yajl_config(r.yajl, yajl_dont_validate_strings, 1);
	e = read_all(&r, s, path, buf, err);
	*counts = (struct kineto_json_counts){r.base, r.not_numbers, r.commas};
	return e;
}
