/* SPDX-License-Identifier: Apache-2.0 */

/* Completes a recording when its programs have ended. */
#include "base/host.h"
#include "capture/recorder/recorder_impl.h"

#include <string.h>

/* Writes the records at the end of a recording. */
static int put_end(struct rec_recorder *r, const struct rec_unrecorded *unread)
{
	for (size_t i = 0; i < r->n_open_rings; i++) {
		struct cap_ring_status status = cap_consumer_status(r->open_rings[i].drain);
		struct cap_ring_info about = *cap_consumer_info(r->open_rings[i].drain);

		about.number = r->open_rings[i].number; /* it may not be in the recording yet */
		rec_recorder_put(r, REC_PIECE_RING, about.number, 0, &about, sizeof(about));
		rec_recorder_put(r, REC_PIECE_STATUS, r->open_rings[i].number, 0, &status,
				 sizeof(status));
	}
	for (size_t i = 0; i < r->n_programs; i++) {
		const struct rec_program *p = &r->programs[i];
		const struct rec_piece_ending ending = {
			.pid = p->pid,
			.started = p->started,
			.is_running = host_process_started((uint64_t)p->pid) == p->started,
			.signal = (uint8_t)cap_killed_signal(r->session.control, p->pid)};

		rec_recorder_put(r, REC_PIECE_ENDING, 0, 0, &ending, sizeof(ending));
	}
	rec_recorder_put(r, REC_PIECE_END, 0, 0, unread, sizeof(*unread));
	return rec_raw_flush(&r->raw);
}

int rec_recorder_finish(struct rec_recorder *r)
{
	struct rec_unrecorded unread;
	long e = 0;

	if (!r->raw.error)
		e = rec_recorder_find_rings(r);
	rec_recorder_copy_blobs(r, true);
	if (e == 0 && !r->raw.error)
		e = rec_recorder_poll_now(r);
	if (e < 0)
		return (int)e;
	rec_recorder_copy_blobs(r, false); /* of running processes, since the start of the round */
	rec_raw_flush(&r->raw);
	unread = rec_recorder_unrecorded(r);
	rec_raw_use_reserve(&r->raw);
	put_end(r, &unread);
	return 0;
}

void rec_recorder_child_killed(struct rec_recorder *r, int pid, int signal)
{
	if (r->session.control)
		cap_killed_add(r->session.control, pid, signal);
}

struct rec_unrecorded rec_recorder_unrecorded(const struct rec_recorder *r)
{
	const struct cap_control *c = r->session.control;
	struct rec_unrecorded unread = {.stopped = -r->raw.error};

	if (!c)
		return unread;
	unread.no_ring_calls = __atomic_load_n(&c->no_ring_calls, __ATOMIC_RELAXED);
	unread.no_ring_error = __atomic_load_n(&c->failed_errno, __ATOMIC_RELAXED);
	unread.forked_calls = __atomic_load_n(&c->forked_calls, __ATOMIC_RELAXED);
	unread.processes = __atomic_load_n(&c->n_processes, __ATOMIC_RELAXED);
	unread.contents = __atomic_load_n(&c->failed_blobs, __ATOMIC_RELAXED);
	return unread;
}

bool rec_recorder_unjoined(const struct rec_recorder *r, unsigned k, struct cap_started *ret)
{
	const struct cap_started *all =
		r->session.control ? cap_started_programs(r->session.control) : NULL;

	for (unsigned i = 0; all && i < CAP_MAX_STARTED; i++) {
		int32_t pid = __atomic_load_n(&all[i].pid, __ATOMIC_ACQUIRE);

		if (pid == 0 || pid == CAP_STARTED_WRITING || k-- > 0)
			continue;
		*ret = all[i];
		ret->path[sizeof(ret->path) - 1] = '\0';
		return true;
	}
	return false;
}
