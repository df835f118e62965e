/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/json.h"

#include "base/array.h"
#include "formats/run/kineto/json_impl.h"
#include "formats/trace/json.h"

static int fail(struct reader *r, int error)
{
	r->error = error;
	return 0;
}

static int refuse(struct reader *r, const char *why)
{
	r->why = why;
	return fail(r, -EBADMSG);
}

/* ---- the end of a value ------------------------------------------------------------------ */

static int keep(struct reader *r, struct kineto_arg **list, size_t *n, size_t *cap, uint32_t type,
		int64_t value)
{
	if (array_reserve(list, *n + 1, cap) < 0)
		return fail(r, -ENOMEM);
	(*list)[(*n)++] = (struct kineto_arg){r->key, type, value};
	return 1;
}

/* What tells most of an event's shape; the empty text where it is no string. */
static int kind(struct reader *r, uint32_t type, int64_t value, uint32_t *ret)
{
	*ret = type == FMT_STRING ? (uint32_t)value : KINETO_EMPTY;
	r->shape = &r->shapes[*ret % SHAPES];
	return 1;
}

static int field(struct reader *r, uint32_t type, int64_t value)
{
	struct kineto_event *e = &r->e;

	r->place = EVENT;
	switch (r->key) {
	case KINETO_PH:
		return kind(r, type, value, &e->ph);
	case KINETO_CAT:
		return kind(r, type, value, &e->cat);
	case KINETO_NAME:
		e->name = type == FMT_STRING ? (uint32_t)value : KINETO_EMPTY;
		return 1;
	case KINETO_PID:
		e->pid = (struct kineto_arg){KINETO_PID, type, value};
		return 1;
	case KINETO_TID:
		e->tid = (struct kineto_arg){KINETO_TID, type, value};
		return 1;
	case KINETO_TS:
		e->has_ts = KINETO_UNUSABLE;
		return 1;
	case KINETO_DUR:
		e->has_dur = KINETO_UNUSABLE;
		return 1;
	default:
		return keep(r, &r->others, &e->n_others, &r->others_cap, type, value);
	}
}

int kineto_json_value(struct reader *r, uint32_t type, int64_t v)
{
	if (r->place == FIELD)
		return field(r, type, v);
	if (r->place == ARG) {
		r->place = ARGS;
		return keep(r, &r->args, &r->e.n_args, &r->args_cap, type, v);
	}
	if (r->place == LIST)
		return refuse(r, "an event is not an object");
	return refuse(r, "not a trace: neither an object nor an array");
}

int kineto_json_text(struct reader *r, const char *s, size_t len, uint32_t *ret)
{
	int e = kineto_strings_add(r->j->strings, s, len, ret);

	return e < 0 ? fail(r, e) : 1;
}

static int captured(struct reader *r)
{
	uint32_t json;
	int e;

	r->place = r->after;
	if (r->capture.error)
		return fail(r, r->capture.error);
	if (r->place == MEMBER) {
		r->place = TOP;
		e = r->j->member(r->j->context, r->key, r->capture.data, r->capture.len);
		return e < 0 ? fail(r, e) : 1;
	}
	if (!kineto_json_text(r, r->capture.data, r->capture.len, &json))
		return 0;
	return kineto_json_value(r, FMT_JSON, json);
}

/* ---- values that are kept as text -------------------------------------------------------- */

static void capture_begin(struct reader *r)
{
	r->after = r->place;
	r->place = CAPTURE;
	r->capture.len = 0;
	r->depth = 0;
	r->more = false;
}

static void capture_comma(struct reader *r)
{
	if (r->more)
		text_char(&r->capture, ',');
	r->more = true;
}

static int capture_open(struct reader *r, char bracket)
{
	if (r->place != CAPTURE)
		capture_begin(r);
	if (++r->depth > KINETO_DEPTH)
		return refuse(r, "a value is nested too deep");
	r->is_object[r->depth - 1] = bracket == '{';
	capture_comma(r);
	text_char(&r->capture, bracket);
	r->more = false;
	return 1;
}

static int capture_close(struct reader *r, char bracket)
{
	text_char(&r->capture, bracket);
	r->more = true;
	return --r->depth > 0 ? 1 : captured(r);
}

/* A scalar as JSON text: within a captured value, or as a member of the top object. */
static int capture_scalar(struct reader *r, const char *s, size_t len, bool quoted)
{
	bool alone = r->place == MEMBER;

	if (alone)
		capture_begin(r);
	capture_comma(r);
	if (quoted)
		fmt_json_string(&r->capture, s, len);
	else
		text_bytes(&r->capture, s, len);
	return alone ? captured(r) : 1;
}

/* ---- tokens ------------------------------------------------------------------------------ */

int kineto_json_literal(struct reader *r, const char *s)
{
	uint32_t json;

	if (r->place == CAPTURE || r->place == MEMBER)
		return capture_scalar(r, s, strlen(s), false);
	if (!kineto_json_text(r, s, strlen(s), &json))
		return 0;
	return kineto_json_value(r, FMT_JSON, json);
}

