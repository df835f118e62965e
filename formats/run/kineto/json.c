/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/json.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/kineto/json_impl.h"

#define WINDOW (256 << 10) /* bytes; more for a larger unit */
#define BLOCK 16	   /* bytes processed together */

/* The next unit of the document. */
enum state {
	START,
	MEMBER,	      /* a member of the top object, or its end */
	AFTER_MEMBER, /* a comma, or the end of the top object */
	EVENT,	      /* an event, or the end of the array */
	AFTER_EVENT,  /* a comma, or the end of the array */
	END,
};

struct document {
	struct kineto_reader r;
	enum state state;
	bool is_array;	 /* the document is a bare array of events */
	bool has_events; /* it has an array of events */
};

/* ---- events ------------------------------------------------------------------------------ */

static bool append_argument(struct kineto_reader *r, struct kineto_arg **list, size_t *n,
			    size_t *cap, const struct kineto_arg *a)
{
	if (array_reserve(list, *n + 1, cap) < 0) {
		r->error = -ENOMEM;
		return false;
	}
	(*list)[(*n)++] = *a;
	return true;
}

static struct kineto_guess *next_guess(struct kineto_reader *r)
{
	return &r->shape->guesses[r->n_keys++ % KINETO_SHAPE_KEYS];
}

/* Reads the members of an object after its '{', each by one(). */
static bool read_members(struct kineto_reader *r, bool (*one)(struct kineto_reader *r, uint32_t key,
							      struct kineto_guess *guess))
{
	int more = kineto_json_accept(r, '}') ? 0 : 1;

	while (more > 0) {
		struct kineto_guess *guess = next_guess(r);
		uint32_t key;

		if (kineto_json_peek(r) != '"')
			return kineto_json_expected(r, "a string as key");
		if (!kineto_json_string(r, &guess->key, &key))
			return false;
		if (!kineto_json_accept(r, ':'))
			return kineto_json_expected(r, "a colon");
		if (!one(r, key, guess))
			return false;
		more = kineto_json_next(r, '}');
	}
	return more == 0;
}

static bool read_argument(struct kineto_reader *r, uint32_t key, struct kineto_guess *guess)
{
	struct kineto_arg a = {.key = key};

	return kineto_json_argument(r, guess, &a) &&
	       append_argument(r, &r->args, &r->e.n_args, &r->args_cap, &a);
}

static bool read_time(struct kineto_reader *r, int64_t *ns, enum kineto_presence *ret)
{
	const char *from = r->at;

	if (!kineto_json_number(r))
		return false;
	*ret = kineto_time_ns(from, (size_t)(r->at - from), ns, &r->e.rounded) == 0
		       ? KINETO_PRESENT
		       : KINETO_INVALID;
	return true;
}

/* The number of a string; the empty string's for other values. */
static uint32_t string_of(const struct kineto_arg *a)
{
	return a->type == FMT_STRING ? (uint32_t)a->value : KINETO_EMPTY;
}

static bool take_field(struct kineto_reader *r, const struct kineto_arg *a)
{
	struct kineto_event *e = &r->e;

	switch (a->key) {
	case KINETO_PH:
		e->ph = string_of(a);
		r->shape = &r->shapes[e->ph % KINETO_SHAPES];
		return true;
	case KINETO_CAT:
		e->cat = string_of(a);
		r->shape = &r->shapes[e->cat % KINETO_SHAPES];
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
	case KINETO_TS:
		e->has_ts = KINETO_INVALID;
		return true;
	case KINETO_DUR:
		e->has_dur = KINETO_INVALID;
		return true;
	default:
		return append_argument(r, &r->others, &e->n_others, &r->others_cap, a);
	}
}

