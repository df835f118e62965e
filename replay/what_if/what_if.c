/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/what_if/what_if.h"

#include "base/scope.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kinds of scope that a key accepts in addition to ranks. */
enum { KERNELS = 1, COLLECTIVES = 2, RANKS = 4 };

enum value { SPEED, WORD, COUNT };

static const struct key {
	const char *name;
	unsigned scopes;
	enum value value;
	const char *words[2]; /* of a WORD: the values 1 and 2 */
} keys[WHAT_IF_KEYS] = {
	[WHAT_IF_GPU] = {"gpu", RANKS | KERNELS},
	[WHAT_IF_NETWORK] = {"network", COLLECTIVES},
	[WHAT_IF_LATENCY] = {"network.latency", COLLECTIVES},
	[WHAT_IF_BANDWIDTH] = {"network.bandwidth", COLLECTIVES},
	[WHAT_IF_COPY] = {"copy", RANKS},
	[WHAT_IF_HOST] = {"host", RANKS},
	[WHAT_IF_LAUNCH] = {"launch", RANKS},
	[WHAT_IF_STRAGGLER] = {"straggler", 0, WORD, {"none"}},
	[WHAT_IF_OVERLAP] = {"overlap", 0, WORD, {"off", "full"}},
	[WHAT_IF_COPIES] = {"ranks.dp", 0, COUNT},
	[WHAT_IF_BATCH] = {"batch", 0},
};

static const char *const ops[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
				  "reduce",	"all_to_all", "send_recv",	"gather",
				  "scatter",	"barrier",    "group"};

#define EXPECTED_KEYS                                                                              \
	"gpu, network, network.latency, network.bandwidth, copy, host, launch, straggler, "        \
	"overlap or ranks.dp"

__attribute__((format(printf, 2, 3))) static int invalid(struct what_if_error *err,
							 const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(err->why, sizeof(err->why), format, args);
	va_end(args);
	return -EINVAL;
}

/* At most 60 bytes of the text for a message. */
static int cut_text(size_t n)
{
	return n < 60 ? (int)n : 60;
}

/* Returns the length of a name followed by '=', or 0. */
static size_t key_length(const char *at)
{
	size_t n = 0;

	while (islower((unsigned char)at[n]) || at[n] == '.')
		n++;
	return at[n] == '=' ? n : 0;
}

static int same_word(const char *at, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(at, word, n) == 0;
}

/* Returns the key that begins at `at`, or WHAT_IF_KEYS. */
static enum what_if_key key_at(const char *at)
{
	size_t n = key_length(at);
	enum what_if_key key = 0;

	while (key < WHAT_IF_KEYS && !same_word(at, n, keys[key].name))
		key++;
	return key;
}

/* Finds the key of the change that begins at `at`; it may be preceded by a scope and a colon. */
static const char *find_key(const char *at)
{
	const char *from = at;

	while (key_at(at) == WHAT_IF_KEYS) {
		at = strchr(at, ':');
		if (!at)
			return from;
		at++;
	}
	return at;
}

/* ---- values ---- */

static int parse_speed(const char *at, size_t n, double *ret)
{
	char buf[32], *end;

	if (n < 2 || n >= sizeof(buf) || at[n - 1] != 'x')
		return -EINVAL;
	for (size_t i = 0; i + 1 < n; i++)
		if (!isdigit((unsigned char)at[i]) && at[i] != '.')
			return -EINVAL;
	memcpy(buf, at, n - 1);
	buf[n - 1] = 0;
	*ret = strtod(buf, &end);
	return *end == 0 && *ret >= WHAT_IF_SLOWEST && *ret <= WHAT_IF_FASTEST ? 0 : -EINVAL;
}

/* A number of at most nine digits; NULL: not found. */
static const char *parse_number(const char *at, uint32_t *ret)
{
	const char *from = at;

	for (*ret = 0; isdigit((unsigned char)*at) && at - from < 9; at++)
		*ret = *ret * 10 + (uint32_t)(*at - '0');
	return at > from && !isdigit((unsigned char)*at) ? at : NULL;
}

