/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/export/chrome.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/render/export/chrome_head.h"
#include "formats/render/export/chrome_template.h"
#include "formats/trace/value.h"

#include <pthread.h>
#include <stdatomic.h>

/* A correlation that occurred in a slice. */
struct seen {
	uint64_t correlation; /* 0: a free slot */
	bool call, op;
};

struct fmt_chrome {
	const struct fmt_names *names;
	bool merged;
	uint32_t rank; /* unless merged */
	struct fmt_chrome_base base;
	struct fmt_chrome_tracks tracks;
	struct fmt_chrome_values values;
	pthread_mutex_t making; /* held while a template is made */
	uint32_t n_templates;
	struct fmt_chrome_template *_Atomic templates[]; /* each is made on first use */
};

void fmt_chrome_free(struct fmt_chrome *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < x->n_templates; i++)
		fmt_chrome_template_free(x->templates[i]);
	fmt_chrome_values_done(&x->values);
	fmt_chrome_tracks_done(&x->tracks);
	pthread_mutex_destroy(&x->making);
	free(x);
}

int fmt_chrome_new(const struct fmt_names *names, uint32_t n_ranks, enum fmt_chrome_form form,
		   uint32_t rank, struct fmt_chrome **ret)
{
	uint32_t n = fmt_n_templates(names);
	scoped(fmt_chrome_freep) struct fmt_chrome *x =
		calloc(1, sizeof(*x) + n * sizeof(x->templates[0]));
	int r;

	if (!x)
		return -ENOMEM;
	x->n_templates = n;
	pthread_mutex_init(&x->making, NULL);
	if (form == FMT_CHROME_RANK && rank >= n_ranks)
		return -EINVAL;
	x->names = names;
	x->merged = form == FMT_CHROME_MERGED && n_ranks != 1;
	x->rank = form == FMT_CHROME_RANK ? rank : 0;
	x->base = fmt_chrome_base(names, x->rank, x->merged ? n_ranks : 1);
	r = fmt_chrome_values_init(&x->values, names);
	if (r == 0)
		r = fmt_chrome_tracks_init(&x->tracks, names, n_ranks, x->merged);
	if (r < 0)
		return r;
	*ret = take(x);
	return 0;
}

void fmt_chrome_head(struct fmt_chrome *x, const struct fmt_trace *t, const struct fmt_part *part,
		     struct text *out)
{
	if (x->merged)
		fmt_chrome_head_merged(t, &x->tracks, part, &x->base, out);
	else
		fmt_chrome_head_rank(t, x->rank, out);
}

/* ---- calls and their operations */

/* The correlations of a slice. */
struct launches {
	struct seen *seen; /* owned */
	size_t cap;	   /* a power of two */
};

static void launches_done(struct launches *l)
{
	free(l->seen);
}

static struct seen *find_launch(const struct launches *l, uint64_t correlation)
{
	size_t at = (size_t)(correlation * UINT64_C(0x9e3779b97f4a7c15) >> 20);

	for (;; at++) {
		struct seen *s = &l->seen[at & (l->cap - 1)];

		if (s->correlation == correlation || !s->correlation)
			return s;
	}
}

static int note_correlations(const struct fmt_chrome *x, const struct fmt_slice *slice,
			     struct launches *ret)
{
	ret->cap = 64;
	while (ret->cap < slice->n_events * 2)
		ret->cap *= 2;
	ret->seen = calloc(ret->cap, sizeof(*ret->seen));
	if (!ret->seen)
		return -ENOMEM;
	for (size_t i = 0; i < slice->n_events; i++) {
		const struct fmt_event *e = &slice->events[i];
		const struct fmt_chrome_template *s = x->templates[e->template];
		struct seen *seen;

		if (!e->correlation)
			continue;
		seen = find_launch(ret, e->correlation);
		seen->correlation = e->correlation;
		seen->call |= s->kind == FMT_CALL;
		seen->op |= FMT_IS_OP(s->kind);
	}
	return 0;
}

/* ---- events */

