/* SPDX-License-Identifier: Apache-2.0 */

/* Arbitrary bytes as a profiler file: documents that are accepted must be valid JSON. */
#include "base/scope.h"
#include "formats/run/kineto/json.h"
#include "formats/trace/json.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct seen {
	size_t len;
};

static int on_event(void *context, const struct kineto_event *e)
{
	struct seen *s = context;

	if (e->offset >= s->len)
		__builtin_trap();
	return 0;
}

static int on_member(void *context, uint32_t key, const char *json, size_t len)
{
	if (!fmt_json_valid(json, len))
		__builtin_trap();
	return 0;
}

/* Also accepts an array without its closing bracket, and a comma before the end. */
static bool is_json(const char *text, size_t len)
{
	scoped(text_done) struct text closed = {0};

	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == ','))
		len--;
	text_bytes(&closed, text, len);
	text_char(&closed, ']');
	return closed.error || fmt_json_valid(text, len) || fmt_json_valid(closed.data, closed.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	scoped(close_fd) int fd = memfd_create("input", MFD_CLOEXEC);
	scoped(free_ptr) char *text = malloc(len + 1);
	struct fmt_strings strings = {0};
	struct seen seen = {.len = len};
	struct kineto_json j = {
		.strings = &strings, .event = on_event, .member = on_member, .context = &seen};
	struct kineto_json_counts counts;
	struct kineto_source *source;
	char path[64];

	if (!text || fd < 0 || kineto_strings_init(&strings) < 0)
		return 0;
	/* The reader does not check the encoding of characters, and decompresses compressed
	 * input. */
	for (size_t i = 0; i < len; i++)
		text[i] = data[i] < ' ' ? ' ' : data[i] >= 0x7f ? 'x' : (char)data[i];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (write(fd, text, len) != (ssize_t)len)
		return 0;
	if (kineto_source_open(path, &source, NULL) == 0) {
		if (kineto_json_read(source, path, &j, &counts, NULL) == 0 && !counts.commas &&
		    !counts.not_numbers && !is_json(text, len))
			__builtin_trap();
		kineto_source_close(source);
	}
	fmt_strings_done(&strings);
	return 0;
}
