/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/raw/clock.h"

#include "base/array.h"
#include "base/host.h"
#include "base/scope.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#define SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define TRIES 8
#define FIRST_GAP_NS 20000000
#define SAMPLE_GAP_NS 100000000
#define CATCH_UP_NS 1e9
#define MOST_SLEW 0.001 /* of the rate */

#ifdef __x86_64__
/* Returns true if the kernel considers the counter unreliable and uses a slower clock. */
static bool is_distrusted(void)
{
	scoped(close_fd) int fd = open(SOURCE, O_RDONLY | O_CLOEXEC);
	char name[32] = "";

	if (fd < 0 || read(fd, name, sizeof(name) - 1) < 0)
		return false;
	return strncmp(name, "hpet", 4) == 0 || strncmp(name, "acpi_pm", 7) == 0;
}

bool cap_clock_is_usable(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1) && !is_distrusted();
}

static uint64_t ticks_now(void)
{
	return __builtin_ia32_rdtsc();
}
#else
bool cap_clock_is_usable(void)
{
	return false;
}

static uint64_t ticks_now(void)
{
	return 0;
}
#endif

/* Reads both clocks together: the best of some tries, with the counter read before and after. */
static void read_clocks(uint64_t *ret_ticks, int64_t *ret_ns)
{
	uint64_t closest = UINT64_MAX;

	*ret_ticks = 0;
	*ret_ns = 0;
	for (int i = 0; i < TRIES; i++) {
		uint64_t before = ticks_now(), after;
		int64_t ns = host_clock_ns(CLOCK_MONOTONIC);

		after = ticks_now();
		if (after - before >= closest)
			continue;
		closest = after - before;
		*ret_ticks = before + closest / 2;
		*ret_ns = ns;
	}
}

static int append_segment(struct cap_clock *c, uint64_t ticks, int64_t ns, double slope)
{
	if (array_reserve(&c->segments, c->n + 1, &c->cap) < 0)
		return -ENOMEM;
	c->segments[c->n++] = (struct cap_clock_segment){ticks, ns, slope};
	return 0;
}

int cap_clock_init(struct cap_clock *c)
{
	static const struct timespec gap = {0, FIRST_GAP_NS};
	uint64_t ticks;
	int64_t ns;

	*c = (struct cap_clock){0};
	read_clocks(&c->first_ticks, &c->first_ns);
	nanosleep(&gap, NULL);
	read_clocks(&ticks, &ns);
	return cap_clock_add(c, ticks, ns);
}

void cap_clock_done(struct cap_clock *c)
{
	free(c->segments);
	*c = (struct cap_clock){0};
}

int cap_clock_add(struct cap_clock *c, uint64_t ticks, int64_t ns)
{
	double rate, slew;
	int64_t reached;

	if (ticks <= c->first_ticks || (c->n && ticks <= c->segments[c->n - 1].ticks))
		return 0;
	rate = (double)(ns - c->first_ns) / (double)(ticks - c->first_ticks);
	if (c->n == 0)
		return append_segment(c, c->first_ticks, c->first_ns, rate);
	reached = cap_clock_ns(c, ticks);
	slew = (double)(ns - reached) / CATCH_UP_NS;
	slew = slew > MOST_SLEW ? MOST_SLEW : slew < -MOST_SLEW ? -MOST_SLEW : slew;
	return append_segment(c, ticks, reached, rate * (1 + slew));
}

int cap_clock_sample(struct cap_clock *c)
{
	uint64_t ticks;
	int64_t ns;

	read_clocks(&ticks, &ns);
	if (c->n && cap_clock_ns(c, ticks) - c->segments[c->n - 1].ns < SAMPLE_GAP_NS)
		return 0;
	return cap_clock_add(c, ticks, ns);
}

int64_t cap_clock_ns(const struct cap_clock *c, uint64_t ticks)
{
	const struct cap_clock_segment *s;
	size_t behind = c->n;

	if (c->n == 0)
		return 0;
	/* Find the last segment that begins at or before the tick: nearly always the last one. */
	if (ticks < c->segments[behind - 1].ticks)
		behind = array_bound(i, 0, c->n, c->segments[i].ticks <= ticks);
	s = &c->segments[behind ? behind - 1 : 0];
	return s->ns + (int64_t)((double)(int64_t)(ticks - s->ticks) * s->slope);
}

int cap_clock_append(struct cap_clock *c, const void *segments, size_t bytes)
{
	size_t n = bytes / sizeof(*c->segments);

	if (n == 0)
		return 0;
	if (array_reserve(&c->segments, c->n + n, &c->cap) < 0)
		return -ENOMEM;
	memcpy(c->segments + c->n, segments, n * sizeof(*c->segments));
	c->n += n;
	c->first_ticks = c->segments[0].ticks;
	c->first_ns = c->segments[0].ns;
	return 0;
}