static bool read_field(struct kineto_reader *r, uint32_t key, struct kineto_guess *guess)
{
	struct kineto_arg a = {.key = key};
	char c = kineto_json_peek(r);

	if (key == KINETO_ARGS && c == '{') {
		r->at++;
		return read_members(r, read_argument);
	}
	if (c == '-' || (c >= '0' && c <= '9')) {
		bool infinite = c == '-' && (r->at[1] | 32) >= 'a';

		if (key == KINETO_TS && !infinite)
			return read_time(r, &r->e.ts_ns, &r->e.has_ts);
		if (key == KINETO_DUR && !infinite)
			return read_time(r, &r->e.dur_ns, &r->e.has_dur);
	}
	return kineto_json_argument(r, guess, &a) && take_field(r, &a);
}

static bool read_event(struct kineto_reader *r)
{
	char c = kineto_json_peek(r);

	if (c != '{')
		return strchr("\"[-0123456789tfn", c) && c
			       ? kineto_json_refuse(r, "an event is not an object")
			       : kineto_json_expected(r, "an event");
	r->e = (struct kineto_event){.offset = r->base + (uint64_t)(r->at - r->window),
				     .pid = {.type = FMT_JSON},
				     .tid = {.type = FMT_JSON}};
	r->shape = r->shapes;
	r->n_keys = 0;
	r->at++;
	if (!read_members(r, read_field))
		return false;
	r->e.args = r->args;
	r->e.others = r->others;
	r->error = r->j->event(r->j->context, &r->e);
	return r->error == 0;
}

/* ---- the document ------------------------------------------------------------------------ */

static bool read_start(struct document *d)
{
	struct kineto_reader *r = &d->r;

	d->is_array = kineto_json_accept(r, '[');
	if (d->is_array) {
		d->has_events = true;
		d->state = EVENT;
		return true;
	}
	if (kineto_json_accept(r, '{')) {
		d->state = MEMBER;
		return true;
	}
	if (*r->at == '"' || *r->at == 'N')
		return kineto_json_refuse(r, "not a trace: neither an object nor an array");
	return kineto_json_expected(r, "an object or an array");
}

static bool read_top_member(struct document *d)
{
	struct kineto_reader *r = &d->r;
	uint32_t key, guess = KINETO_EMPTY;

	if (kineto_json_accept(r, '}')) {
		d->state = END;
		return true;
	}
	if (kineto_json_peek(r) != '"')
		return kineto_json_expected(r, "a string as key");
	if (!kineto_json_string(r, &guess, &key))
		return false;
	if (!kineto_json_accept(r, ':'))
		return kineto_json_expected(r, "a colon");
	if (key == KINETO_EVENTS && kineto_json_peek(r) == '[') {
		r->at++;
		d->has_events = true;
		d->state = EVENT;
		return true;
	}
	if (!kineto_json_capture(r))
		return false;
	r->error = r->j->member(r->j->context, key, r->capture.data, r->capture.len);
	d->state = AFTER_MEMBER;
	return r->error == 0;
}

static bool end_of_events(struct document *d)
{
	if (!kineto_json_accept(&d->r, ']'))
		return false;
	d->state = d->is_array ? END : AFTER_MEMBER;
	return true;
}

static bool read_separator(struct document *d, char close, enum state more, enum state end)
{
	int next = kineto_json_next(&d->r, close);

	if (next < 0 && d->is_array && d->r.ended && d->r.at == d->r.end)
		next = 1; /* a bare array may end in a comma */
	d->state = next > 0 ? more : next == 0 ? end : d->state;
	return next >= 0;
}

