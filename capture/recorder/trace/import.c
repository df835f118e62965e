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

struct import {
	const struct rec_import *options;
	struct rec_raw raw;
	struct rec_raw_header header;
	struct rec_piece_session session;
	struct cap_clock clock;
	struct fmt_names *names;	 /* owned */
	struct rec_processes *processes; /* owned: of this reading */
	struct rec_plan plan;
	struct rec_making *making; /* owned; NULL in the first reading */
	struct rec_window window;
	size_t segment;
	bool keep_all; /* no iteration is in the window */
	struct rec_import_report *report;
};

static void import_done(struct import *m)
{
	rec_making_free(m->making);
	rec_plan_done(&m->plan);
	rec_processes_free(m->processes);
	fmt_names_free(m->names);
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
	m->window.first = m->keep_all ? -1 : s->first_iteration;
	m->window.last = m->keep_all ? -1 : s->last_iteration;
	m->window.first_content = s->first_payload;
	m->window.last_content = s->last_payload;
	m->window.folder = m->options->folder;
	m->window.segment = m->segment;
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

/* A round's end: there may be enough for a segment. */
static int take_round(struct import *m)
{
	const struct rec_progress *p = &m->options->progress;
	uint64_t done = m->raw.at + (m->making ? m->raw.bytes : 0);
	struct rec_process *const *all;
	size_t n;
	int r = p->show ? p->show(p->context, m->making ? "writing" : "reading", done,
				  m->raw.bytes * (m->plan.is_shed ? 2 : 1))
			: 0;

	if (r < 0)
		return r;
	all = rec_processes_all(m->processes, &n);
	if (!m->making)
		return rec_plan_shed(&m->plan, all, n, m->segment);
	r = rec_making_more(m->making, all, n, NULL);
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

/* Reads the recording from its beginning. */
static int read_all(struct import *m)
{
	int r;

	rec_processes_free(take(m->processes));
	m->clock.n = 0;
	r = rec_processes_new(&m->clock, m->names, &m->processes);
	if (r == 0)
		r = rec_raw_read(&m->raw, take_piece, m);
	return r < 0 ? r : rec_processes_round(m->processes, true);
}

/* The second reading writes what the first one had no space for. */
static int make_trace(struct import *m, struct fmt_error *err)
{
	struct rec_process *const *all;
	size_t n;
	int r = rec_making_new(m->names, &m->window, &m->plan, m->options->output, &m->making);

	if (r == 0 && m->plan.is_shed)
		r = read_all(m);
	all = rec_processes_all(m->processes, &n);
	if (r == 0)
		r = rec_processes_endings(m->processes, &m->window.endings);
	if (r == 0)
		r = rec_origin_put(&m->session.settings.origin, all, n, m->names);
	m->window.unread = m->report->unread;
	if (r == 0)
		r = rec_making_end(m->making, all, n, &m->report->result, err);
	rec_making_free(take(m->making));
	return r;
}

static int plan(struct import *m)
{
	struct rec_process *const *all;
	size_t n;

	all = rec_processes_all(m->processes, &n);
	return rec_plan_find(&m->plan, all, n, m->names);
}

static bool has_calls(struct rec_process *const *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (all[i]->counts.calls > 0)
			return true;
	return false;
}

/* Without an iteration in the window, all of the run is kept: it is read again. */
static int write_all(struct import *m, struct fmt_error *err)
{
	struct rec_result *result = &m->report->result;
	size_t n;
	struct rec_process *const *all = rec_processes_all(m->processes, &n);
	int r = 0;

	m->report->has_calls = has_calls(all, n);
	if (m->report->has_calls)
		r = make_trace(m, err);
	if (r == 0 && m->report->has_calls && result->n_ranks > 0 && result->n_iterations == 0) {
		m->keep_all = true;
		rec_plan_done(&m->plan);
		r = read_all(m);
		if (r == 0)
			r = plan(m);
		if (r == 0)
			r = make_trace(m, err);
	}
	return r;
}

static int write_trace(struct import *m, struct fmt_error *err)
{
	struct rec_result *result = &m->report->result;
	struct rec_process *const *all;
	size_t n;
	int r = write_all(m, err);

	all = rec_processes_all(m->processes, &n);
	for (size_t i = 0; i < n; i++)
		result->lost_records += all[i]->counts.lost_records;
	if (m->window.untimed)
		result->without_times = 0;
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
	m.segment = options->segment ? options->segment : REC_SEGMENT;
	m.raw.fd = -1;
	r = rec_raw_open(options->file, false, &m.header, &m.raw, err);
	if (r < 0)
		return r;
	if (fstat(m.raw.fd, &st) == 0)
		m.raw.bytes = (uint64_t)st.st_size;
	r = fmt_names_new(&m.names);
	if (r == 0)
		r = read_all(&m);
	if (r == 0)
		r = plan(&m);
	if (r == 0)
		r = write_trace(&m, err);
	return r < 0 ? r : list_killed(&m);
}
