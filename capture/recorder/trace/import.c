/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorder/trace/import.h"

#include "base/array.h"
#include "base/scope.h"
#include "capture/recorder/processes.h"
#include "capture/recorder/trace/facts.h"
#include "capture/recorder/trace/making.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define MOST_RESTARTS 8

struct import {
	const struct rec_import *options;
	struct rec_raw raw;
	struct rec_raw_header header;
	struct rec_piece_session session;
	struct cap_clock clock;
	struct rec_processes *processes; /* owned */
	struct rec_making *making;	 /* owned */
	struct rec_window window;
	uint64_t least; /* the first segment reaches to this offset of the recording */
	unsigned restarts;
	bool has_end, whole, has_failed, has_blobs;
	struct rec_import_report *report;
};

static void import_done(struct import *m)
{
	rec_making_free(m->making);
	rec_processes_free(m->processes);
	cap_clock_done(&m->clock);
	rec_raw_done(&m->raw);
}

void rec_import_report_done(struct rec_import_report *r)
{
	free(r->killed);
	*r = (struct rec_import_report){0};
}

/* ---- pieces that are not of a ring */

static int take_session(struct import *m, const struct rec_piece *piece)
{
	const struct cap_control *s = &m->session.settings;

	if (piece->bytes != sizeof(m->session))
		return -EBADMSG;
	memcpy(&m->session, piece->data, sizeof(m->session));
	m->window.first = s->first_iteration;
	m->window.last = s->last_iteration;
	m->window.first_content = s->first_payload;
	m->window.last_content = s->last_payload;
	m->window.folder = m->options->folder;
	m->window.steps = s->digest_level == CAP_DIGEST_STEP;
	m->window.collectives =
		s->digest_level == CAP_DIGEST_COMM || s->digest_level == CAP_DIGEST_STEP;
	m->window.untimed = s->device_times == 0;
	m->window.progress = m->options->progress;
	return 0;
}

static int take_clock(struct import *m, const struct rec_piece *piece)
{
	struct cap_clock *c = &m->clock;
	size_t n = piece->bytes / sizeof(*c->segments);

	if (array_reserve(&c->segments, c->n + n, &c->cap) < 0)
		return -ENOMEM;
	memcpy(c->segments + c->n, piece->data, n * sizeof(*c->segments));
	c->n += n;
	if (c->n > 0) {
		c->first_ticks = c->segments[0].ticks;
		c->first_ns = c->segments[0].ns;
	}
	return 0;
}

static int take_end(struct import *m, const struct rec_piece *piece)
{
	if (piece->bytes != sizeof(m->report->unread))
		return -EBADMSG;
	memcpy(&m->report->unread, piece->data, sizeof(m->report->unread));
	m->has_end = true;
	return 0;
}

/* Writes a content to a file of its own, for contents.h. */
static int take_blob(struct import *m, const struct rec_piece *piece)
{
	const struct rec_piece_blob *b = (const void *)piece->data;
	scoped(close_fd) int fd = -1;
	char path[PATH_MAX];
	uint64_t n = piece->bytes - sizeof(*b);

	if (piece->bytes < sizeof(*b))
		return -EBADMSG;
	rec_contents_path(m->options->folder, b->name, path, sizeof(path));
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno == EEXIST ? 0 : -errno;
	if (n < b->bytes) /* too large for a trace */
		return ftruncate(fd, (off_t)b->bytes) < 0 ? -errno : 0;
	for (uint64_t at = 0; at < n;) {
		ssize_t done = write(fd, b->data + at, n - at);

		if (done < 0)
			return -errno;
		at += (uint64_t)done;
	}
	return 0;
}

/* ---- from the recording to the trace */

static int begin(struct import *m)
{
	int r = rec_processes_new(&m->clock, &m->processes);

	if (r == 0 && !m->whole)
		r = rec_making_new(rec_processes_names(m->processes), &m->window,
				   m->options->output, &m->making);
	rec_raw_rewind(&m->raw);
	m->clock.n = 0;
	return r;
}

static void start_over(struct import *m, int e)
{
	rec_making_drop(take(m->making));
	rec_processes_free(take(m->processes));
	m->whole |= e != -EAGAIN || ++m->restarts > MOST_RESTARTS;
	m->least = m->raw.at;
}