static bool is_whole_us(const struct fmt_chrome *x, int64_t ns)
{
	return !x->base.known && ns % 1000 == 0;
}

static char *put_time(const struct fmt_chrome *x, char *at, int64_t ns)
{
	return is_whole_us(x, ns) ? text_put_i64(at, ns / 1000) : text_put_us(at, ns);
}

#define TS_KEY ",\"ts\":"
#define DUR_KEY ",\"dur\":"
#define FLOW_START ",\n{\"ph\":\"s\",\"id\":"
#define FLOW_FINISH ",\n{\"ph\":\"f\",\"bp\":\"e\",\"id\":"
#define FLOW_NAME ",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":"

#define PUT(at, literal) text_put((at), (literal), strlen(literal))

/* The process, the thread and the time. */
static char *put_track_time(const struct fmt_chrome *x, char *at,
			    const struct fmt_chrome_track *track, int64_t start_ns)
{
	at = text_put(at, x->tracks.pool.data + track->at, track->len);
	at = PUT(at, TS_KEY);
	return put_time(x, at, start_ns);
}

/* Returns true if a flow arrow starts or ends at the event. */
static bool has_flow(const struct launches *l, const struct fmt_event *e, uint8_t kind)
{
	const struct seen *seen;

	if (!e->correlation || !(kind == FMT_CALL || FMT_IS_OP(kind)))
		return false;
	seen = find_launch(l, e->correlation);
	return seen->call && seen->op;
}

/* Without parts of variable length. */
#define FLOW_BYTES 128
#define EVENT_BYTES 64

/* Correlations of different ranks are different in a merged document. */
static uint64_t flow_id(const struct fmt_chrome *x, uint32_t rank, const struct fmt_event *e)
{
	if (!x->merged)
		return e->correlation;
	return (e->correlation & ((UINT64_C(1) << 40) - 1)) | (uint64_t)rank << 40;
}

/* Adds the flow arrow from a launch to its operation. */
static void put_flow(const struct fmt_chrome *x, uint32_t rank, const struct fmt_event *e,
		     uint8_t kind, int64_t start_ns, struct text *out)
{
	const struct fmt_chrome_track *track = &x->tracks.tracks[rank][e->track];
	char *at = text_reserve(out, FLOW_BYTES + track->len);

	if (!at)
		return;
	at = kind == FMT_CALL ? PUT(at, FLOW_START) : PUT(at, FLOW_FINISH);
	at = text_put_u64(at, flow_id(x, rank, e));
	at = PUT(at, FLOW_NAME);
	at = put_track_time(x, at, track, start_ns);
	text_end(out, PUT(at, "}"));
}

static void put_event(struct fmt_chrome *x, const struct launches *l, const struct fmt_slice *slice,
		      const struct fmt_event *e, struct text *out)
{
	const struct fmt_chrome_template *s = x->templates[e->template];
	const struct fmt_chrome_track *track = &x->tracks.tracks[slice->rank][e->track];
	int64_t start_ns = (int64_t)((uint64_t)e->start_ns - (uint64_t)x->base.ns);
	char *at = text_reserve(out, EVENT_BYTES + s->head_len + track->len);

	if (!at)
		return;
	at = text_put(at, s->text, s->head_len);
	at = put_track_time(x, at, track, start_ns);
	if (s->kind != FMT_MARK)
		at = put_time(x, PUT(at, DUR_KEY), e->duration_ns);
	text_end(out, at);
	fmt_chrome_template_put(s, &x->values, e, fmt_event_values(slice, e), out);
	if (has_flow(l, e, s->kind))
		put_flow(x, slice->rank, e, s->kind, start_ns, out);
}

static int make_template(struct fmt_chrome *x, uint32_t number)
{
	struct fmt_chrome_template *made = NULL;
	int r = 0;

	pthread_mutex_lock(&x->making);
	if (!x->templates[number])
		r = fmt_chrome_template_new(&x->values, fmt_template(x->names, number), &made);
	if (made)
		x->templates[number] = made;
	pthread_mutex_unlock(&x->making);
	return r;
}

