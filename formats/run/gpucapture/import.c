/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/import.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/gpucapture/calls/processes.h"
#include "formats/run/gpucapture/trace/hosts.h"
#include "formats/run/gpucapture/trace/recording_facts.h"
#include "formats/run/gpucapture/trace/trace_writer.h"
#include "formats/trace/fact_keys.h"
#include "formats/trace/json.h"
#include "formats/trace/store/output.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/stat.h>

/* Two chunks are read ahead of each of at most this many recordings; each takes some MB. */
#define MOST_AHEAD 16

/* An open raw recording. */
struct source {
	struct import *import;
	struct rec_raw raw;
	struct rec_raw_header header;
	struct rec_piece_session session;
	struct cap_clock clock;
	struct rec_processes *processes; /* owned: of this reading */
	bool is_read, is_ended;		 /* its end was read */
};

struct import {
	const struct rec_import *options;
	struct source *sources; /* owned */
	size_t n;
	struct fmt_names *names; /* owned */
	struct rec_process_list list;
	struct rec_plan plan;
	struct rec_hosts hosts;
	struct rec_trace_writer *making; /* owned; NULL in the first reading */
	struct rec_window window;
	size_t segment;
	bool keeps_all; /* no iteration is in the window */
	struct rec_import_report *report;
};

static void import_done(struct import *m)
{
	rec_trace_writer_free(m->making);
	rec_plan_done(&m->plan);
	rec_hosts_done(&m->hosts);
	for (size_t i = 0; m->sources && i < m->n; i++) {
		rec_processes_free(m->sources[i].processes);
		cap_clock_done(&m->sources[i].clock);
		rec_raw_done(&m->sources[i].raw);
	}
	free(m->sources);
	free(m->list.all);
	fmt_names_free(m->names);
}

void rec_import_report_done(struct rec_import_report *r)
{
	free(r->killed);
	*r = (struct rec_import_report){0};
}

/* ---- pieces of the session */

static int take_session(struct source *of, const struct rec_piece *piece)
{
	const struct cap_control *s = &of->session.settings;
	struct import *m = of->import;

	if (piece->bytes != sizeof(of->session))
		return -EBADMSG;
	memcpy(&of->session, piece->data, sizeof(of->session));
	if (!m->making)
		m->hosts.origins[of - m->sources] = s->origin;
	m->window.first = m->keeps_all ? -1 : s->first_iteration;
	m->window.last = m->keeps_all ? -1 : s->last_iteration;
	m->window.first_content = s->first_payload;
	m->window.last_content = s->last_payload;
	m->window.folder = m->options->folder;
	m->window.threads = m->options->threads;
	m->window.digest_level = s->digest_level;
	m->window.untimed = s->device_times == 0;
	m->window.progress = m->options->progress;
	return 0;
}

/* Sums the counts of unrecorded events. */
static int take_end(struct import *m, const struct rec_piece *piece)
{
	struct rec_unrecorded u, *sum = &m->window.unread;

	if (piece->bytes != sizeof(u))
		return -EBADMSG;
	memcpy(&u, piece->data, sizeof(u));
	sum->no_ring_calls += u.no_ring_calls;
	sum->forked_calls += u.forked_calls;
	sum->contents += u.contents;
	sum->processes += u.processes;
	sum->no_ring_error = u.no_ring_error ? u.no_ring_error : sum->no_ring_error;
	sum->stopped = u.stopped ? u.stopped : sum->stopped;
	return 0;
}

/* Writes a content to a separate file, for contents.h. */
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
	return fmt_write_all(fd, (const char *)b->data, n);
}

/* ---- one recording */

/* Called at the end of a round of pieces. Writes a segment if enough events are complete. */
static int take_round(struct import *m)
{
	const struct rec_progress *p = &m->options->progress;
	uint64_t done = 0, bytes = 0;
	int r;

	for (size_t i = 0; i < m->n; i++) {
		done += m->sources[i].raw.at;
		bytes += m->sources[i].raw.bytes;
	}
	r = p->show ? p->show(p->context, m->making ? "writing" : "reading",
			      done + (m->making ? bytes : 0), bytes * 2)
		    : 0;
	if (r < 0 || !m->making)
		return r < 0 ? r : rec_plan_end_round(&m->plan, m->list.all, m->list.n, m->segment);
	r = rec_trace_writer_add(m->making, m->list.all, m->list.n, NULL);
	return r < 0 ? r : 0;
}

