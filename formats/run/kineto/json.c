/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/json.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/json.h"
#include "formats/trace/json_scan.h"

#define WINDOW (256 << 10) /* bytes; more for a larger unit */
#define BLOCK 16	   /* bytes processed together */
#define SHAPES 32
#define SHAPE_KEYS 40

/* The document is read unit by unit: an event, a member of the top-level object, a bracket. A unit
 * that exceeds the window is read again from its start once more bytes are available, so functions
 * below need no state of their own. They return false, as those of json_scan.h do, or because of
 * r->error. */
enum state {
	START,
	MEMBER,	      /* a member of the top object, or its end */
	AFTER_MEMBER, /* a comma, or the end of the top object */
	EVENT,	      /* an event, or the end of the array */
	AFTER_EVENT,  /* a comma, or the end of the array */
	END,
};

/* Events of one "ph" and "cat" resemble each other: the reader first compares with the key and the
 * value at the same position of the previous event. */
struct guess {
	uint32_t key, text, json;
};

struct reader {
	const struct kineto_json *j;
	const char *path;
	enum state state;
	bool is_array;	 /* the document is a bare array of events */
	bool has_events; /* it has an array of events */
	struct kineto_event e;
	struct kineto_arg *args, *others; /* owned */
	size_t args_cap, others_cap;
	struct fmt_json_scan scan; /* of the unread bytes of the window */
	char *window;		   /* owned; control characters are replaced by spaces */
	size_t cap;
	uint64_t base;	     /* offset of window[0] in the document */
	bool ended;	     /* the document ends with the window */
	const char *why;     /* why the document is not a trace */
	int error;	     /* of a callback, or -ENOMEM */
	struct text text;    /* a string after replacing escapes */
	struct text capture; /* a value as JSON text */
	struct guess *shape; /* of the current event, as far as known */
	size_t n_keys;	     /* of the current event so far */
	struct guess shapes[SHAPES][SHAPE_KEYS];
};

static bool refuse_file(struct reader *r, const char *why)
{
	r->why = why;
	r->error = -EBADMSG;
	return false;
}

/* ---- values ------------------------------------------------------------------------------ */

static bool intern_text(struct reader *r, const char *s, size_t len, uint32_t *ret)
{
	r->error = fmt_strings_add(r->j->strings, s, len, ret);
	return r->error == 0;
}

/* Reads a string. *guess is the number of the most likely one. Sets *ret to the string's number,
 * and *guess too if its characters are plain. */
static bool read_string(struct reader *r, uint32_t *guess, uint32_t *ret)
{
	const struct fmt_interned *s = &r->j->strings->strings[*guess];
	const char *from = r->scan.at + 1;
	size_t len;
	bool plain;

	if (s->len < (size_t)(r->scan.end - from) && from[s->len] == '"' &&
	    fmt_same_bytes(from, s->s, s->len)) {
		r->scan.at = from + s->len + 1;
		*ret = *guess;
		return true;
	}
	if (!fmt_json_scan_string(&r->scan, &plain))
		return false;
	len = (size_t)(r->scan.at - from) - 1;
	if (plain) {
		if (!intern_text(r, from, len, ret))
			return false;
		*guess = *ret;
		return true;
	}
	r->text.len = 0;
	fmt_json_unescape(&r->text, from, len);
	r->error = r->text.error;
	return r->error == 0 && intern_text(r, r->text.data, r->text.len, ret);
}

/* Reads a key and the colon after it. */
static bool read_key(struct reader *r, uint32_t *guess, uint32_t *ret)
{
	if (fmt_json_peek(&r->scan) != '"')
		return fmt_json_expected(&r->scan, "a string as key");
	if (!read_string(r, guess, ret))
		return false;
	return fmt_json_accept(&r->scan, ':') || fmt_json_expected(&r->scan, "a colon");
}

/* Copies a value to r->capture as JSON text without white space. */
static bool capture_value(struct reader *r)
{
	bool good;

	r->capture.len = 0;
	r->scan.copy = &r->capture;
	good = fmt_json_scan_value(&r->scan);
	r->scan.copy = NULL;
	r->error = r->capture.error;
	return good && r->error == 0;
}