/* A round's end: there may be enough for a segment. */
static int take_round(struct import *m)
{
	const struct rec_progress *p = &m->options->progress;
	struct rec_process *const *all;
	size_t n;
	int r = p->show ? p->show(p->context, "reading", m->raw.at, m->raw.bytes) : 0;

	if (r < 0 || !m->making || m->raw.at < m->least)
		return r;
	all = rec_processes_all(m->processes, &n);
	r = rec_making_more(m->making, all, n, NULL);
	m->has_failed = r < 0;
	return r < 0 ? r : 0;
}

static int take_piece(void *import, const struct rec_piece *piece)
{
	struct import *m = import;
	int r;

	switch ((enum rec_piece_kind)piece->kind) {
	case REC_PIECE_SESSION:
		return take_session(m, piece);
	case REC_PIECE_CLOCK:
		return take_clock(m, piece);
	case REC_PIECE_BLOB:
		return take_blob(m, piece);
	case REC_PIECE_END:
		return take_end(m, piece);
	case REC_PIECE_ROUND:
		r = rec_processes_piece(m->processes, piece);
		return r < 0 ? r : take_round(m);
	default:
		return rec_processes_piece(m->processes, piece);
	}
}

static int read_all(struct import *m)
{
	int r;

	do {
		m->has_failed = false;
		r = m->processes ? 1 : begin(m);
		while (r >= 0) {
			r = rec_raw_next(&m->raw, take_piece, m);
			if (r == 0)
				return rec_processes_round(m->processes, true);
		}
		if (m->has_failed)
			start_over(m, r);
	} while (m->has_failed);
	return r;
}

static bool has_calls(struct rec_process *const *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (all[i]->counts.calls > 0)
			return true;
	return false;
}

static int write_trace(struct import *m, struct fmt_error *err)
{
	size_t n;
	struct rec_process *const *all = rec_processes_all(m->processes, &n);
	struct fmt_names *names = rec_processes_names(m->processes);
	struct rec_import_report *report = m->report;
	int r = rec_processes_endings(m->processes, &m->window.endings);

	report->has_calls = has_calls(all, n);
	if (r < 0 || !report->has_calls)
		return r;
	r = rec_origin_put(&m->session.settings.origin, all, n, names);
	m->window.unread = report->unread;
	if (r == 0)
		r = m->making ? rec_making_end(m->making, all, n, &report->result, err)
			      : rec_run_write(all, n, names, &m->window, m->options->output,
					      &report->result, err);
	for (size_t i = 0; i < n; i++)
		report->result.lost_records += all[i]->counts.lost_records;
	if (m->window.untimed)
		report->result.without_times = 0;
	return r;
}

/* The process as people know it: the name of its executable. */
static void name_process(const struct rec_process *p, char ret[64])
{
	const char *path = rec_fact(p, "executable");
	const char *name = path ? strrchr(path, '/') : NULL;

	if (name)
		snprintf(ret, 64, "%.*s", (int)strcspn(name + 1, "\""), name + 1);
}

static int list_killed(struct import *m)
{
	struct rec_import_report *ret = m->report;
	size_t n;
	struct rec_process *const *all = rec_processes_all(m->processes, &n);

	for (size_t i = 0; i < n; i++) {
		const struct rec_process *p = all[i];
		struct rec_killed made = {.pid = p->pid,
					  .signal = p->signal,
					  .in_call = p->in_call,
					  .calls = p->counts.calls,
					  .ops = p->counts.ops};

		if (p->ending != REC_KILLED)
			continue;
		name_process(p, made.name);
		snprintf(made.last_call, sizeof(made.last_call), "%s",
			 fmt_string(p->names, p->last_call, NULL));
		if (array_reserve(&ret->killed, ret->n_killed + 1, &ret->killed_cap) < 0)
			return -ENOMEM;
		ret->killed[ret->n_killed++] = made;
	}
	return 0;
}

int rec_import(const struct rec_import *options, struct rec_import_report *ret,
	       struct fmt_error *err)
{
	scoped(import_done) struct import m = {.options = options, .report = ret};
	struct stat st;
	int r;

	*ret = (struct rec_import_report){0};
	m.raw.fd = -1;
	r = rec_raw_open(options->file, false, &m.header, &m.raw, err);
	if (r < 0)
		return r;
	if (fstat(m.raw.fd, &st) == 0)
		m.raw.bytes = (uint64_t)st.st_size;
	r = read_all(&m);
	if (r == 0)
		r = write_trace(&m, err);
	if (r < 0 && r != -ENOMEM && r != -ECANCELED && m.making &&
	    rec_making_has_begun(m.making)) {
		start_over(&m, -ENOTSUP);
		r = read_all(&m);
		if (r == 0)
			r = write_trace(&m, err);
	}
	return r < 0 ? r : list_killed(&m);
}