static int take_piece(void *source, const struct rec_piece *piece)
{
	struct source *of = source;

	switch ((enum rec_piece_kind)piece->kind) {
	case REC_PIECE_SESSION:
		return take_session(of, piece);
	case REC_PIECE_CLOCK:
		return cap_clock_append(&of->clock, piece->data, piece->bytes);
	case REC_PIECE_BLOB:
		return take_blob(of->import, piece);
	case REC_PIECE_END:
		of->is_ended = true;
		return take_end(of->import, piece);
	case REC_PIECE_ROUND:
		return rec_processes_add_piece(of->processes, piece) ?: take_round(of->import);
	default:
		return rec_processes_add_piece(of->processes, piece);
	}
}

/* Returns the recording with the smallest share read: all cover about the same time. */
static struct source *next_source(struct import *m)
{
	struct source *best = NULL;

	for (size_t i = 0; i < m->n; i++) {
		struct source *s = &m->sources[i];

		if (!s->is_read && (!best || (double)s->raw.at * (double)best->raw.bytes <
						     (double)best->raw.at * (double)s->raw.bytes))
			best = s;
	}
	return best;
}

/* Returns the clock of the recording's host; NULL: times need no conversion. */
static const struct fmt_clock *host_clock(const struct import *m, uint32_t recording)
{
	const struct rec_hosts *h = &m->hosts;

	return h->n_clocks > 1 && h->clock_of[recording] != UINT32_MAX
		       ? &h->clocks[h->clock_of[recording]]
		       : NULL;
}

static int begin_source(struct import *m, struct source *s)
{
	uint32_t recording = (uint32_t)(s - m->sources);
	const struct rec_source of = {.recording = recording,
				      .ticks = &s->clock,
				      .host = host_clock(m, recording),
				      .only_plan = !m->making,
				      .planned_times = !m->making && m->n > 1};

	s->clock.n = 0;
	s->is_read = false;
	rec_raw_rewind(&s->raw);
	rec_processes_free(take(s->processes));
	return rec_processes_new(&of, &m->list, &s->processes);
}

static void note_damage(struct import *m, const struct source *s, uint64_t from, uint64_t to)
{
	struct rec_import_report *ret = m->report;

	if (!ret->damaged_file) {
		ret->damaged_file = m->options->files[s - m->sources];
		ret->damaged_at = from;
	}
	ret->damaged_bytes += to - from;
}

/* Whatever follows the last whole chunk is lost: it was cut off, or is damaged. */
static int end_source(struct import *m, struct source *s)
{
	if (s->raw.at < s->raw.bytes) {
		note_damage(m, s, s->raw.at, s->raw.bytes);
		rec_processes_note_damage(s->processes);
	}
	return rec_processes_end_round(s->processes, true);
}

/* Continues after a damaged chunk. Returns 1, or 0 at the end of the recording. Without the first
 * chunk, which contains the settings and the clock, nothing can be read. */
static int skip_damage(struct import *m, struct source *s)
{
	uint64_t from = s->raw.at;
	int r = from < s->raw.bytes && from > sizeof(s->header) ? rec_raw_skip_damaged(&s->raw) : 0;

	if (r == 1) {
		note_damage(m, s, from, s->raw.at);
		rec_processes_note_gap(s->processes);
	}
	return r;
}

/* Reads all recordings from the start. */
static int read_all(struct import *m)
{
	struct source *s;
	int r = 0;

	m->list.n = 0;
	m->window.unread = (struct rec_unrecorded){0};
	m->report->damaged_file = NULL;
	m->report->damaged_bytes = 0;
	for (size_t i = 0; i < m->n && r == 0; i++)
		r = begin_source(m, &m->sources[i]);
	while (r >= 0 && (s = next_source(m))) {
		uint64_t bytes = s->raw.bytes;

		r = rec_raw_next(&s->raw, take_piece, s);
		s->raw.bytes = bytes; /* of the whole file, including damaged parts */
		if (r == 0)
			r = skip_damage(m, s);
		s->is_read = r == 0;
		if (s->is_read)
			r = end_source(m, s);
	}
	for (size_t i = 0; i < m->n && r >= 0; i++)
		rec_processes_add_losses(m->sources[i].processes);
	return r < 0 ? r : 0;
}

