/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/constants.h"

#include "base/scope.h"
#include "base/text.h"

#include <inttypes.h>
#include <stddef.h>

static const struct {
	const char *key;
	size_t offset;
	int64_t otherwise;
} fields[] = {
	{"\"anchor_ns\":", offsetof(struct fmt_constants, anchor_ns), 0},
	{"\"clock_ns\":", offsetof(struct fmt_constants, clock_ns), 0},
	{"\"launch_ns\":", offsetof(struct fmt_constants, launch_ns), 0},
	{"\"from_start\":", offsetof(struct fmt_constants, from_start), 0},
	{"\"copy_ns\":", offsetof(struct fmt_constants, copy_ns), 15000},
	{"\"event_ns\":", offsetof(struct fmt_constants, event_ns), 0},
	{"\"unexplained\":", offsetof(struct fmt_constants, unexplained), 0},
};
#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))
/* The most frequent gap, then gaps by class: class before, class after, gap. */
#define GAPS "\"gaps_ns\":"

static int64_t *constant_at(struct fmt_constants *c, size_t i)
{
	return (int64_t *)((char *)c + fields[i].offset);
}

/* Times of a stranger's file are kept within a range in which sums cannot overflow. */
static int64_t read_number(const char **at)
{
	const int64_t most = INT64_MAX / 4;
	char *end;
	long long v = strtoll(*at, &end, 10);

	*at = end;
	return v > most ? most : v < -most ? -most : v;
}

/* The next number of a list of lists; 0 at its end. */
static int next_number(const char **at, int64_t *ret)
{
	const char *was;

	*at += strspn(*at, "[], ");
	was = *at;
	*ret = read_number(at);
	return *at != was;
}

static void read_gaps(const char *at, struct fmt_constants *c)
{
	int64_t most, a, b, gap;

	if (!next_number(&at, &most))
		return;
	for (int i = 0; i < FMT_GAP_CLASSES * FMT_GAP_CLASSES; i++)
		c->gap_ns[i / FMT_GAP_CLASSES][i % FMT_GAP_CLASSES] = most;
	while (next_number(&at, &a) && next_number(&at, &b) && next_number(&at, &gap))
		if (a >= 0 && a < FMT_GAP_CLASSES && b >= 0 && b < FMT_GAP_CLASSES)
			c->gap_ns[a][b] = gap;
}

/* Returns the gap that most pairs of classes have; of several, the smallest. */
static int64_t most_gaps(const struct fmt_constants *c)
{
	const int64_t *gaps = &c->gap_ns[0][0];
	int64_t best = 0;
	int n_best = 0;

	for (int i = 0; i < FMT_GAP_CLASSES * FMT_GAP_CLASSES; i++) {
		int n = 0;

		for (int k = 0; k < FMT_GAP_CLASSES * FMT_GAP_CLASSES; k++)
			n += gaps[k] == gaps[i];
		if (n > n_best || (n == n_best && gaps[i] < best)) {
			best = gaps[i];
			n_best = n;
		}
	}
	return best;
}

/* Returns the text after the key, which usually follows directly after `at`. */
static const char *find_key(const char *text, const char *at, const char *key)
{
	const char *found = text ? strstr(at, key) : NULL;

	if (text && !found)
		found = strstr(text, key);
	return found ? found + strlen(key) : NULL;
}

int fmt_constants_get(const struct fmt_names *n, uint32_t rank, struct fmt_constants *ret)
{
	const char *text = fmt_fact_value(n, rank, FMT_CONSTANTS_KEY), *at = text;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < N_FIELDS; i++) {
		const char *value = find_key(text, at, fields[i].key);

		*constant_at(ret, i) = fields[i].otherwise;
		if (!value)
			continue;
		at = value;
		*constant_at(ret, i) = read_number(&at);
	}
	if (!text)
		return 0;
	at = find_key(text, at, GAPS);
	if (at)
		read_gaps(at, ret);
	return 1;
}

int fmt_constants_put(struct fmt_names *n, uint32_t rank, const struct fmt_constants *c)
{
	scoped(text_done) struct text out = {0};
	struct fmt_constants copy = *c;
	int64_t most = most_gaps(c);

	for (size_t i = 0; i < N_FIELDS; i++)
		text_printf(&out, "%c%s%" PRId64, i == 0 ? '{' : ',', fields[i].key,
			    *constant_at(&copy, i));
	text_printf(&out, "," GAPS "[%" PRId64, most);
	for (int a = 0; a < FMT_GAP_CLASSES; a++)
		for (int b = 0; b < FMT_GAP_CLASSES; b++)
			if (c->gap_ns[a][b] != most)
				text_printf(&out, ",[%d,%d,%" PRId64 "]", a, b, c->gap_ns[a][b]);
	text_str(&out, "]}");
	return fmt_names_fact_text(n, rank, FMT_CONSTANTS_KEY, &out);
}

int fmt_template_gaps_init(struct fmt_template_gaps *g, uint32_t n_templates)
{
	*g = (struct fmt_template_gaps){.ns = calloc(n_templates + 1ul, sizeof(*g->ns)),
					.n = n_templates};
	if (!g->ns)
		g->n = 0;
	return g->ns ? 0 : -ENOMEM;
}

void fmt_template_gaps_done(struct fmt_template_gaps *g)
{
	free(g->ns);
}

void fmt_template_gaps_get(const struct fmt_names *n, struct fmt_template_gaps *g)
{
	const char *at = fmt_fact_value(n, FMT_WHOLE_TRACE, FMT_TEMPLATE_GAPS_KEY);
	int64_t gap;

	for (uint32_t i = 0; at && i < g->n && next_number(&at, &gap); i++)
		g->ns[i] = gap;
}

int fmt_template_gaps_put(struct fmt_names *n, const struct fmt_template_gaps *g)
{
	scoped(text_done) struct text out = {0};

	for (uint32_t i = 0; i < g->n; i++)
		text_printf(&out, "%c%" PRId64, i == 0 ? '[' : ',', g->ns[i]);
	text_str(&out, g->n == 0 ? "[]" : "]");
	return fmt_names_fact_text(n, FMT_WHOLE_TRACE, FMT_TEMPLATE_GAPS_KEY, &out);
}
