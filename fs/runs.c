/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/runs.h"

#include "base/scope.h"
#include "base/text.h"

enum state { PENDING, MADE, FAILED };

struct run {
	_Atomic int state; /* enum state */
	char *spec;	   /* NULL: the emulated run */
	struct fs_tree *tree;
	char *why;
};

/* Later lines are dropped. */
#define REJECTED_BYTES 16384

struct fs_runs {
	struct fs_tree *recorded;
	struct fs_options options;
	size_t memory_bytes;
	pthread_mutex_t making;
	pthread_mutex_t adding; /* protects the following members */
	_Atomic uint32_t end;
	struct run runs[FS_RUNS];
	_Atomic size_t rejected_bytes;
	char rejected[REJECTED_BYTES];
};

int fs_runs_new(struct fs_tree *recorded, const struct fs_options *options, size_t memory_bytes,
		struct fs_runs **ret)
{
	struct fs_runs *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->recorded = recorded;
	r->options = *options;
	r->memory_bytes = memory_bytes;
	r->end = FS_CHANGED;
	pthread_mutex_init(&r->making, NULL);
	pthread_mutex_init(&r->adding, NULL);
	*ret = r;
	return 0;
}

void fs_runs_free(struct fs_runs *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->end; i++) {
		fs_tree_free(r->runs[i].tree);
		free(r->runs[i].spec);
		free(r->runs[i].why);
	}
	pthread_mutex_destroy(&r->making);
	pthread_mutex_destroy(&r->adding);
	free(r);
}

uint32_t fs_runs_end(const struct fs_runs *r)
{
	return r->end;
}

/* ---- changed runs */

static void add_printable(struct text *line, const char *text)
{
	for (; *text; text++)
		text_char(line, (unsigned char)*text < ' ' ? '?' : *text);
}

/* Adds the line of an invalid spec, in the format of `errors`, unless already present. With the
 * lock held. */
static void reject_spec(struct fs_runs *r, const char *spec, const char *why)
{
	scoped(text_done) struct text line = {0};

	text_str(&line, "what-if/");
	add_printable(&line, spec);
	text_str(&line, "\t-\t-\t");
	add_printable(&line, why);
	text_char(&line, '\n');
	if (line.error || line.len > sizeof(r->rejected) - r->rejected_bytes ||
	    memmem(r->rejected, r->rejected_bytes, line.data, line.len))
		return;
	memcpy(r->rejected + r->rejected_bytes, line.data, line.len);
	r->rejected_bytes += line.len;
}

/* With the lock held. */
static int find_or_add(struct fs_runs *r, const char *spec)
{
	struct fmt_error err = {.what = ""};
	int e;

	for (uint32_t i = FS_CHANGED; i < r->end; i++)
		if (strcmp(r->runs[i].spec, spec) == 0)
			return (int)i;
	e = r->options.emulate(r->options.context, r->recorded->trace, spec, NULL, &err);
	if (e == -EINVAL)
		reject_spec(r, spec, err.what);
	if (e < 0)
		return e == -EINVAL ? -ENOENT : e;
	if (r->end == FS_RUNS)
		return -ENOSPC;
	r->runs[r->end].spec = strdup(spec);
	return r->runs[r->end].spec ? (int)r->end++ : -ENOMEM;
}

int fs_runs_find(struct fs_runs *r, const char *spec)
{
	int found;

	pthread_mutex_lock(&r->adding);
	found = find_or_add(r, spec);
	pthread_mutex_unlock(&r->adding);
	return found;
}

const char *fs_run_spec(const struct fs_runs *r, uint32_t number)
{
	return r->runs[number].spec;
}

const char *fs_runs_rejected(const struct fs_runs *r, size_t *len)
{
	*len = r->rejected_bytes;
	return r->rejected;
}

/* ---- computing */

bool fs_run_is_pending(const struct fs_runs *r, uint32_t number)
{
	return number < r->end && r->runs[number].state == PENDING;
}

static int make_run(struct fs_runs *r, uint32_t number, struct fmt_error *err)
{
	struct run *run = &r->runs[number];
	struct fmt_trace *trace;
	int e = r->options.emulate(r->options.context, r->recorded->trace, run->spec, &trace, err);

	if (e < 0)
		return e;
	fmt_trace_set_memory(trace, r->memory_bytes);
	return fs_tree_new(trace, r->recorded->cache, number, &run->tree, err);
}

void fs_run_make(struct fs_runs *r, uint32_t number)
{
	struct run *run = &r->runs[number];
	struct fmt_error err = {.offset = FMT_NO_OFFSET};
	int e;

	pthread_mutex_lock(&r->making);
	if (fs_run_is_pending(r, number)) {
		e = make_run(r, number, &err);
		if (e < 0 && asprintf(&run->why, "cannot emulate this run: %s\n",
				      err.what[0] ? err.what : strerror(-e)) < 0)
			run->why = NULL;
		run->state = e < 0 ? FAILED : MADE;
	}
	pthread_mutex_unlock(&r->making);
}

struct fs_tree *fs_run_tree(const struct fs_runs *r, uint32_t number)
{
	return r->runs[number].state == MADE ? r->runs[number].tree : NULL;
}

const char *fs_run_error(const struct fs_runs *r, uint32_t number)
{
	return r->runs[number].state == FAILED && r->runs[number].why ? r->runs[number].why : "";
}