/* ---- several recordings */

/* Returns true if two recordings have the launcher's name of the run, or a communicator in common.
 */
static bool are_of_one_run(const struct import *m, uint32_t a, uint32_t b)
{
	const char *run = m->sources[a].header.run;

	if (*run || *m->sources[b].header.run)
		return strcmp(run, m->sources[b].header.run) == 0;
	for (size_t i = 0; i < m->list.n; i++)
		for (size_t k = 0; k < m->list.n; k++)
			if (m->list.all[i]->recording == a && m->list.all[k]->recording == b &&
			    rec_processes_share_comm(m->list.all[i], m->list.all[k]))
				return true;
	return false;
}

/* Checks that each recording is connected to the first one, directly or indirectly. */
static int check_same_run(const struct import *m, struct fmt_error *err)
{
	scoped(free_ptr) bool *tied = calloc(m->n + 1, sizeof(*tied));

	if (!tied)
		return -ENOMEM;
	tied[0] = true;
	for (bool more = true; more;) {
		more = false;
		for (uint32_t i = 0; i < m->n; i++)
			for (uint32_t k = 0; k < m->n && !tied[i]; k++)
				more |= tied[i] = tied[k] && are_of_one_run(m, i, k);
	}
	for (size_t i = 0; i < m->n; i++)
		if (!tied[i])
			return fmt_fail(err, -EBADMSG, m->options->files[i], FMT_NO_OFFSET,
					"not known to be of the same run as %s",
					m->options->files[0]);
	return 0;
}

static bool has_part(const struct import *m, uint32_t part)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->sources[i].header.part == part)
			return true;
	return false;
}

/* Lists the parts of the run without a recording. */
static int put_missing_parts(struct import *m)
{
	scoped(text_done) struct text list = {0}, count = {0};
	struct fmt_json json = {.text = &list};
	uint32_t n_parts = m->sources[0].header.n_parts, missing = 0;
	int r;

	fmt_json_open(&json, NULL, '[');
	for (uint32_t part = 0; part < n_parts; part++) {
		char text[48];

		if (has_part(m, part))
			continue;
		missing++;
		snprintf(text, sizeof(text), "part %u of %u", part, n_parts);
		fmt_json_str(&json, NULL, text);
	}
	fmt_json_close(&json, ']');
	if (missing == 0)
		return 0;
	text_u64(&count, missing);
	r = fmt_names_fact_text(m->names, FMT_WHOLE_TRACE, "missing_parts", &list);
	return r < 0 ? r
		     : fmt_names_fact_text(m->names, FMT_WHOLE_TRACE, FMT_MISSING_PARTS_KEY,
					   &count);
}

/* Adds facts: cut-off recordings; for several recordings, clocks and missing parts. */
static int put_hosts(struct import *m)
{
	scoped(text_done) struct text cut_off = {0};
	size_t n = 0;
	int r;

	for (size_t i = 0; i < m->n; i++)
		n += !m->sources[i].is_ended;
	text_u64(&cut_off, n);
	r = n > 0 ? fmt_names_fact_text(m->names, FMT_WHOLE_TRACE, FMT_CUT_OFF_KEY, &cut_off) : 0;
	if (r < 0)
		return r;
	if (m->n < 2)
		return rec_origin_put(&m->sources[0].session.settings.origin, m->list.all,
				      m->list.n, m->names);
	r = rec_hosts_put(&m->hosts, &m->plan, m->list.all, m->names);
	return r < 0 ? r : put_missing_parts(m);
}

/* The second reading. */
static int make_trace(struct import *m, struct fmt_error *err)
{
	int r = rec_trace_writer_new(m->names, &m->window, &m->plan, m->options->output,
				     &m->making);

	if (r == 0)
		r = read_all(m);
	m->window.endings = (struct rec_end_counts){0};
	for (size_t i = 0; i < m->n && r == 0; i++)
		r = rec_processes_find_endings(m->sources[i].processes, &m->window.endings);
	if (r == 0)
		r = put_hosts(m);
	if (r == 0)
		r = rec_trace_writer_finish(m->making, m->list.all, m->list.n, &m->report->result,
					    err);
	rec_trace_writer_free(take(m->making));
	return r;
}

/* Finds the plan. The second reading converts times of several hosts to one clock. If the window
 * contains no iteration, the whole run is kept. */