static int on_null(void *context)
{
	return kineto_json_literal(context, "null");
}

static int on_boolean(void *context, int v)
{
	return kineto_json_literal(context, v ? "true" : "false");
}

/* 1 when `s` is an integer of 64 bits that prints as itself. */
static int integer(const char *s, size_t len, int64_t *ret)
{
	bool negative = len > 0 && s[0] == '-';
	int64_t v = 0;

	for (size_t i = negative; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return 0;
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, s[i] - '0', &v))
			return 0;
	}
	if ((negative && v == 0) || (!negative && v == INT64_MIN))
		return 0;
	*ret = negative ? v : -v;
	return 1;
}

static int on_time(struct reader *r, const char *s, size_t len)
{
	bool ts = r->key == KINETO_TS;
	int bad = kineto_time_ns(s, len, ts ? &r->e.ts_ns : &r->e.dur_ns, &r->e.rounded);

	*(ts ? &r->e.has_ts : &r->e.has_dur) = bad ? KINETO_UNUSABLE : KINETO_THERE;
	r->place = EVENT;
	return 1;
}

int kineto_json_number(struct reader *r, const char *s, size_t len)
{
	uint32_t json;
	int64_t v;

	if (r->place == FIELD && (r->key == KINETO_TS || r->key == KINETO_DUR))
		return on_time(r, s, len);
	if (r->place == CAPTURE || r->place == MEMBER)
		return capture_scalar(r, s, len, false);
	if (integer(s, len, &v))
		return kineto_json_value(r, FMT_INT, v);
	if (!kineto_json_text(r, s, len, &json))
		return 0;
	return kineto_json_value(r, FMT_JSON, json);
}

static int on_number(void *context, const char *s, size_t len)
{
	return kineto_json_number(context, s, len);
}

static int on_string(void *context, const unsigned char *bytes, size_t len)
{
	struct reader *r = context;
	const char *s = (const char *)bytes;
	uint32_t string;

	if (r->place == CAPTURE || r->place == MEMBER)
		return capture_scalar(r, s, len, true);
	return kineto_json_text(r, s, len, &string) && kineto_json_value(r, FMT_STRING, string);
}

void kineto_json_event(struct reader *r, uint64_t offset)
{
	memset(&r->e, 0, sizeof(r->e));
	r->e.offset = offset;
	r->e.pid = r->e.tid = (struct kineto_arg){.type = FMT_JSON};
	r->shape = r->shapes;
	r->place = EVENT;
}

int kineto_json_event_end(struct reader *r)
{
	int e;

	r->place = LIST;
	r->e.args = r->args;
	r->e.others = r->others;
	e = r->j->event(r->j->context, &r->e);
	return e < 0 ? fail(r, e) : 1;
}

int kineto_json_not_a_number(struct reader *r, const char *name)
{
	return on_string(r, (const unsigned char *)name, strlen(name));
}

static int on_open_map(void *context)
{
	struct reader *r = context;

	if (r->place == START)
		r->place = TOP;
	else if (r->place == LIST)
		kineto_json_event(r, r->base + yajl_get_bytes_consumed(r->yajl) - 1);
	else if (r->place == FIELD && r->key == KINETO_ARGS)
		r->place = ARGS;
	else
		return capture_open(r, '{');
	return 1;
}

static int on_close_map(void *context)
{
	struct reader *r = context;

	if (r->place == TOP)
		r->place = END;
	else if (r->place == EVENT)
		return kineto_json_event_end(r);
	else if (r->place == ARGS)
		r->place = EVENT;
	else
		return capture_close(r, '}');
	return 1;
}

static int on_open_array(void *context)
{
	struct reader *r = context;

	if (r->place == LIST)
		return refuse(r, "an event is not an object");
	if (r->place != START && (r->place != MEMBER || r->key != KINETO_EVENTS))
		return capture_open(r, '[');
	r->bare = r->place == START;
	r->events = true;
	r->place = LIST;
	return 1;
}

static int on_close_array(void *context)
{
	struct reader *r = context;

	if (r->place != LIST)
		return capture_close(r, ']');
	r->place = r->bare ? END : TOP;
	return 1;
}

static int on_key(void *context, const unsigned char *bytes, size_t len)
{
	struct reader *r = context;
	const char *s = (const char *)bytes;

	if (r->place == CAPTURE) {
		capture_comma(r);
		fmt_json_string(&r->capture, s, len);
		text_char(&r->capture, ':');
		r->more = false;
		return 1;
	}
	r->place = r->place == TOP ? MEMBER : r->place == EVENT ? FIELD : ARG;
	return kineto_json_text(r, s, len, &r->key);
}

const yajl_callbacks kineto_json_callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_open_map,
	.yajl_map_key = on_key,
	.yajl_end_map = on_close_map,
	.yajl_start_array = on_open_array,
	.yajl_end_array = on_close_array,
};
