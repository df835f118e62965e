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

	*ret = (struct fmt_origin){.realtime_ns = real - before -
						  (clock_ns(CLOCK_MONOTONIC) - before) / 2};
	if (fd < 0 || read(fd, boot, sizeof(boot) - 1) <= 0)
		return;
	boot[strcspn(boot, "\n")] = '\0';
	if (readlink(TIME_NAMESPACE, space, sizeof(space) - 1) < 0)
		space[0] = '\0';
	snprintf(ret->clock, sizeof(ret->clock), "%s %s", boot, space);
}

static int put(struct fmt_names *names, const char *key, const struct text *json)
{
	fmt_str value;
	int r = json->error;

	if (r == 0)
		r = fmt_names_string(names, json->data, json->len, &value);
	return r < 0 ? r : fmt_names_fact(names, FMT_WHOLE_TRACE, key, value);
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

/* A member that is a number, or 0. */
static int64_t number(const char *object, const char *key)
{
	const char *value;
	size_t len;

	return object && fmt_json_member(object, strlen(object), key, &value, &len)
		       ? strtoll(value, NULL, 10)
		       : 0;
}

/* A member that is a string, as it is written. */
static void string(const char *object, const char *key, char ret[FMT_ORIGIN_ID])
{
	const char *value;
	size_t len;

	if (object && fmt_json_member(object, strlen(object), key, &value, &len) && len >= 2 &&
	    *value == '"')
		snprintf(ret, FMT_ORIGIN_ID, "%.*s", (int)(len < 4096 ? len - 2 : 0), value + 1);
}

void fmt_origin_get(const struct fmt_names *names, struct fmt_origin *ret)
{
	const char *clock = fmt_fact_value(names, FMT_WHOLE_TRACE, CLOCK_KEY);
	const char *part = fmt_fact_value(names, FMT_WHOLE_TRACE, PART_KEY);

	*ret = (struct fmt_origin){0};
	if (clock && !fmt_json_valid(clock, strlen(clock)))
		clock = NULL;
	if (part && !fmt_json_valid(part, strlen(part)))
		part = NULL;
	string(clock, "id", ret->clock);
	ret->realtime_ns = number(clock, "realtime_ns");
	ret->part = (uint32_t)number(part, "index");
	ret->n_parts = (uint32_t)number(part, "of");
	string(part, "run", ret->run);
}
