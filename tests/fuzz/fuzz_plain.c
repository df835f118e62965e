/* SPDX-License-Identifier: Apache-2.0 */

/* Events of a profiler's file that are read without yajl have to be JSON. */
#include "base/scope.h"
#include "formats/run/kineto/plain.h"
#include "formats/trace/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int on_event(void *context, const struct kineto_event *e)
{
	size_t *len = context;

	if (e->offset >= *len)
		__builtin_trap();
	return 0;
}

/* What was read ends in a comma and white space, and stands in a list. */
static void check(const char *events, size_t len)
{
	scoped(text_done) struct text list = {0};

	while (len > 0 && events[len - 1] == ' ')
		len--;
	text_char(&list, '[');
	text_bytes(&list, events, len - 1);
	text_char(&list, ']');
	if (!list.error && !fmt_json_valid(list.data, list.len))
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct kineto_strings strings = {0};
	struct kineto_json j = {.strings = &strings, .event = on_event, .context = &len};
	scoped(free_ptr) char *text = malloc(len + 1);
	struct reader r = {.j = &j, .shape = r.shapes, .window = text, .end = len, .place = LIST};

	if (!text || kineto_strings_init(&strings) < 0)
		return 0;
	/* Neither reader looks at which bytes make a character. */
	for (size_t i = 0; i < len; i++)
		text[i] = data[i] < ' ' ? ' ' : data[i] >= 0x7f ? 'x' : (char)data[i];
	text[len] = '\0';
	kineto_plain_events(&r);
	if (r.at > 0)
		check(text, r.at);
	free(r.args);
	free(r.others);
	text_done(&r.capture);
	kineto_strings_done(&strings);
	return 0;
}