/* Makes the templates of the events, and checks the events' references. */
static int make_templates(struct fmt_chrome *x, const struct fmt_slice *slice,
			  const struct fmt_event *events, size_t n)
{
	uint32_t n_tracks;

	if (slice->rank >= x->tracks.n_ranks)
		return -EBADMSG;
	n_tracks = fmt_n_tracks(x->names, slice->rank);
	for (size_t i = 0; i < n; i++) {
		const struct fmt_event *e = &events[i];
		int r;

		if (e->track >= n_tracks || e->template >= x->n_templates)
			return -EBADMSG;
		r = x->templates[e->template] ? 0 : make_template(x, e->template);
		if (r < 0)
			return r;
		if ((uint64_t)e->first_value + x->templates[e->template]->n_values >
		    slice->n_values)
			return -EBADMSG;
	}
	return 0;
}

static int begin_slice(struct fmt_chrome *x, const struct fmt_slice *slice, struct launches *l)
{
	int r = make_templates(x, slice, slice->events, slice->n_events);

	if (r == 0)
		r = make_templates(x, slice, slice->ranges, slice->n_ranges);
	return r < 0 ? r : note_correlations(x, slice, l);
}

static const struct fmt_event *item_of(const struct fmt_slice *slice, size_t i)
{
	return i < slice->n_events ? &slice->events[i] : &slice->ranges[i - slice->n_events];
}

int fmt_chrome_slice_from(struct fmt_chrome *x, const struct fmt_slice *slice, size_t first,
			  struct text *out)
{
	scoped(launches_done) struct launches launches = {0};
	size_t n = slice->n_events + slice->n_ranges;
	int r = begin_slice(x, slice, &launches);

	if (r < 0)
		return r;
	for (size_t i = first; i < n && !out->error; i++)
		put_event(x, &launches, slice, item_of(slice, i), out);
	return out->error;
}

int fmt_chrome_slice(struct fmt_chrome *x, const struct fmt_slice *slice, struct text *out)
{
	return fmt_chrome_slice_from(x, slice, 0, out);
}

int fmt_chrome_offsets(struct fmt_chrome *x, const struct fmt_slice *slice, uint64_t *marks,
		       uint64_t *length)
{
	scoped(text_done) struct text scratch = {0};
	scoped(launches_done) struct launches launches = {0};
	size_t n = slice->n_events + slice->n_ranges;
	int r = begin_slice(x, slice, &launches);
	uint64_t bytes = 0;

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		if (marks && i % FMT_CHROME_STEP == 0)
			marks[i / FMT_CHROME_STEP] = bytes;
		scratch.len = 0;
		put_event(x, &launches, slice, item_of(slice, i), &scratch);
		bytes += scratch.len;
	}
	if (marks && n % FMT_CHROME_STEP == 0)
		marks[n / FMT_CHROME_STEP] = bytes;
	*length = bytes;
	return scratch.error;
}

int fmt_chrome(struct fmt_trace *t, enum fmt_chrome_form form, const struct fmt_part *part,
	       struct text *out, struct fmt_error *err)
{
	scoped(fmt_chrome_freep) struct fmt_chrome *x = NULL;
	struct fmt_walk walk = fmt_walk(t, part);
	int r;

	r = fmt_chrome_new(fmt_trace_names(t), fmt_trace_n_ranks(t), form,
			   part->rank == FMT_ANY ? 0 : (uint32_t)part->rank, &x);
	if (r < 0)
		return r;
	fmt_chrome_head(x, t, part, out);
	while (fmt_walk_next(&walk)) {
		scoped(fmt_slice_freep) struct fmt_slice *slice = NULL;

		r = fmt_slice_load(t, walk.rank, walk.slice,
				   FMT_WANT_CALLS | FMT_WANT_OPS | FMT_WANT_RANGES, &slice, err);
		if (r == 0)
			r = fmt_chrome_slice(x, slice, out);
		if (r == -EBADMSG)
			fmt_part_left_out(part);
		else if (r < 0)
			return r;
	}
	text_str(out, FMT_CHROME_TAIL);
	return text_flush(out);
}
