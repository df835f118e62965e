/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/json_impl.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/kineto/plain.h"

#include <ctype.h>
#include <yajl/yajl_parse.h>

#define WINDOW (256 << 10)
#define ROOM (64 << 10) /* an event that takes more is not read at a glance */
#define BLOCK 16	/* bytes that are looked at together */
#define LONGEST 16	/* a word that is none of JSON's and is read all the same, at most */

static void reader_done(struct reader *r)
{
	if (r->yajl)
		yajl_free(r->yajl);
	free(r->args);
	free(r->others);
	text_done(&r->capture);
	free(r->window);
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

static void advance(struct reader *r, size_t n)
{
	r->base += n;
	r->at += n;
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

/* The last character before window[at] that is no space. */
static char before(const struct reader *r, size_t at)
{
	while (at > 0 && r->window[at - 1] == ' ')
		at--;
	return at > 0 ? r->window[at - 1] : r->last;
}

/* What yajl stopped at: a number that is none is handed on, a comma that nothing follows left out.
 * 1 when yajl can go on, else 0 or -errno. */
static int mend(struct reader *r)
{
	size_t in = yajl_get_bytes_consumed(r->yajl), fault = r->at + in - 1, len;
	const char *name;
	int e;

	if (in == 0 || fault >= r->end || r->base + in == r->mended)
		return 0;
	r->mended = r->base + in;
	len = not_a_number(r->window + fault, r->end - fault, &name);
	if (len > 0) {
		if (!kineto_json_not_a_number(r, name))
			return r->error;
		r->not_numbers++;
	} else if (strchr("]}", r->window[fault]) && before(r, fault) == ',') {
		r->commas++;
	} else {
		return 0;
	}
	e = set_on(r);
	r->in_text = OUTSIDE;
	advance(r, fault + len - r->at);
	return e < 0 ? e : 1;
}

/* ---- the document ------------------------------------------------------------------------ */

static bool may_begin(const struct reader *r)
{
	char last = before(r, r->at);

	return r->place == LIST && (last == '[' || last == ',');
}

/* Behind the end of a text that `s` is in; at the window's end, r->in_text says that it goes on. */
static const char *behind_text(struct reader *r, const char *s)
{
	const char *end = r->window + r->end;

	s += r->in_text == ESCAPED && s < end;
	r->in_text = WITHIN;
	for (s += strcspn(s, "\"\\"); s < end; s += strcspn(s, "\"\\")) {
		if (*s++ == '"') {
			r->in_text = OUTSIDE;
			return s;
		}
		if (s == end)
			r->in_text = ESCAPED;
		s += s < end;
	}
	return end;
}

/* Where yajl stops next: behind the event that begins here, or else where one may begin; never in
 * a text, which it would look at again each time. At the window's end where that is not in it. */
static const char *stop(struct reader *r)
{
	const char *s = r->window + r->at, *end = r->window + r->end;
	bool whole = may_begin(r);
	unsigned depth = 0;

	if (r->in_text != OUTSIDE)
		s = behind_text(r, s);
	for (s += strcspn(s, "\"[]{},"); s < end; s += strcspn(s, "\"[]{},")) {
		char c = *s++;

		if (c == '"')
			s = behind_text(r, s);
		else if (whole ? c == ',' && depth == 0 : strchr("[},", c) != NULL)
			return s;
		depth += c == '[' || c == '{';
		depth -= depth > 0 && (c == ']' || c == '}');
	}
	return end;
}

/* How much yajl is given now; a word that may go on waits. */
static size_t piece(struct reader *r)
{
	const char *from = r->window + r->at;
	size_t n = (size_t)(stop(r) - from), end = n;

	if (r->ended || r->in_text != OUTSIDE)
		return n;
	while (end > 0 && n - end < LONGEST &&
	       (isalpha((unsigned char)from[end - 1]) || strchr("+-()", from[end - 1])))
		end--;
	return end > 0 && n - end < LONGEST ? end : n;
}

static int feed(struct reader *r, const char *path, struct fmt_error *err)
{
	const char *from = r->window + r->at;
	size_t n = piece(r);
	yajl_status status = yajl_parse(r->yajl, (const unsigned char *)from, n);
	int e;

	if (status == yajl_status_ok) {
		advance(r, n);
		return 0;
	}
	e = status == yajl_status_error ? mend(r) : 0;
	if (e > 0 || (e < 0 && !r->why))
		return e > 0 ? 0 : e;
	return broken(r, path, e < 0 ? yajl_status_client_canceled : status, from, n, err);
}

/* Events that need no yajl, where one may begin. */
static int glance(struct reader *r)
{
	if (may_begin(r))
		kineto_plain_events(r);
	return r->error;
}

/* All of the window but an event that may be cut short. */
static int parse(struct reader *r, const char *path, struct fmt_error *err)
{
	int e = 0;

	while (r->at < r->end && e == 0) {
		e = glance(r);
		if (!r->ended && r->end - r->at < ROOM)
			break;
		if (e == 0)
			e = feed(r, path, err);
	}
	return e;
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

/* Strings hold no control characters in JSON, though some recorders write them as they are. */
static void tidy(char *bytes, size_t n)
{
	typedef uint8_t block __attribute__((vector_size(BLOCK), aligned(1), may_alias));

	for (size_t i = 0; i < n; i += BLOCK) {
		block *b = (block *)(bytes + i), control = (block)(*b < ' ');

		*b = (*b & ~control) | (control & ' ');
	}
}

/* Moves what has not been parsed to the front of the window, and fills it. */
static int fill(struct reader *r, struct kineto_source *s, struct fmt_error *err)
{
	size_t left = r->end - r->at;
	ssize_t n;

	r->last = before(r, r->at);
	memmove(r->window, r->window + r->at, left);
	n = kineto_source_read(s, r->window + left, WINDOW - left, err);
	if (n < 0)
		return (int)n;
	tidy(r->window + left, (size_t)n);
	r->at = 0;
	r->end = left + (size_t)n;
	r->window[r->end] = '\0';
	r->ended = r->end < WINDOW;
	if (r->base == 0 && r->end >= 3 && memcmp(r->window, "\xef\xbb\xbf", 3) == 0)
		memset(r->window, ' ', 3); /* a byte order mark */
	return 0;
}

static int read_all(struct reader *r, struct kineto_source *s, const char *path,
		    struct fmt_error *err)
{
	int e = 0;

	while (!r->ended && e == 0) {
		e = fill(r, s, err);
		if (e == 0)
			e = parse(r, path, err);
		if (e == 0 && r->j->progress)
			e = r->j->progress(r->j->context);
	}
	if (e == 0)
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
	int e;

	r.shape = r.shapes;
	r.window = malloc(WINDOW + BLOCK);
	r.yajl = yajl_alloc(&r.callbacks, NULL, &r);
	if (!r.window || !r.yajl)
		return -ENOMEM;
	yajl_config(r.yajl, yajl_dont_validate_strings, 1);
	e = read_all(&r, s, path, err);
	*counts = (struct kineto_json_counts){r.base, r.not_numbers, r.commas};
	return e;
}