static int parse_word(const char *at, size_t n, const struct key *key, struct what_if_change *c,
		      struct what_if_error *err)
{
	for (c->number = 0; c->number < 2 && key->words[c->number]; c->number++)
		if (same_word(at, n, key->words[c->number])) {
			c->number++;
			return 0;
		}
	return invalid(err, "invalid value '%.*s' for %s; expected %s%s%s", cut_text(n), at,
		       key->name, key->words[0], key->words[1] ? " or " : "",
		       key->words[1] ? key->words[1] : "");
}

static int copy_text(const char *at, size_t n, char **ret)
{
	*ret = strndup(at, n);
	return *ret ? 0 : -ENOMEM;
}

static int parse_value(const char *at, size_t n, struct what_if_change *c,
		       struct what_if_error *err)
{
	const struct key *key = &keys[c->key];

	c->speed = 1;
	if (key->value == WORD)
		return parse_word(at, n, key, c, err);
	if (key->value == COUNT) {
		if (parse_number(at, &c->number) != at + n || c->number == 0 ||
		    c->number > WHAT_IF_COPIES_MOST)
			return invalid(err, "invalid value '%.*s' for %s; expected 1 to %d",
				       cut_text(n), at, key->name, WHAT_IF_COPIES_MOST);
		return 0;
	}
	if (c->key == WHAT_IF_GPU && n > 1 && isupper((unsigned char)*at))
		return copy_text(at, n, &c->model);
	if (parse_speed(at, n, &c->speed) < 0)
		return invalid(err,
			       "invalid value '%.*s' for %s; expected a speed from %gx to %gx "
			       "such as 2x (twice as fast)%s",
			       cut_text(n), at, key->name, WHAT_IF_SLOWEST, (double)WHAT_IF_FASTEST,
			       c->key == WHAT_IF_GPU ? ", or a GPU model such as H100" : "");
	if (c->key == WHAT_IF_BATCH)
		return invalid(err, "batch is not supported: a recording does not contain which "
				    "dimension of a kernel is the batch");
	return 0;
}

/* ---- scopes ---- */

/* Parses "1,3-5:". Returns the position after the colon, or NULL. */
static const char *parse_ranks(const char *at, struct what_if_change *c)
{
	c->ranks = calloc(WHAT_IF_RANGES, sizeof(*c->ranks));
	while (c->ranks && c->n_ranks < WHAT_IF_RANGES) {
		uint32_t first, last;

		at = parse_number(at, &first);
		if (!at)
			return NULL;
		last = first;
		if (*at == '-')
			at = parse_number(at + 1, &last);
		if (!at || last < first)
			return NULL;
		c->ranks[c->n_ranks].first = first;
		c->ranks[c->n_ranks++].last = last;
		if (*at == ':')
			return at + 1;
		if (*at++ != ',')
			return NULL;
	}
	return NULL;
}

static int is_op(const char *at, size_t n)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (same_word(at, n, ops[i]))
			return 1;
	return 0;
}

int what_if_is_op(const char *name)
{
	return is_op(name, strlen(name));
}

static int has_prefix(const char *at, size_t n, const char *prefix)
{
	return n > strlen(prefix) && memcmp(at, prefix, strlen(prefix)) == 0;
}

/* The scope in [at, end), which ends with a colon. */
static int parse_scope(const char *at, const char *end, struct what_if_change *c, unsigned *found,
		       struct what_if_error *err)
{
	size_t n = (size_t)(end - at) - 1;

