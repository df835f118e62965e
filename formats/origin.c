/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/origin.h"

#include "base/scope.h"
#include "formats/export/json.h"

#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define CLOCK_KEY "capture.clock"
#define PART_KEY "capture.part"
#define BOOT "/proc/sys/kernel/random/boot_id"
#define TIME_NAMESPACE "/proc/self/ns/time"

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t = {0};

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void fmt_origin_here(struct fmt_origin *ret)
{
	scoped(close_fd) int fd = open(BOOT, O_RDONLY | O_CLOEXEC);
	char boot[40] = "", space[40] = "";
	int64_t before = clock_ns(CLOCK_MONOTONIC), real = clock_ns(CLOCK_REALTIME);

	ret->realtime_ns = real - before - (clock_ns(CLOCK_MONOTONIC) - before) / 2;
	ret->clock[0] = '\0';
	if (fd < 0 || read(fd, boot, sizeof(boot) - 1) <= 0)
		return;
	boot[strcspn(boot, "\n")] = '\0';
	if (readlink(TIME_NAMESPACE, space, sizeof(space) - 1) < 0)
		space[0] = '\0';
	snprintf(ret->clock, sizeof(ret->clock), "%s %s", boot, space);
}

static int put(struct fmt_names *names, const char *key, const struct text *json)
{
	return json->error
		       ? json->error
		       : fmt_names_fact_json(names, FMT_WHOLE_TRACE, key, json->data, json->len);
}

int fmt_origin_put(struct fmt_names *names, const struct fmt_origin *o)
{
	scoped(text_done) struct text clock = {0}, part = {0};
	struct fmt_json c = {.text = &clock}, p = {.text = &part};
	int r = 0;

	fmt_json_open(&c, NULL, '{');
	if (o->clock[0])
		fmt_json_str(&c, "id", o->clock);
	if (o->realtime_ns)
		fmt_json_i64(&c, "realtime_ns", o->realtime_ns);
	fmt_json_close(&c, '}');
	if (o->clock[0] || o->realtime_ns)
		r = put(names, CLOCK_KEY, &clock);
	if (r < 0 || o->n_parts == 0)
		return r;
	fmt_json_open(&p, NULL, '{');
	fmt_json_u64(&p, "index", o->part);
	fmt_json_u64(&p, "of", o->n_parts);
	if (o->run[0])
		fmt_json_str(&p, "run", o->run);
	fmt_json_close(&p, '}');
	return put(names, PART_KEY, &part);
}

/* As it is written; what is too long is cut. */
static void string(const char *object, size_t len, const char *key, char ret[FMT_ORIGIN_ID])
{
	const char *text = "";
	size_t n = fmt_json_member_text(object, len, key, &text);

	snprintf(ret, FMT_ORIGIN_ID, "%.*s", n < FMT_ORIGIN_ID ? (int)n : FMT_ORIGIN_ID, text);
}

/* The fact's JSON object; "" where it is none. */
static const char *object_of(const struct fmt_names *names, const char *key, size_t *len)
{
	const char *fact = fmt_fact_value(names, FMT_WHOLE_TRACE, key);

	*len = fact ? strlen(fact) : 0;
	return fact ? fact : "";
}

void fmt_origin_get(const struct fmt_names *names, struct fmt_origin *ret)
{
	size_t clock_len, part_len;
	const char *clock = object_of(names, CLOCK_KEY, &clock_len);
	const char *part = object_of(names, PART_KEY, &part_len);

	*ret = (struct fmt_origin){0};
	string(clock, clock_len, "id", ret->clock);
	ret->realtime_ns = fmt_json_member_i64(clock, clock_len, "realtime_ns", 0);
	ret->part = (uint32_t)fmt_json_member_i64(part, part_len, "index", 0);
	ret->n_parts = (uint32_t)fmt_json_member_i64(part, part_len, "of", 0);
	string(part, part_len, "run", ret->run);
}