/* Reads a value as an argument: sets ret->type and ret->value. */
static bool read_value(struct reader *r, struct guess *guess, struct kineto_arg *ret)
{
	char c = fmt_json_peek(&r->scan);
	const char *json;
	uint32_t string;
	size_t len;

	if (c == '"') {
		ret->type = FMT_STRING;
		if (!read_string(r, &guess->text, &string))
			return false;
		ret->value = string;
		return true;
	}
	if (!capture_value(r))
		return false;
	json = r->capture.data;
	len = r->capture.len;
	if (fmt_json_integer(json, len, &ret->value)) {
		ret->type = FMT_INT;
		return true;
	}
	ret->type = *json == '"' ? FMT_STRING : FMT_JSON;
	if (ret->type == FMT_STRING) { /* NaN and the like */
		json++;
		len -= 2;
	}
	if (!fmt_strings_is(r->j->strings, guess->json, json, len) &&
	    !intern_text(r, json, len, &guess->json))
		return false;
	ret->value = guess->json;
	return true;
}

/* ---- events ------------------------------------------------------------------------------ */

static bool append_argument(struct reader *r, struct kineto_arg **list, size_t *n, size_t *cap,
			    const struct kineto_arg *a)
{
	if (array_reserve(list, *n + 1, cap) < 0) {
		r->error = -ENOMEM;
		return false;
	}
	(*list)[(*n)++] = *a;
	return true;
}

/* Reads the members of an object after its '{', each by one(). */
static bool read_members(struct reader *r,
			 bool (*one)(struct reader *r, uint32_t key, struct guess *guess))
{
	int more = fmt_json_accept(&r->scan, '}') ? 0 : 1;

	while (more > 0) {
		struct guess *guess = &r->shape[r->n_keys++ % SHAPE_KEYS];
		uint32_t key;

		if (!read_key(r, &guess->key, &key) || !one(r, key, guess))
			return false;
		more = fmt_json_scan_next(&r->scan, '}');
	}
	return more == 0;
}

static bool read_argument(struct reader *r, uint32_t key, struct guess *guess)
{
	struct kineto_arg a = {.key = key};

	return read_value(r, guess, &a) &&
	       append_argument(r, &r->args, &r->e.n_args, &r->args_cap, &a);
}

static bool read_time(struct reader *r, struct guess *guess, int64_t *ns, enum kineto_presence *ret)
{
	const char *from = r->scan.at;
	struct kineto_arg other;

	*ret = KINETO_INVALID;
	if (!fmt_json_at_number(&r->scan))
		return read_value(r, guess, &other);
	if (!fmt_json_scan_number(&r->scan))
		return false;
	if (kineto_time_ns(from, (size_t)(r->scan.at - from), ns, &r->e.rounded) == 0)
		*ret = KINETO_PRESENT;
	return true;
}

/* The number of a string; the empty string's for other values. */
static uint32_t string_of(const struct kineto_arg *a)
{
	return a->type == FMT_STRING ? (uint32_t)a->value : KINETO_EMPTY;
}

static bool take_field(struct reader *r, const struct kineto_arg *a)
{
	struct kineto_event *e = &r->e;

	switch (a->key) {
	case KINETO_PH:
		e->ph = string_of(a);
		r->shape = r->shapes[e->ph % SHAPES];
		return true;
	case KINETO_CAT:
		e->cat = string_of(a);
		r->shape = r->shapes[e->cat % SHAPES];
		return true;
	case KINETO_NAME:
		e->name = string_of(a);
		return true;
	case KINETO_PID:
		e->pid = *a;
		return true;
	case KINETO_TID:
		e->tid = *a;
		return true;
	default:
		return append_argument(r, &r->others, &e->n_others, &r->others_cap, a);
	}
}

static bool read_field(struct reader *r, uint32_t key, struct guess *guess)
{
	struct kineto_arg a = {.key = key};
	char c = fmt_json_peek(&r->scan);

	if (key == KINETO_ARGS && c == '{') {
		r->scan.at++;
		return read_members(r, read_argument);
	}
	if (key == KINETO_TS)
		return read_time(r, guess, &r->e.ts_ns, &r->e.has_ts);
	if (key == KINETO_DUR)
		return read_time(r, guess, &r->e.dur_ns, &r->e.has_dur);
	return read_value(r, guess, &a) && take_field(r, &a);
}

