/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/infer/constants.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *key;
	size_t offset;
	int64_t otherwise;
} fields[] = {
	{"\"anchor_ns\":", offsetof(struct fmt_constants, anchor_ns), 0},
	{"\"clock_ns\":", offsetof(struct fmt_constants, clock_ns), 0},
	{"\"launch_ns\":", offsetof(struct fmt_constants, launch_ns), 0},
	{"\"copy_ns\":", offsetof(struct fmt_constants, copy_ns), 15000},
	{"\"event_ns\":", offsetof(struct fmt_constants, event_ns), 0},
	{"\"meet_ns\":", offsetof(struct fmt_constants, meet_ns), 0},
	{"\"unexplained\":", offsetof(struct fmt_constants, unexplained), 0},
};
#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))
#define GAPS "\"gap_ns\":"

enum fmt_gap_class fmt_gap_class(enum fmt_kind kind, int64_t duration_ns)
{
	switch (kind) {
	case FMT_MEMCPY:
		return FMT_GAP_MEMCPY;
	case FMT_MEMSET:
		return FMT_GAP_MEMSET;
	case FMT_KERNEL:
		return duration_ns < FMT_GAP_SHORT_NS ? FMT_GAP_SHORT : FMT_GAP_LONG;
	default:
		return FMT_GAP_LONG;
	}
}

static int64_t *field(struct fmt_constants *c, size_t i)
{
	return (int64_t *)((char *)c + fields[i].offset);
}

/* Times of a stranger's file are kept within a range in which sums cannot overflow. */
static int64_t number(const char **at)
{
	const int64_t most = INT64_MAX / 4;
	char *end;
	long long v = strtoll(*at, &end, 10);

	*at = end;
	return v > most ? most : v < -most ? -most : v;
}

static void read_gaps(const char *at, struct fmt_constants *c)
{
	for (int i = 0; i < FMT_GAP_CLASSES * FMT_GAP_CLASSES; i++) {
		at += strspn(at, "[], ");
		if (*at == '\0' || *at == '"' || *at == '}')
			return;
		const char *was = at;
		int64_t v = number(&at);

		if (at == was)
			return;
		c->gap_ns[i / FMT_GAP_CLASSES][i % FMT_GAP_CLASSES] = v;
	}
}

int fmt_constants_get(const struct fmt_names *n, uint32_t rank, struct fmt_constants *ret)
{
	const char *text = fmt_fact_value(n, rank, FMT_CONSTANTS_KEY);

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < N_FIELDS; i++) {
		const char *at = text ? strstr(text, fields[i].key) : NULL;

		*field(ret, i) = fields[i].otherwise;
		if (at) {
			at += strlen(fields[i].key);
			*field(ret, i) = number(&at);
		}
	}
	if (!text)
		return 0;
	const char *gaps = strstr(text, GAPS);

	if (gaps)
		read_gaps(gaps + strlen(GAPS), ret);
	return 1;
}

int fmt_constants_put(struct fmt_names *n, uint32_t rank, const struct fmt_constants *c)
{
	struct fmt_constants copy = *c;
	char text[1024];
	size_t len = 0;
	fmt_str value;
	int r;

	for (size_t i = 0; i < N_FIELDS; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%c%s%" PRId64,
					i == 0 ? '{' : ',', fields[i].key, *field(&copy, i));
	len += (size_t)snprintf(text + len, sizeof(text) - len, "," GAPS);
	for (int i = 0; i < FMT_GAP_CLASSES * FMT_GAP_CLASSES; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%" PRId64,
					i == 0			   ? "["
					: i % FMT_GAP_CLASSES == 0 ? "],"
								   : ",",
					i % FMT_GAP_CLASSES == 0 ? "[" : "",
					c->gap_ns[i / FMT_GAP_CLASSES][i % FMT_GAP_CLASSES]);
	len += (size_t)snprintf(text + len, sizeof(text) - len, "]]}");
	r = fmt_names_string(n, text, len, &value);
	return r < 0 ? r : fmt_names_fact(n, rank, FMT_CONSTANTS_KEY, value);
}
