/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorder/recorder.h"

#include "capture/recorder/recorder_impl.h"

#include "base/array.h"
#include "base/host.h"
#include "base/scope.h"

#include <string.h>
#include <time.h>

#define ROUND_NS 50000000 /* records that remain in a ring until the next round are not lost */

void rec_recorder_close(struct rec_recorder *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_open_rings; i++)
		cap_consumer_close(r->open_rings[i].drain);
	free(r->open_rings);
	free(r->reached);
	free(r->programs);
	if (r->appeared > 0)
		close(r->appeared);
	cap_clock_done(&r->clock);
	rec_raw_done(&r->raw);
	rec_session_end(&r->session);
	free(r);
}

void rec_recorder_keep_session(struct rec_recorder *r)
{
	rec_session_detach(&r->session);
}

define_cleanup(rec_recorder_closep, struct rec_recorder *, rec_recorder_close);

static struct rec_recorder *new_recorder(void)
{
	struct rec_recorder *r = aligned_alloc(_Alignof(struct rec_recorder), sizeof(*r));

	if (r) {
		memset(r, 0, sizeof(*r));
		rec_session_init(&r->session);
		r->raw.fd = -1;
	}
	return r;
}

const char *rec_recorder_folder(const struct rec_recorder *r)
{
	return r->folder;
}

/* ---- writing */

int rec_recorder_put(struct rec_recorder *r, enum rec_piece_kind kind, uint32_t ring,
		     uint64_t position, const void *data, size_t bytes)
{
	const struct rec_piece piece = {
		.kind = kind, .ring = ring, .position = position, .bytes = bytes};

	return rec_raw_put(&r->raw, &piece, data);
}

static int put_session(struct rec_recorder *r)
{
	struct rec_piece_session s;

	memset(&s, 0, sizeof(s));
	s.settings = r->settings;
	strcpy(s.folder, r->folder);
	return rec_recorder_put(r, REC_PIECE_SESSION, 0, 0, &s, sizeof(s));
}

static int put_clock(struct rec_recorder *r)
{
	size_t n = r->clock.n - r->n_clock_written;
	int e;

	if (n == 0)
		return 0;
	e = rec_recorder_put(r, REC_PIECE_CLOCK, 0, 0, r->clock.segments + r->n_clock_written,
			     n * sizeof(*r->clock.segments));
	r->n_clock_written = r->clock.n;
	return e;
}

static int create_raw(struct rec_recorder *r, const char *path)
{
	const struct fmt_origin *o = &r->settings.origin;
	struct rec_raw_header header;
	int e;

	memset(&header, 0, sizeof(header));
	header.pid = getpid();
	header.realtime_ns = host_clock_ns(CLOCK_REALTIME);
	gethostname(header.host, sizeof(header.host) - 1);
	strcpy(header.boot, o->clock);
	strcpy(header.run, o->run);
	header.part = o->part;
	header.n_parts = o->n_parts;
	e = rec_raw_create(path, &header, &r->raw);
	if (e == 0)
		e = rec_session_bind(&r->session, path);
	if (e == 0)
		e = put_session(r);
	if (e == 0)
		e = put_clock(r);
	return e < 0 ? e : rec_raw_flush(&r->raw);
}

int rec_recorder_open(const struct cap_control *settings, const char *path,
		      struct rec_recorder **ret, struct fmt_error *err)
{
	scoped(rec_recorder_closep) struct rec_recorder *r = new_recorder();
	int e;

	if (!r)
		return -ENOMEM;
	r->settings = *settings;
	fmt_origin_current(&r->settings.origin);
	e = settings->clock == CAP_CLOCK_TSC ? cap_clock_init(&r->clock) : 0;
	if (e == 0)
		e = rec_session_begin(&r->session, &r->settings);
	if (e < 0)
		return e;
	strcpy(r->folder, r->session.folder);
	e = create_raw(r, path);
	if (e < 0)
		return fmt_fail(err, e, path, FMT_NO_OFFSET, "cannot write: %s", strerror(-e));
	*ret = take(r);
	return 0;
}

/* ---- continuing a recording */