static bool read_event(struct reader *r)
{
	char c = fmt_json_peek(&r->scan);

	if (c != '{')
		return strchr("\"[-0123456789tfn", c) && c
			       ? refuse_file(r, "an event is not an object")
			       : fmt_json_expected(&r->scan, "an event");
	r->e = (struct kineto_event){.offset = r->base + (uint64_t)(r->scan.at - r->window),
				     .pid = {.type = FMT_JSON},
				     .tid = {.type = FMT_JSON}};
	r->shape = r->shapes[0];
	r->n_keys = 0;
	r->scan.at++;
	if (!read_members(r, read_field))
		return false;
	r->e.args = r->args;
	r->e.others = r->others;
	r->state = AFTER_EVENT;
	r->error = r->j->event(r->j->context, &r->e);
	return r->error == 0;
}

/* ---- the document ------------------------------------------------------------------------ */

static bool read_start(struct reader *r)
{
	if (fmt_json_accept(&r->scan, '[')) {
		r->is_array = r->has_events = true;
		r->state = EVENT;
		return true;
	}
	if (fmt_json_accept(&r->scan, '{')) {
		r->state = MEMBER;
		return true;
	}
	if (fmt_json_peek(&r->scan) == '"' || fmt_json_peek(&r->scan) == 'N')
		return refuse_file(r, "not a trace: neither an object nor an array");
	return fmt_json_expected(&r->scan, "an object or an array");
}

static bool read_top_member(struct reader *r)
{
	uint32_t key, guess = KINETO_EMPTY;

	if (fmt_json_accept(&r->scan, '}')) {
		r->state = END;
		return true;
	}
	if (!read_key(r, &guess, &key))
		return false;
	if (key == KINETO_EVENTS && fmt_json_peek(&r->scan) == '[') {
		r->scan.at++;
		r->has_events = true;
		r->state = EVENT;
		return true;
	}
	if (!capture_value(r) || r->scan.at == r->scan.end)
		return false; /* a number at the end of the window may continue */
	r->error = r->j->member(r->j->context, key, r->capture.data, r->capture.len);
	r->state = AFTER_MEMBER;
	return r->error == 0;
}

static bool end_of_events(struct reader *r)
{
	if (!fmt_json_accept(&r->scan, ']'))
		return false;
	r->state = r->is_array ? END : AFTER_MEMBER;
	return true;
}

static bool read_separator(struct reader *r, char close, enum state more, enum state end)
{
	int next = fmt_json_scan_next(&r->scan, close);

	if (next < 0 && r->is_array && r->ended && r->scan.at == r->scan.end)
		next = 1; /* a bare array may end in a comma */
	r->state = next > 0 ? more : next == 0 ? end : r->state;
	return next >= 0;
}

static bool read_unit(struct reader *r)
{
	switch (r->state) {
	case START:
		return read_start(r);
	case MEMBER:
		return read_top_member(r);
	case AFTER_MEMBER:
		return read_separator(r, '}', MEMBER, END);
	case EVENT:
		return end_of_events(r) || read_event(r);
	case AFTER_EVENT:
		return read_separator(r, ']', EVENT, r->is_array ? END : AFTER_MEMBER);
	default:
		return fmt_json_expected(&r->scan, "the end");
	}
}

/* ---- the window -------------------------------------------------------------------------- */

/* JSON strings must not contain control characters, but some recorders write them. */
static void replace_controls(char *bytes, size_t n)
{
	typedef uint8_t block __attribute__((vector_size(BLOCK), aligned(1), may_alias));

	for (size_t i = 0; i < n; i += BLOCK) {
		block *b = (block *)(bytes + i), control = (block)(*b < ' ');

		*b = (*b & ~control) | (control & ' ');
	}
}

