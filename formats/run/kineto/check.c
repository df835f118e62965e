/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/check.h"

#include "base/array.h"
#include "base/scope.h"
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

static const char *fact_of(const struct kineto_import *im, const struct kineto_rank *k,
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

static int number_ranks(struct kineto_import *im, struct fmt_error *err)
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
		const char *info = fact_of(im, k, "distributedInfo");

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

/* ---- data shared by the GPUs of a process ------------------------------------------------ */

/* Adds notes of `from` to those of `to`, on the same threads. If `to` has no such thread, they go
 * to its first track, or with `same` are dropped. */
static int add_notes(const struct kineto_rank *from, const struct kineto_notes *notes, size_t n,
		     bool same, const struct kineto_rank *to, struct kineto_notes *ret)
{
	for (size_t i = 0; i < n; i++) {
		const struct kineto_track *l = &from->tracks[notes->notes[i].track];
		uint32_t track = 0;

		while (track < to->n_tracks && (l->kind != to->tracks[track].kind ||
						!kineto_same_id(&l->pid, &to->tracks[track].pid) ||
						!kineto_same_id(&l->tid, &to->tracks[track].tid)))
			track++;
		if (track == to->n_tracks && same)
			continue;
		if (array_reserve(&ret->notes, ret->n + 1, &ret->cap) < 0)
			return -ENOMEM;
		ret->notes[ret->n] = notes->notes[i];
		ret->notes[ret->n++].track = track < to->n_tracks ? track : 0;
	}
	return 0;
}

/* A rank's original number of notes, by role. */
struct own {
	size_t n[KINETO_ROLES];
};

static int share_with(struct kineto_import *im, const struct own *own, size_t to)
{
	struct kineto_rank *k = im->ranks[to];
	int r = 0;

	for (size_t i = 0; i < im->n_ranks; i++) {
		const struct kineto_rank *from = im->ranks[i];

		if (i == to || from->process != k->process)
			continue;
		for (size_t role = 0; role < KINETO_ROLES && r == 0; role++)
			r = add_notes(from, &from->notes[role], own[i].n[role],
				      role == KINETO_COMMS, k, &k->notes[role]);
	}
	return r;
}

static uint32_t process_of(const struct kineto_import *im, const struct kineto_rank *k)
{
	const struct fmt_interned *strings = im->strings.strings;

	for (size_t i = 0; i < k->n_facts; i++)
		if (strcmp(strings[k->facts[i].key].s, FMT_FACT_PROCESS) == 0)
			return (uint32_t)strtoul(strings[k->facts[i].json].s, NULL, 10);
	return 0;
}

/* Copies iterations, and collectives that shared threads called, to every GPU of a process. */
static int copy_shared(struct kineto_import *im)
{
	scoped(free_ptr) struct own *own = calloc(im->n_ranks + 1, sizeof(*own));
	int r = own ? 0 : -ENOMEM;

	for (size_t i = 0; i < im->n_ranks && r == 0; i++) {
		struct kineto_rank *k = im->ranks[i];

		k->process = process_of(im, k);
		for (size_t role = 0; role < KINETO_ROLES; role++)
			own[i].n[role] = k->notes[role].n;
	}
	for (size_t i = 0; i < im->n_ranks && r == 0; i++)
		if (im->ranks[i]->process > 0 && im->ranks[i]->n_tracks > 0)
			r = share_with(im, own, i);
	return r;
}

/* ---- the check --------------------------------------------------------------------------- */

int kineto_check_ranks(struct kineto_import *im, struct fmt_error *err)
{
	int r = number_ranks(im, err);

	if (r == 0)
		r = copy_shared(im);
	if (r == 0)
		r = same_member(im, "world_size", err);
	if (r == 0)
		r = same_member(im, "backend", err);
	return r < 0 ? r : same_time(im, err);
}