static int set_reached(struct rec_recorder *r, uint32_t ring, uint64_t position)
{
	size_t before = r->reached_cap;

	if (ring >= REC_MOST_RINGS)
		return -EBADMSG;
	if (array_reserve(&r->reached, (size_t)ring + 1, &r->reached_cap) < 0)
		return -ENOMEM;
	memset(r->reached + before, 0, (r->reached_cap - before) * sizeof(*r->reached));
	r->reached[ring] = position + 1;
	return 0;
}

static int read_session(struct rec_recorder *r, const struct rec_piece *piece)
{
	struct rec_piece_session s; /* in the piece it may be unaligned */

	if (piece->bytes != sizeof(s))
		return -EBADMSG;
	memcpy(&s, piece->data, sizeof(s));
	if (!memchr(s.folder, 0, sizeof(s.folder)))
		return -EBADMSG;
	r->settings = s.settings;
	strcpy(r->folder, s.folder);
	return 0;
}

static int read_clock(struct rec_recorder *r, const struct rec_piece *piece)
{
	int e = cap_clock_append(&r->clock, piece->data, piece->bytes);

	r->n_clock_written = r->clock.n;
	return e;
}

/* Reads from the recording how far the previous recorder got. */
static int read_piece(void *context, const struct rec_piece *piece)
{
	struct rec_recorder *r = context;

	switch ((enum rec_piece_kind)piece->kind) {
	case REC_PIECE_SESSION:
		return read_session(r, piece);
	case REC_PIECE_CLOCK:
		return read_clock(r, piece);
	case REC_PIECE_RING:
		return set_reached(r, piece->ring, 0);
	case REC_PIECE_BYTES:
		return set_reached(r, piece->ring, piece->position + piece->bytes);
	default:
		return 0;
	}
}

int rec_recorder_resume(struct rec_recorder *r)
{
	r->clock.n = 0;
	if (r->appeared > 0) /* of another process */
		close(r->appeared);
	r->appeared = 0;
	return rec_raw_read(&r->raw, read_piece, r);
}

int rec_recorder_recover(const char *path, struct rec_recorder **ret, struct fmt_error *err)
{
	scoped(rec_recorder_closep) struct rec_recorder *r = new_recorder();
	struct rec_raw_header header;
	struct fmt_origin here;
	int e;

	if (!r)
		return -ENOMEM;
	e = rec_raw_open(path, true, &header, &r->raw, err);
	if (e == 0)
		e = rec_recorder_resume(r);
	if (e < 0)
		return e;
	fmt_origin_current(&here);
	if (!r->folder[0] || strcmp(here.clock, header.boot) != 0)
		return -ENOENT;
	e = rec_session_attach(&r->session, r->folder);
	if (e < 0)
		return e;
	/* Continue after the last piece that the killed recorder wrote. */
	e = rec_recorder_resume(r);
	if (e < 0) {
		rec_recorder_keep_session(r);
		return e;
	}
	*ret = take(r);
	return 0;
}

/* ---- while programs run */

static int add_program(struct rec_recorder *r, int32_t pid, uint64_t started)
{
	for (size_t i = 0; i < r->n_programs; i++)
		if (r->programs[i].pid == pid && r->programs[i].started == started)
			return 0;
	if (pid <= 0 || started == 0)
		return 0;
	if (array_reserve(&r->programs, r->n_programs + 1, &r->programs_cap) < 0)
		return -ENOMEM;
	r->programs[r->n_programs++] = (struct rec_program){pid, started};
	return 0;
}

int rec_recorder_watch(struct rec_recorder *r, int pid)
{
	return add_program(r, pid, host_process_started((uint64_t)pid));
}

static int take_ring(void *context, int dir, const char *name, uint32_t number)
{
	struct rec_recorder *r = context;
	scoped(cap_consumer_closep) struct cap_consumer *drain = NULL;
	uint64_t before = number < r->reached_cap ? r->reached[number] : 0;
	struct cap_ring_info about;
	int e = cap_consumer_open(dir, name, &drain);

	if (e == -EAGAIN || e == -ENOMEM)
		return e;
	if (e < 0)
		return 0; /* damaged, or of another version */
	about = *cap_consumer_info(drain);
	about.number = number;
	if (array_reserve(&r->open_rings, r->n_open_rings + 1, &r->open_rings_cap) < 0)
		return -ENOMEM;
	e = add_program(r, about.pid, about.process_start);
	if (e < 0)
		return e;
	if (before)
		cap_consumer_seek(drain, before - 1);
	else
		rec_recorder_put(r, REC_PIECE_RING, number, 0, &about, sizeof(about));
	if (e == 0)
		r->open_rings[r->n_open_rings++] =
			(struct rec_recorder_ring){.drain = take(drain), .number = number};
	return e;
}