/* Keeps the unread bytes and reads more after them. Returns 0 or -errno. */
static int fill_window(struct reader *r, struct kineto_source *s, struct fmt_error *err)
{
	struct fmt_json_scan *scan = &r->scan;
	size_t left = (size_t)(scan->end - scan->at), read = (size_t)(scan->at - r->window);
	ssize_t n;

	if (read > 0)
		memmove(r->window, scan->at, left);
	if (left > r->cap / 2) {
		char *grown = realloc(r->window, r->cap * 2 + BLOCK);

		if (!grown)
			return -ENOMEM;
		r->window = grown;
		r->cap *= 2;
	}
	r->base += read;
	n = kineto_source_read(s, r->window + left, r->cap - left, err);
	scan->at = r->window;
	scan->end = r->window + left;
	if (n < 0)
		return (int)n;
	replace_controls(r->window + left, (size_t)n);
	scan->end += n;
	r->ended = left + (size_t)n < r->cap;
	if (r->base == 0 && left == 0 && n >= 3 && memcmp(r->window, "\xef\xbb\xbf", 3) == 0)
		memset(r->window, ' ', 3); /* a byte order mark */
	return 0;
}

/* ---- faults ------------------------------------------------------------------------------ */

/* Reports the error at the scanner's position. */
static int report_error(const struct reader *r, struct fmt_error *err)
{
	uint64_t offset = r->base + (uint64_t)(r->scan.at - r->window);
	const char *before = r->scan.at;

	if (r->why)
		return fmt_fail(err, -EBADMSG, r->path, offset, "%s", r->why);
	if (r->error < 0)
		return r->error;
	if (r->scan.at == r->scan.end)
		return fmt_fail(err, -EBADMSG, r->path, offset, "not JSON: truncated");
	while (before > r->window && before[-1] == ' ')
		before--;
	return fmt_fail(err, -EBADMSG, r->path, offset, "not JSON: expected %s%s", r->scan.expected,
			before > r->window && before[-1] == '"' ? "; an unescaped quote before it?"
								: "");
}

/* Returns true if the document may end here. */
static bool may_end(const struct reader *r)
{
	return r->state == END || (r->is_array && (r->state == EVENT || r->state == AFTER_EVENT));
}

/* Reads all units in the window, except one that may continue after it. Returns 0 or -errno. */
static int read_window(struct reader *r, struct fmt_error *err)
{
	for (;;) {
		struct fmt_json_scan before;

		fmt_json_peek(&r->scan);
		before = r->scan;
		if (r->scan.at == r->scan.end && (!r->ended || may_end(r)))
			return 0;
		if (read_unit(r))
			continue;
		if (r->error < 0 || r->scan.at < r->scan.end || r->ended)
			return report_error(r, err);
		r->scan = before;
		return 0;
	}
}

static int read_all(struct reader *r, struct kineto_source *s, struct fmt_error *err)
{
	int e = 0;

	while (!r->ended && e == 0) {
		e = fill_window(r, s, err);
		if (e == 0)
			e = read_window(r, err);
		if (e == 0 && r->j->progress)
			e = r->j->progress(r->j->context);
	}
	if (e == 0 && !r->has_events)
		return fmt_fail(err, -EBADMSG, r->path, FMT_NO_OFFSET,
				"not a profiler trace: there is no \"traceEvents\" in it");
	return e;
}

static void reader_done(struct reader *r)
{
	free(r->args);
	free(r->others);
	free(r->window);
	text_done(&r->text);
	text_done(&r->capture);
}

int kineto_json_read(struct kineto_source *s, const char *path, const struct kineto_json *j,
		     struct kineto_json_counts *counts, struct fmt_error *err)
{
	scoped(reader_done) struct reader r = {
		.j = j, .path = path, .scan.lenient = true, .cap = WINDOW};
	int e;

	r.scan.at = r.scan.end = r.window = malloc(WINDOW + BLOCK);
	if (!r.window)
		return -ENOMEM;
	e = read_all(&r, s, err);
	*counts = (struct kineto_json_counts){
		.bytes = r.base + (uint64_t)(r.scan.at - r.window),
		.not_numbers = r.scan.not_numbers,
		.commas = r.scan.commas,
	};
	return e;
}