	if (has_prefix(at, n, "rank") && isdigit((unsigned char)at[4])) {
		const char *next = parse_ranks(at + 4, c);

		if (!next && !c->ranks)
			return -ENOMEM;
		if (!next || next > end)
			return invalid(err,
				       "invalid ranks '%.*s'; expected a list such as "
				       "rank1,3-5",
				       cut_text(n), at);
		*found |= RANKS;
		return next == end ? 0 : parse_scope(next, end, c, found, err);
	}
	if (has_prefix(at, n, "kernel~")) {
		*found |= KERNELS;
		return copy_text(at + 7, n - 7, &c->kernel);
	}
	if (has_prefix(at, n, "comm ")) {
		*found |= COLLECTIVES;
		return copy_text(at + 5, n - 5, &c->comm);
	}
	if (is_op(at, n)) {
		*found |= COLLECTIVES;
		return copy_text(at, n, &c->op);
	}
	return invalid(err,
		       "invalid scope '%.*s'; expected rank1,3-5, kernel~GLOB, comm NAME or a kind "
		       "of collectives such as all_reduce",
		       cut_text(n), at);
}

static int check_scope(const struct what_if_change *c, unsigned found, struct what_if_error *err)
{
	static const char *const names[] = {
		[KERNELS] = "kernel~GLOB",
		[COLLECTIVES] = "communicators and collectives",
		[RANKS] = "ranks",
	};
	unsigned bad = found & ~keys[c->key].scopes;

	return bad == 0 ? 0
			: invalid(err, "%s cannot be limited to %s", keys[c->key].name,
				  names[bad & -bad]);
}

/* ---- specs ---- */

/* Parses the change at *at, and advances *at past it and its comma. */
static int parse_change(const char **at, struct what_if_change *c, struct what_if_error *err)
{
	const char *key = find_key(*at), *value, *end;
	size_t n = key_length(key);
	unsigned found = 0;
	int r;

	c->key = key_at(key);
	if (c->key == WHAT_IF_KEYS)
		return invalid(
			err,
			"invalid change '%.*s'; expected KEY=VALUE with the key " EXPECTED_KEYS,
			cut_text(strcspn(*at, ",")), *at);
	r = key > *at ? parse_scope(*at, key, c, &found, err) : 0;
	if (r == 0)
		r = check_scope(c, found, err);
	if (r < 0)
		return r;
	value = key + n + 1;
	end = value + strcspn(value, ",");
	*at = *end ? end + 1 : end;
	if (*end && !**at)
		return invalid(err, "missing change after the last comma; expected KEY=VALUE");
	return parse_value(value, (size_t)(end - value), c, err);
}

define_cleanup(what_if_free_ptr, struct what_if *, what_if_free);

int what_if_parse(const char *spec, struct what_if **ret, struct what_if_error *err)
{
	scoped(what_if_free_ptr) struct what_if *w = calloc(1, sizeof(*w));
	const char *at = spec;

	if (!w || copy_text(spec, strlen(spec), &w->spec) < 0)
		return -ENOMEM;
	if (strlen(spec) > 255 || strchr(spec, '/'))
		return invalid(err, "the text is longer than 255 bytes or contains a slash; "
				    "expected one that can be the name of a file");
	do {
		int r;

		if (w->n == WHAT_IF_CHANGES)
			return invalid(err, "more than %d changes", WHAT_IF_CHANGES);
		r = parse_change(&at, &w->changes[w->n++], err);
		if (r < 0)
			return r;
	} while (*at);
	*ret = take(w);
	return 0;
}

void what_if_free(struct what_if *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < w->n; i++) {
		free(w->changes[i].ranks);
		free(w->changes[i].kernel);
		free(w->changes[i].model);
		free(w->changes[i].comm);
		free(w->changes[i].op);
	}
	free(w->spec);
	free(w);
}

int what_if_has_rank(const struct what_if_change *c, uint32_t number)
{
	for (uint32_t i = 0; i < c->n_ranks; i++)
		if (number >= c->ranks[i].first && number <= c->ranks[i].last)
			return 1;
	return c->n_ranks == 0;
}

struct what_if_structure what_if_structure(const struct what_if *w)
{
	struct what_if_structure ret = {0};

	for (uint32_t i = 0; i < w->n; i++) {
		if (w->changes[i].key == WHAT_IF_OVERLAP)
			ret.overlap = (enum what_if_overlap)w->changes[i].number;
		if (w->changes[i].key == WHAT_IF_COPIES)
			ret.copies = w->changes[i].number;
	}
	return ret;
}