static int plan_trace(struct import *m)
{
	int r;

	for (size_t i = 0; i < m->list.n; i++)
		if (m->list.all[i]->is_virtual) { /* an emulated driver has its own clock */
			m->hosts.origins[m->list.all[i]->recording].clock[0] = '\0';
			m->hosts.origins[m->list.all[i]->recording].realtime_ns = 0;
		}
	r = rec_plan_find(&m->plan, m->list.all, m->list.n, m->names);
	if (r == 0 && m->n > 1)
		r = rec_hosts_align(&m->hosts, &m->plan, m->list.all, m->list.n, m->names);
	for (uint32_t i = 0; i < m->plan.ranks.n && r == 0; i++) {
		uint32_t process = m->plan.ranks.ranks[i].process;
		const struct fmt_clock *clock = host_clock(m, m->list.all[process]->recording);

		if (clock)
			rec_iterations_convert(&m->plan.iterations[i], clock);
	}
	m->window.segment = m->plan.n_cuts > 0 ? m->segment : SIZE_MAX;
	m->keeps_all = !rec_plan_has_iterations(&m->plan, m->window.first, m->window.last);
	if (m->keeps_all)
		m->window.first = m->window.last = -1;
	return r;
}

static int write_trace(struct import *m, struct fmt_error *err)
{
	struct rec_trace_counts *result = &m->report->result;
	int r = 0;

	for (size_t i = 0; i < m->list.n; i++)
		m->report->has_calls |= m->list.all[i]->counts.calls > 0;
	if (m->report->has_calls)
		r = make_trace(m, err);
	m->report->unread = m->window.unread;
	for (size_t i = 0; i < m->list.n; i++) {
		const struct rec_counts *c = &m->list.all[i]->counts;

		result->lost_records += c->lost_records;
		m->report->n_processes += c->ops > 0;
		m->report->n_without_keyframe += c->ops > 0 && c->keyframe_pages == 0;
	}
	if (m->window.untimed)
		result->without_times = 0;
	return r;
}

static int open_all(struct import *m, struct fmt_error *err)
{
	int r = 0;

	m->sources = calloc(m->options->n_files + 1, sizeof(*m->sources));
	m->hosts.origins = calloc(m->options->n_files + 1, sizeof(*m->hosts.origins));
	if (!m->sources || !m->hosts.origins)
		return -ENOMEM;
	for (size_t i = 0; i < m->options->n_files && r == 0; i++) {
		struct source *s = &m->sources[m->n];
		struct stat st;

		s->import = m;
		r = rec_raw_open(m->options->files[i], false, &s->header, &s->raw, err);
		if (r < 0)
			break;
		m->n++;
		s->raw.reads_ahead = m->options->n_files <= MOST_AHEAD;
		if (fstat(s->raw.fd, &st) == 0)
			s->raw.bytes = (uint64_t)st.st_size;
		for (size_t k = 0; k < i && r == 0; k++)
			if (m->sources[k].header.hash == s->header.hash)
				r = fmt_fail(err, -EBADMSG, m->options->files[i], FMT_NO_OFFSET,
					     "the same recording as %s", m->options->files[k]);
	}
	m->hosts.n = m->n;
	return r;
}

int rec_import(const struct rec_import *options, struct rec_import_report *ret,
	       struct fmt_error *err)
{
	scoped(import_done) struct import m = {.options = options, .report = ret};
	int r;

	/* Keep freed memory for the next segment: the kernel would have to clear fresh memory. Two
	 * heaps: more would keep more freed memory, and threads would often wait for a single one.
	 */
	mallopt(M_MMAP_THRESHOLD, 32 << 20); /* at most */
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	mallopt(M_ARENA_MAX, 2);
	*ret = (struct rec_import_report){0};
	m.segment = options->segment ? options->segment : REC_SEGMENT;
	r = open_all(&m, err);
	if (r == 0)
		r = fmt_names_new(&m.names);
	m.list.names = m.names;
	if (r == 0)
		r = read_all(&m);
	if (r == 0)
		r = check_same_run(&m, err);
	if (r == 0)
		r = plan_trace(&m);
	if (r == 0)
		r = write_trace(&m, err);
	return r < 0 ? r : rec_list_killed(&m.list, &ret->killed, &ret->n_killed);
}
