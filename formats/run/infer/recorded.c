/* SPDX-License-Identifier: Apache-2.0 */

/* Recorded synchronisation ("cuda_sync" of the PyTorch profiler): the stream that a call waited
 * for, the event that a stream waited for, and the call that had recorded the event. */
#include "formats/run/infer/walk.h"

#include "base/array.h"

/* The stream of that number, or INFER_NONE. */
static uint32_t stream_of(const struct infer_view *v, uint32_t event, const char *key)
{
	int64_t number;

	if (!infer_argument(v, event, key, &number))
		return INFER_NONE;
	for (uint32_t s = 0; s < v->n_streams; s++) {
		const struct fmt_track *l = fmt_track(v->names, v->index, v->streams[s].track);

		if (l->tid == number)
			return s;
	}
	return INFER_NONE;
}

/* Number of operations of the stream, from its first, that were launched by `call` or earlier. */
static uint32_t launched_by(const struct infer_view *v, uint32_t stream, uint32_t call)
{
	return array_bound(i, v->streams[stream].first, v->streams[stream].end,
			   infer_before(v, &v->ops[i], &v->calls[call])) -
	       v->streams[stream].first;
}

/* The operation that the event had to wait for; or INFER_NONE. */
static uint32_t behind_record(const struct infer_view *v, uint32_t event)
{
	uint32_t stream = stream_of(v, event, "wait_on_stream"), call, n;
	int64_t correlation;

	if (stream == INFER_NONE ||
	    !infer_argument(v, event, "wait_on_cuda_event_record_corr_id", &correlation) ||
	    correlation <= 0)
		return INFER_NONE;
	call = infer_call_of(v, (uint64_t)correlation);
	if (call == INFER_NONE)
		return INFER_NONE;
	n = launched_by(v, stream, call);
	return n > 0 ? v->streams[stream].first + n - 1 : INFER_NONE;
}

/* The next operation of the waiting stream waits. */
static void stream_wait(struct infer_view *v, uint32_t event, uint32_t call)
{
	uint32_t stream = stream_of(v, event, "stream"), from = behind_record(v, event), to;

	if (stream == INFER_NONE)
		return;
	to = v->streams[stream].first + launched_by(v, stream, call);
	if (to >= v->streams[stream].end)
		return;
	if (stream_of(v, event, "wait_on_stream") == INFER_NONE)
		v->ops[to].waits_elsewhere = 1;
	if (from == INFER_NONE || v->ops[from].stream == stream)
		return;
	if (v->ops[to].awaits == INFER_NONE ||
	    v->ops[v->ops[to].awaits].end_ns < v->ops[from].end_ns)
		v->ops[to].awaits = from;
}

void infer_recorded(struct infer_view *v, uint32_t *on, uint8_t *seen)
{
	for (uint32_t i = 0; i < v->n_syncs; i++) {
		uint32_t event = v->syncs[i], n, stream;
		uint32_t call = infer_call_of(v, v->rank->events[event].correlation);

		if (call == INFER_NONE)
			continue;
		switch (v->calls[call].api) {
		case INFER_API_STREAM_WAIT:
			stream_wait(v, event, call);
			seen[call] = 1;
			break;
		case INFER_API_EVENT_SYNC:
			on[call] = behind_record(v, event);
			break;
		case INFER_API_STREAM_SYNC:
			stream = stream_of(v, event, "stream");
			n = stream == INFER_NONE ? 0 : launched_by(v, stream, call);
			on[call] = n > 0 ? v->streams[stream].first + n - 1 : INFER_NONE;
			break;
		default:
			break;
		}
	}
}
