/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/origin.h"

#include "base/host.h"
#include "base/scope.h"
#include "formats/trace/json.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CLOCK_KEY "capture.clock"
#define PART_KEY "capture.part"
#define BOOT "/proc/sys/kernel/random/boot_id"
#define TIME_NAMESPACE "/proc/self/ns/time"

void fmt_origin_current(struct fmt_origin *ret)
{
	scoped(close_fd) int fd = open(BOOT, O_RDONLY | O_CLOEXEC);
	char boot[40] = "", space[40] = "";
	int64_t before = host_clock_ns(CLOCK_MONOTONIC), real = host_clock_ns(CLOCK_REALTIME);

	ret->realtime_ns = real - before - (host_clock_ns(CLOCK_MONOTONIC) - before) / 2;
	ret->clock[0] = '\0';
	if (fd < 0 || read(fd, boot, sizeof(boot) - 1) <= 0)
		return;
	boot[strcspn(boot, "\n")] = '\0';
	if (readlink(TIME_NAMESPACE, space, sizeof(space) - 1) < 0)
		space[0] = '\0';
	snprintf(ret->clock, sizeof(ret->clock), "%s %s", boot, space);
}

static int put_fact(struct fmt_names *names, const char *key, const struct text *json)
{
	return fmt_names_fact_text(names, FMT_WHOLE_TRACE, key, json);
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
		r = put_fact(names, CLOCK_KEY, &clock);
	if (r < 0 || o->n_parts == 0)
		return r;
	fmt_json_open(&p, NULL, '{');
	fmt_json_u64(&p, "index", o->part);
	fmt_json_u64(&p, "of", o->n_parts);
	if (o->run[0])
		fmt_json_str(&p, "run", o->run);
	fmt_json_close(&p, '}');
	return put_fact(names, PART_KEY, &part);
}

uint64_t fmt_origin_ranks(const struct fmt_names *names)
{
	const char *fact = fmt_fact_value(names, 0, "distributedInfo");
	int64_t n = fact ? fmt_json_member_i64(fact, strlen(fact), "world_size", 0) : 0;

	return n > 0 ? (uint64_t)n : 0;
}
