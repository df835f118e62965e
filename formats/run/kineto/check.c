/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/check.h"

#include "formats/run/kineto/split.h"

#include "base/array.h"
#include "formats/trace/json.h"

#include <ctype.h>

/* Clocks of hosts without synchronisation are at most so far apart. */
#define CLOCKS_APART_NS (30 * INT64_C(1000000000))

/* "local_rank": a number within one host. */
static int is_local(const char *first, const char *rank)
{
	rank -= rank > first && !isalnum((unsigned char)rank[-1]);
	return rank - first >= 5 && strncasecmp(rank - 5, "local", 5) == 0;
}

int64_t kineto_rank_of_name(const char *path)
{
	const char *name = strrchr(path, '/');
	const char *first = name ? name + 1 : path;
	int64_t found = -1, local = -1;

	for (name = first; (name = strcasestr(name, "rank")); name++) {
		const char *s = name + 4;
		char *end;
		long long v;

		s += *s == '-' || *s == '_' || *s == '=' || *s == '.';
		if (!isdigit((unsigned char)*s))
			continue;
		errno = 0;
		v = strtoll(s, &end, 10);
		if (errno == 0 && v <= UINT32_MAX)
			*(is_local(first, name) ? &local : &found) = v;
	}
	return found >= 0 ? found : local;
}

static const char *fact(const struct kineto_import *im, const struct kineto_rank *k,
			const char *key)
{
	for (size_t i = 0; i < k->n_facts; i++) {
		if (strcmp(im->strings.strings[k->facts[i].key].s, key) == 0)
			return im->strings.strings[k->facts[i].json].s;
	}
	return NULL;
}

static int by_number(const void *a, const void *b)
{
	const struct kineto_rank *x = *(struct kineto_rank *const *)a;
	const struct kineto_rank *y = *(struct kineto_rank *const *)b;

	return array_order(x->number, y->number) ?: array_order(x->position, y->position);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int by_ordinal(const void *a, const void *b)
{
	const struct kineto_rank *x = *(struct kineto_rank *const *)a;
	const struct kineto_rank *y = *(struct kineto_rank *const *)b;

	return array_order(x->ordinal, y->ordinal) ?: array_order(x->position, y->position);
}

/* Numbers the ranks of files with several GPUs: by device, if there is one file and its devices
 * differ; else by counting all ranks. */
static void number_split(struct kineto_import *im)
{
	size_t n = im->n_ranks, split = 0, differ = im->options->n_files == 1;

	for (size_t i = 0; i < n; i++)
		split += im->ranks[i]->split;
	if (split == 0)
		return;
	qsort(im->ranks, n, sizeof(struct kineto_rank *), by_ordinal);
	for (size_t i = 0; i < n; i++)
		differ &= im->ranks[i]->ordinal >= 0 &&
			  (i == 0 || im->ranks[i]->ordinal > im->ranks[i - 1]->ordinal);
	if (!differ)
		qsort(im->ranks, n, sizeof(struct kineto_rank *), by_number);
	for (size_t i = 0; i < n; i++)
		im->ranks[i]->number = differ ? im->ranks[i]->ordinal : (int64_t)i;
}

static int number(struct kineto_import *im, struct fmt_error *err)
{
	for (size_t i = 0; i < im->n_ranks; i++) {
		struct kineto_rank *k = im->ranks[i];

		if (k->number < 0)
			k->number = kineto_rank_of_name(k->path);
		if (k->number < 0)
			k->number = (int64_t)i;
		k->position = i;
	}
	number_split(im);
	qsort(im->ranks, im->n_ranks, sizeof(struct kineto_rank *), by_number);
	for (size_t i = 1; i < im->n_ranks; i++) {
		if (im->ranks[i]->number == im->ranks[i - 1]->number)
			return fmt_fail(err, -EBADMSG, im->ranks[i]->path, FMT_NO_OFFSET,
					"duplicate rank %lld; %s has it, too",
					(long long)im->ranks[i]->number,
					base_name(im->ranks[i - 1]->path));
	}
	return 0;
}

/* A member of distributedInfo must be equal in all files that have it. */
static int same_member(struct kineto_import *im, const char *key, struct fmt_error *err)
{
	const struct kineto_rank *first = NULL;
	const char *value = NULL, *other;
	size_t len = 0, n;

	for (size_t i = 0; i < im->n_ranks; i++) {
		const struct kineto_rank *k = im->ranks[i];
		const char *info = fact(im, k, "distributedInfo");

		if (!info || !fmt_json_member(info, strlen(info), key, &other, &n))
			continue;
		if (first && (n != len || memcmp(other, value, n) != 0))
			return fmt_fail(err, -EBADMSG, k->path, FMT_NO_OFFSET,
					"it is of another run: its %s is %.*s, that of %s is %.*s",
					key, (int)n, other, base_name(first->path), (int)len,
					value);
		first = first ? first : k;
		value = other;
		len = n;
	}
	return 0;
}

/* Ranks of one run are recorded at the same time, according to their hosts' clocks. */
static int same_time(struct kineto_import *im, struct fmt_error *err)
{
	const struct kineto_rank *late = im->ranks[0], *early = im->ranks[0];

	for (size_t i = 0; i < im->n_ranks; i++) {
		const struct kineto_rank *k = im->ranks[i];

		if (k->first_ns > k->last_ns)
			return fmt_fail(err, -EBADMSG, k->path, FMT_NO_OFFSET,
					"there are no events in it");
		late = k->first_ns > late->first_ns ? k : late;
		early = k->last_ns < early->last_ns ? k : early;
	}
	if (late->first_ns - early->last_ns > CLOCKS_APART_NS)
		return fmt_fail(err, -EBADMSG, late->path, FMT_NO_OFFSET,
				"it is of another run: it begins %.3f s after %s ends",
				((double)late->first_ns - (double)early->last_ns) / 1e9,
				base_name(early->path));
	return 0;
}

int kineto_check_ranks(struct kineto_import *im, struct fmt_error *err)
{
	int r = number(im, err);

	if (r == 0)
		r = kineto_copy_shared(im);
	if (r == 0)
		r = same_member(im, "world_size", err);
	if (r == 0)
		r = same_member(im, "backend", err);
	return r < 0 ? r : same_time(im, err);
}
