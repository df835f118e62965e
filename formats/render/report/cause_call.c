/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/cause_call.h"

#include "formats/api/api.h"
#include "formats/render/grid.h"
#include "formats/trace/value.h"

#include <stdio.h>

#define KEY_BYTES 128
#define TEXT_BYTES 80
#define PARAMETER "kernelParams["

/* The arguments of an event. */
struct arguments {
	const struct fmt_cause_side *side;
	const struct fmt_event *event;
	const struct fmt_slice *slice;
	const struct fmt_template *template;
};

static struct arguments arguments_of(const struct fmt_cause_side *s, const struct fmt_event *e,
				     const struct fmt_slice *slice)
{
	return (struct arguments){s, e, slice, fmt_template(s->names, e->template)};
}

static const char *key_of(const struct arguments *a, uint32_t i)
{
	return fmt_string(a->side->names, a->template->args[i].key, NULL);
}

/* Returns the index of argument `key`, tried first at index `i`; n_args: none. */
static uint32_t find_argument(const struct arguments *a, const char *key, uint32_t i)
{
	if (i < a->template->n_args && strcmp(key_of(a, i), key) == 0)
		return i;
	for (i = 0; i < a->template->n_args; i++)
		if (strcmp(key_of(a, i), key) == 0)
			break;
	return i;
}

static int64_t value_of(const struct arguments *a, uint32_t i)
{
	const struct fmt_arg *args = a->template->args;
	const int64_t *values = fmt_event_values(a->slice, a->event);
	uint32_t varying = 0;

	if (!args[i].varies)
		return args[i].value;
	for (uint32_t k = 0; k < i; k++)
		varying += args[k].varies;
	return (uint64_t)a->event->first_value + varying < a->slice->n_values ? values[varying] : 0;
}

/* Returns true if the event has the argument KEY.MEMBER, a number. */
static bool has_argument(const struct arguments *a, const char *key, const char *member,
			 int64_t *ret)
{
	char whole[KEY_BYTES];
	uint32_t i;

	if (snprintf(whole, sizeof(whole), "%s.%s", key, member) >= KEY_BYTES)
		return false;
	i = find_argument(a, whole, 0);
	if (i == a->template->n_args || a->template->args[i].type != FMT_INT)
		return false;
	*ret = value_of(a, i);
	return true;
}

static bool is_number(const struct api_call *call, const char *key)
{
	for (unsigned i = 0; call && i < call->n_args; i++)
		if (strcmp(call->args[i].name, key) == 0)
			return call->args[i].direction == API_DIRECTION_NONE &&
			       call->args[i].meaning >= API_MEANING_NUMBER &&
			       call->args[i].meaning <= API_MEANING_ENUM;
	return false;
}

/* Returns the size of parameter `key` of a kernel, from its layout: "0:4 8:8"; 0: not a
 * parameter. */
static size_t parameter_bytes(const struct arguments *a, const char *key)
{
	uint32_t at = find_argument(a, "kernelParams.layout", 0);
	unsigned long number, bytes = 0;
	const char *layout;
	char *end;

	if (strncmp(key, PARAMETER, strlen(PARAMETER)) != 0 || at == a->template->n_args ||
	    a->template->args[at].type != FMT_STRING)
		return 0;
	number = strtoul(key + strlen(PARAMETER), &end, 10);
	if (strcmp(end, "]") != 0)
		return 0;
	layout = fmt_string(a->side->names, (fmt_str)value_of(a, at), NULL);
	for (unsigned long i = 0; i <= number; i++) {
		layout += strcspn(layout, ":");
		if (!*layout)
			return 0;
		bytes = strtoul(layout + 1, &end, 10);
		layout = end;
	}
	return bytes;
}

/* Returns true for a number that is not an address or a handle, as far as known. */
static bool is_plain(const struct arguments *a, const char *key, int64_t value)
{
	size_t bytes = parameter_bytes(a, key);

	return bytes == 4 || (bytes == 8 && value >= 0 && value <= UINT32_MAX);
}

static bool same_memory(const struct arguments *x, const struct arguments *y, const char *key)
{
	int64_t p, q, offset, other;

	if (!has_argument(x, key, "id", &p) || !has_argument(y, key, "id", &q) ||
	    !has_argument(x, key, "offset", &offset) || !has_argument(y, key, "offset", &other))
		return true;
	return offset == other &&
	       fmt_cause_memory_same(&x->side->memory, (uint64_t)p, &y->side->memory, (uint64_t)q,
				     x->side->threads);
}

static void describe_arg(const struct arguments *a, const char *key, uint32_t i, struct text *out)
{
	scoped(text_done) struct text value = {0};
	int64_t id, offset;

	text_printf(out, " with %s = ", key);
	if (has_argument(a, key, "id", &id) && has_argument(a, key, "offset", &offset)) {
		text_printf(out, "byte %lld of allocation %lld", (long long)offset, (long long)id);
		return;
	}
	fmt_value_text(&value, a->side->names, a->event, a->template,
		       fmt_event_values(a->slice, a->event), i);
	fmt_text_sanitised(out, value.data ? value.data : "", value.len, TEXT_BYTES);
}

/* Returns true if argument `i` of x equals argument `k` of y, or need not be compared. */
static bool same_argument(const struct arguments *x, uint32_t i, const struct arguments *y,
			  uint32_t k, const struct api_call *call)
{
	int64_t value = value_of(x, i), other = value_of(y, k), id;
	const char *key = key_of(x, i);

	if (x->template->args[i].type != y->template->args[k].type)
		return true;
	if (x->template->args[i].type == FMT_STRING)
		return !is_number(call, key) ||
		       strcmp(fmt_string(x->side->names, (fmt_str)value, NULL),
			      fmt_string(y->side->names, (fmt_str)other, NULL)) == 0;
	if (x->template->args[i].type != FMT_INT || value == other)
		return true;
	if (has_argument(x, key, "id", &id) || has_argument(y, key, "id", &id))
		return same_memory(x, y, key);
	return !is_number(call, key) && !(is_plain(x, key, value) && is_plain(y, key, other));
}

bool fmt_cause_call_same(const struct fmt_cause_side *a, const struct fmt_cause_item *x,
			 const struct fmt_cause_side *b, const struct fmt_cause_item *y,
			 struct text *first, struct text *second)
{
	struct arguments p, q;
	int index;

	if (!x->call || !y->call)
		return true;
	p = arguments_of(a, x->call->event, x->call->slice);
	q = arguments_of(b, y->call->event, y->call->slice);
	if (!p.template || !q.template)
		return true;
	index = api_find(fmt_string(a->names, p.template->name, NULL));
	if (index < 0 || index != api_find(fmt_string(b->names, q.template->name, NULL)))
		return true;
	for (uint32_t i = 0; i < p.template->n_args; i++) {
		uint32_t k = find_argument(&q, key_of(&p, i), i);

		if (k == q.template->n_args ||
		    same_argument(&p, i, &q, k, api_call((unsigned)index)))
			continue;
		describe_arg(&p, key_of(&p, i), i, first);
		describe_arg(&q, key_of(&p, i), k, second);
		return false;
	}
	return true;
}