static bool is_due(struct rec_recorder *r)
{
	if (host_clock_ns(CLOCK_MONOTONIC) - r->round_ns >= ROUND_NS)
		return true;
	for (size_t i = 0; i < r->n_open_rings; i++) {
		struct cap_ring_status s = cap_consumer_status(r->open_rings[i].drain);

		if (s.waiting_bytes > 0 && s.waiting_bytes >= s.capacity_bytes / 8)
			return true;
	}
	return false;
}

/* Copies the contents of the ring. Returns the number of bytes. */
static long copy_ring(struct rec_recorder *r, struct rec_recorder_ring *t)
{
	struct fmt_cursor c;
	int e = cap_consumer_read(t->drain, &c);
	struct cap_ring_status status = cap_consumer_status(t->drain);
	uint64_t bytes = e == 1 ? fmt_left(&c) : 0;

	status.waiting_bytes = 0;
	if (e == 1)
		rec_recorder_put(r, REC_PIECE_BYTES, t->number,
				 cap_consumer_position(t->drain) - bytes, c.at, bytes);
	cap_consumer_free_copy(t->drain);
	if (memcmp(&status, &t->written, sizeof(status)) != 0)
		rec_recorder_put(r, REC_PIECE_STATUS, t->number, 0, &status, sizeof(status));
	t->written = status;
	return e == -ENOMEM ? e : (long)bytes;
}

/* Closes the ring of an ended thread, to free space for others. */
static bool close_ended_ring(struct rec_recorder *r, struct rec_recorder_ring *t)
{
	struct cap_ring_status now = cap_consumer_status(t->drain);

	if (t->written.state != CAP_THREAD_ENDED || now.waiting_bytes > 0)
		return false;
	rec_session_remove_ring(&r->session, cap_consumer_info(t->drain)->pid, t->number);
	cap_consumer_close(t->drain);
	return true;
}

/* Releases the copied records, which are on disk. After an error, tells programs that the recorder
 * has stopped reading, so that threads do not wait. */
static void release_records(struct rec_recorder *r, int e)
{
	size_t n = 0;

	if (e < 0) {
		rec_session_stop(&r->session);
		return;
	}
	for (size_t i = 0; i < r->n_open_rings; i++) {
		cap_consumer_release(r->open_rings[i].drain);
		if (!close_ended_ring(r, &r->open_rings[i]))
			r->open_rings[n++] = r->open_rings[i];
	}
	r->n_open_rings = n;
}

/* Copies the new records of all rings. */
long rec_recorder_poll_now(struct rec_recorder *r)
{
	long bytes = 0, n = 0;

	put_clock(r);
	rec_recorder_copy_blobs(r, false);
	for (size_t i = 0; i < r->n_open_rings && n >= 0; i++) {
		rec_session_heartbeat(&r->session);
		n = copy_ring(r, &r->open_rings[i]);
		bytes += n;
	}
	if (n < 0)
		return n;
	if (bytes > 0)
		rec_recorder_put(r, REC_PIECE_ROUND, 0, 0, NULL, 0);
	release_records(r, rec_raw_flush(&r->raw));
	r->round_ns = host_clock_ns(CLOCK_MONOTONIC);
	return bytes;
}

int rec_recorder_find_rings(struct rec_recorder *r)
{
	int e = r->clock.n > 0 ? cap_clock_sample(&r->clock) : 0;

	return e < 0 ? e : rec_session_for_each_ring(&r->session, take_ring, r);
}

long rec_recorder_poll(struct rec_recorder *r)
{
	int e;

	if (r->raw.error)
		return 0;
	rec_session_heartbeat(&r->session);
	e = rec_recorder_find_rings(r);
	return e < 0 || !is_due(r) ? e : rec_recorder_poll_now(r);
}

bool rec_recorder_has_processes(const struct rec_recorder *r)
{
	for (size_t i = 0; i < r->n_programs; i++)
		if (host_process_started((uint64_t)r->programs[i].pid) == r->programs[i].started)
			return true;
	return false;
}