static bool read_unit(struct document *d)
{
	switch (d->state) {
	case START:
		return read_start(d);
	case MEMBER:
		return read_top_member(d);
	case AFTER_MEMBER:
		return read_separator(d, '}', MEMBER, END);
	case EVENT:
		if (end_of_events(d))
			return true;
		if (!read_event(&d->r))
			return false;
		d->state = AFTER_EVENT;
		return true;
	case AFTER_EVENT:
		return read_separator(d, ']', EVENT, d->is_array ? END : AFTER_MEMBER);
	default:
		return kineto_json_expected(&d->r, "the end");
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

/* Keeps the bytes from r->at and reads more after them. Returns 0 or -errno. */
static int fill_window(struct kineto_reader *r, struct kineto_source *s, struct fmt_error *err)
{
	size_t left = (size_t)(r->end - r->at), read = (size_t)(r->at - r->window);
	ssize_t n;

	if (read > 0)
		memmove(r->window, r->at, left);
	if (left > r->cap / 2) {
		char *grown = realloc(r->window, r->cap * 2 + BLOCK);

		if (!grown)
			return -ENOMEM;
		r->window = grown;
		r->cap *= 2;
	}
	r->base += read;
	n = kineto_source_read(s, r->window + left, r->cap - left, err);
	r->at = r->window;
	r->end = r->window + left;
	if (n < 0)
		return (int)n;
	replace_controls(r->window + left, (size_t)n);
	r->end += n;
	r->window[left + (size_t)n] = '\0';
	r->ended = left + (size_t)n < r->cap;
	if (r->base == 0 && left == 0 && n >= 3 && memcmp(r->window, "\xef\xbb\xbf", 3) == 0)
		memset(r->window, ' ', 3); /* a byte order mark */
	return 0;
}

/* ---- faults ------------------------------------------------------------------------------ */

/* Reports the fault at r->at. */
static int fail(const struct document *d, const char *path, struct fmt_error *err)
{
	const struct kineto_reader *r = &d->r;
	uint64_t offset = r->base + (uint64_t)(r->at - r->window);
	const char *before = r->at;

	if (r->why)
		return fmt_fail(err, -EBADMSG, path, offset, "%s", r->why);
	if (r->error < 0)
		return r->error;
	if (r->at == r->end)
		return fmt_fail(err, -EBADMSG, path, offset,
				"not JSON: it ends in the middle; was it cut short?");
	while (before > r->window && before[-1] == ' ')
		before--;
	return fmt_fail(err, -EBADMSG, path, offset, "not JSON: expected %s%s", r->expected,
			before > r->window && before[-1] == '"' ? "; an unescaped quote before it?"
								: "");
}

/* Returns true if the document may end here. */
static bool may_end(const struct document *d)
{
	return d->state == END || (d->is_array && (d->state == EVENT || d->state == AFTER_EVENT));
}

/* Reads all units in the window, except one that may continue after it. Returns 0 or -errno. */
static int read_window(struct document *d, const char *path, struct fmt_error *err)
{
	struct kineto_reader *r = &d->r;

	for (;;) {
		struct kineto_json_counts counts = r->counts;
		const char *from;

		kineto_json_peek(r);
		from = r->at;
		if (r->at == r->end && (!r->ended || may_end(d)))
			return 0;
		if (read_unit(d))
			continue;
		if (r->error < 0 || r->at < r->end || r->ended)
			return fail(d, path, err);
		r->at = from;
		r->counts = counts;
		return 0;
	}
}

static int read_all(struct document *d, struct kineto_source *s, const char *path,
		    struct fmt_error *err)
{
	int e = 0;

	while (!d->r.ended && e == 0) {
		e = fill_window(&d->r, s, err);
		if (e == 0)
			e = read_window(d, path, err);
		if (e == 0 && d->r.j->progress)
			e = d->r.j->progress(d->r.j->context);
	}
	if (e == 0 && !d->has_events)
		return fmt_fail(err, -EBADMSG, path, FMT_NO_OFFSET,
				"not a profiler trace: there is no \"traceEvents\" in it");
	return e;
}

static void document_done(struct document *d)
{
	free(d->r.args);
	free(d->r.others);
	free(d->r.window);
	text_done(&d->r.text);
	text_done(&d->r.capture);
}

int kineto_json_read(struct kineto_source *s, const char *path, const struct kineto_json *j,
		     struct kineto_json_counts *counts, struct fmt_error *err)
{
	scoped(document_done) struct document d = {.r = {.j = j, .cap = WINDOW}};
	int e;

	d.r.at = d.r.end = d.r.window = malloc(WINDOW + BLOCK);
	if (!d.r.window)
		return -ENOMEM;
	e = read_all(&d, s, path, err);
	*counts = d.r.counts;
	counts->bytes = d.r.base + (uint64_t)(d.r.at - d.r.window);
	return e;
}
