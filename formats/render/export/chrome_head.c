/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/export/chrome_head.h"

#include "base/scope.h"
#include "formats/trace/hash.h"
#include "formats/trace/json.h"

/* Prefix of gputrace's own facts, which are under one key in the document. */
#define OURS "gputrace."

/* ---- processes and threads */

static bool same_process(const struct fmt_track *a, const struct fmt_track *b)
{
	if (a->kind != b->kind || (a->text_ids & 1) != (b->text_ids & 1))
		return false;
	return a->text_ids & 1 ? a->pid_text == b->pid_text : a->pid == b->pid;
}

/* Finds the rank's first track of the same process, among those in `first_tracks`, or adds the
 * track to them. Returns 0 or -ENOMEM. */
static int find_first(struct fmt_hash_table *first_tracks, const struct fmt_names *names,
		      uint32_t rank, uint32_t track, uint32_t *ret)
{
	const struct fmt_track *l = fmt_track(names, rank, track);
	bool is_text = l->text_ids & 1;
	uint32_t hash = fmt_hash_numbers(is_text ? l->pid_text : (uint64_t)l->pid,
					 l->kind * UINT64_C(2) + is_text);
	struct fmt_hash_slot *slot;

	if (fmt_hash_reserve(first_tracks) < 0)
		return -ENOMEM;
	slot = fmt_hash_find(first_tracks, hash, i, same_process(fmt_track(names, rank, i), l));
	if (!slot->number)
		fmt_hash_set(first_tracks, slot, hash, track);
	*ret = slot->number - 1;
	return 0;
}

static void put_string(struct text *t, const struct fmt_names *names, fmt_str s)
{
	size_t len;
	const char *bytes = fmt_string(names, s, &len);

	fmt_json_string(t, bytes, len);
}

static void put_id(struct text *t, const struct fmt_names *names, bool is_text, fmt_str s,
		   int64_t v)
{
	if (is_text)
		put_string(t, names, s);
	else
		text_i64(t, v);
}

/* Processes of a merged document are numbered 1000, 1001 for rank index 0, 2000 for 1; in larger
 * steps if a rank has very many. */
static int64_t merged_step(const struct fmt_names *names, uint32_t n_ranks)
{
	int64_t step = 1000;

	for (uint32_t rank = 0; rank < n_ranks; rank++) {
		while (step <= fmt_n_tracks(names, rank))
			step *= 10;
	}
	return step;
}

/* `step` is 0 unless merged. */
static int add_rank(struct fmt_chrome_tracks *l, const struct fmt_names *names, uint32_t rank,
		    int64_t step)
{
	scoped(fmt_hash_done) struct fmt_hash_table first_tracks = {0};
	uint32_t n = fmt_n_tracks(names, rank);

	l->tracks[rank] = calloc(n + 1u, sizeof(**l->tracks));
	if (!l->tracks[rank])
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const struct fmt_track *track = fmt_track(names, rank, i);
		size_t at = l->pool.len;
		uint32_t first;

		if (find_first(&first_tracks, names, rank, i, &first) < 0)
			return -ENOMEM;
		if (step)
			text_i64(&l->pool, (rank + INT64_C(1)) * step + first);
		else
			put_id(&l->pool, names, track->text_ids & 1, track->pid_text, track->pid);
		text_str(&l->pool, ",\"tid\":");
		put_id(&l->pool, names, track->text_ids & 2, track->tid_text, track->tid);
		if (l->pool.len > UINT32_MAX)
			return -EOVERFLOW;
		l->tracks[rank][i] = (struct fmt_chrome_track){(uint32_t)at,
							       (uint32_t)(l->pool.len - at), first};
	}
	return l->pool.error;
}

int fmt_chrome_tracks_init(struct fmt_chrome_tracks *l, const struct fmt_names *names,
			   uint32_t n_ranks, bool merged)
{
	int64_t step = merged ? merged_step(names, n_ranks) : 0;

	l->n_ranks = n_ranks;
	l->tracks = calloc(l->n_ranks + 1u, sizeof(struct fmt_chrome_track *));
	if (!l->tracks)
		return -ENOMEM;
	for (uint32_t rank = 0; rank < l->n_ranks; rank++) {
		int r = add_rank(l, names, rank, step);

		if (r < 0)
			return r;
	}
	return 0;
}

void fmt_chrome_tracks_done(struct fmt_chrome_tracks *l)
{
	for (uint32_t i = 0; l->tracks && i < l->n_ranks; i++)
		free(l->tracks[i]);
	free(l->tracks);
	text_done(&l->pool);
}

/* ---- time */

static struct fmt_chrome_base base_of(const struct fmt_names *names, uint32_t rank)
{
	const char *fact = fmt_fact_value(names, rank, "baseTimeNanoseconds");

	return (struct fmt_chrome_base){
		.ns = fact ? strtoll(fact, NULL, 10) : 0, .known = fact != NULL, .common = true};
}

struct fmt_chrome_base fmt_chrome_base(const struct fmt_names *names, uint32_t rank,
				       uint32_t n_ranks)
{
	struct fmt_chrome_base base = base_of(names, rank);

	for (uint32_t i = 1; i < n_ranks; i++) {
		struct fmt_chrome_base other = base_of(names, rank + i);

		base.common &= other.ns == base.ns && other.known == base.known;
		base.known |= other.known;
		if (other.ns < base.ns)
			base.ns = other.ns;
	}
	return base;
}

/* ---- facts */

static void put_fact(struct fmt_json *j, const struct fmt_names *names, const struct fmt_fact *fact)
{
	size_t len;
	const char *value = fmt_string(names, fact->value, &len);

	fmt_json_verbatim(j, fmt_string(names, fact->key, NULL), value, len);
}

/* Adds the facts from the top level of the recorder's file, or all. */
static void put_facts(struct fmt_json *j, const struct fmt_names *names, uint32_t rank, bool all)
{
	const struct fmt_fact *fact;

	for (uint32_t i = 0; (fact = fmt_fact(names, rank, i)); i++) {
		if (all || strncmp(fmt_string(names, fact->key, NULL), OURS, strlen(OURS)) != 0)
			put_fact(j, names, fact);
	}
}

/* Adds a recorded name of a process or thread, stored as [name, pid, tid, args]. */
static void put_metadata(const char *entry, size_t len, struct text *out)
{
	static const char *const keys[] = {",\"name\":", ",\"pid\":", ",\"tid\":", ",\"args\":"};
	const char *at = entry, *end = entry + len, *value;

	text_str(out, ",\n{\"ph\":\"M\"");
	for (int i = 0; i < 4 && fmt_json_element(&at, end, &value, &len); i++) {
		if (len == 4 && !memcmp(value, "null", 4))
			continue;
		text_str(out, keys[i]);
		text_bytes(out, value, len);
	}
	text_char(out, '}');
}

static void put_all_metadata(const struct fmt_names *names, uint32_t rank, struct text *out)
{
	const char *at = fmt_fact_value(names, rank, OURS "metadata"), *end, *entry;
	size_t len;

	if (!at || !fmt_json_valid(at, strlen(at)))
		return;
	end = at + strlen(at);
	while (fmt_json_element(&at, end, &entry, &len))
		put_metadata(entry, len, out);
}

/* Begins the events. The first is of no use but to be followed by a comma. */
static void open_events(struct fmt_json *j)
{
	fmt_json_open(j, "traceEvents", '[');
	text_str(j->text, "\n{\"ph\":\"M\",\"name\":\"gputrace\",\"pid\":0,\"tid\":0,\"args\":{}}");
}

void fmt_chrome_head_rank(const struct fmt_trace *t, uint32_t rank, struct text *out)
{
	const struct fmt_names *names = fmt_trace_names(t);
	struct fmt_json j = {.text = out, .broken = 1};

	fmt_json_open(&j, NULL, '{');
	fmt_json_open(&j, "gputrace", '{');
	fmt_json_open(&j, "ranks", '[');
	fmt_json_open(&j, NULL, '{');
	fmt_json_u64(&j, "rank", fmt_trace_rank(t, rank)->number);
	fmt_json_close(&j, '}');
	fmt_json_close(&j, ']');
	fmt_json_close(&j, '}');
	put_facts(&j, names, rank, false);
	open_events(&j);
	put_all_metadata(names, rank, out);
}

/* ---- merged */

static void put_ids(const struct fmt_chrome_tracks *l, uint32_t rank, uint32_t track,
		    struct text *out)
{
	text_bytes(out, l->pool.data + l->tracks[rank][track].at, l->tracks[rank][track].len);
}

static void put_meta(struct text *out, const char *what, const struct fmt_chrome_tracks *l,
		     uint32_t rank, uint32_t track)
{
	text_str(out, ",\n{\"ph\":\"M\",\"name\":\"");
	text_str(out, what);
	text_str(out, "\",\"pid\":");
	put_ids(l, rank, track, out);
	text_str(out, ",\"args\":{");
}

static void put_process_name(struct text *out, const struct fmt_track *track, uint32_t number)
{
	text_str(out, "\"name\":\"rank ");
	text_u64(out, number);
	text_str(out, track->kind == FMT_STREAM ? " GPU" : " host");
	if (!(track->text_ids & 1)) {
		text_char(out, ' ');
		text_i64(out, track->pid);
	}
	text_str(out, "\"}}");
}

/* Perfetto counts a name without letters as an error of the file. */
static bool is_named(const struct fmt_names *names, const struct fmt_track *track)
{
	return track->name || !(track->text_ids & 2) || *fmt_string(names, track->tid_text, NULL);
}

static void put_thread_name(struct text *out, const struct fmt_names *names,
			    const struct fmt_track *track)
{
	text_str(out, "\"name\":");
	if (track->name || track->text_ids & 2) {
		put_string(out, names, track->name ? track->name : track->tid_text);
	} else {
		text_str(out, track->kind == FMT_STREAM ? "\"stream " : "\"thread ");
		text_i64(out, track->tid);
		text_char(out, '"');
	}
	text_str(out, "}}");
}

static void put_track(const struct fmt_trace *t, const struct fmt_chrome_tracks *l, uint32_t rank,
		      uint32_t i, struct text *out)
{
	const struct fmt_names *names = fmt_trace_names(t);
	const struct fmt_track *track = fmt_track(names, rank, i);

	if (l->tracks[rank][i].first == i) {
		put_meta(out, "process_name", l, rank, i);
		put_process_name(out, track, fmt_trace_rank(t, rank)->number);
		put_meta(out, "process_sort_index", l, rank, i);
		text_str(out, "\"sort_index\":");
		text_u64(out, rank * UINT64_C(2) + (track->kind == FMT_STREAM));
		text_str(out, "}}");
	}
	if (is_named(names, track)) {
		put_meta(out, "thread_name", l, rank, i);
		put_thread_name(out, names, track);
	}
}

/* Adds a rank's process names in its own file, and its facts. */
static void put_rank(struct fmt_json *j, const struct fmt_trace *t,
		     const struct fmt_chrome_tracks *l, uint32_t rank)
{
	const struct fmt_names *names = fmt_trace_names(t);

	fmt_json_open(j, NULL, '{');
	fmt_json_u64(j, "rank", fmt_trace_rank(t, rank)->number);
	fmt_json_open(j, "facts", '{');
	put_facts(j, names, rank, true);
	fmt_json_close(j, '}');
	fmt_json_open(j, "pids", '[');
	for (uint32_t i = 0; i < fmt_n_tracks(names, rank); i++) {
		const struct fmt_track *track = fmt_track(names, rank, i);

		if (l->tracks[rank][i].first != i)
			continue;
		fmt_json_open(j, NULL, '[');
		fmt_json_i64(j, NULL, strtoll(l->pool.data + l->tracks[rank][i].at, NULL, 10));
		if (track->text_ids & 1)
			fmt_json_str(j, NULL, fmt_string(names, track->pid_text, NULL));
		else
			fmt_json_i64(j, NULL, track->pid);
		fmt_json_close(j, ']');
	}
	fmt_json_close(j, ']');
	fmt_json_close(j, '}');
}

void fmt_chrome_head_merged(const struct fmt_trace *t, const struct fmt_chrome_tracks *l,
			    const struct fmt_part *part, const struct fmt_chrome_base *base,
			    struct text *out)
{
	struct fmt_json j = {.text = out, .broken = 3};
	uint32_t from = part->rank == FMT_ANY ? 0 : (uint32_t)part->rank;
	uint32_t to = part->rank == FMT_ANY ? fmt_trace_n_ranks(t) : from + 1;

	fmt_json_open(&j, NULL, '{');
	fmt_json_open(&j, "gputrace", '{');
	if (!base->common)
		fmt_json_i64(&j, "base_ns", base->ns);
	fmt_json_open(&j, "ranks", '[');
	for (uint32_t rank = from; rank < to; rank++)
		put_rank(&j, t, l, rank);
	fmt_json_close(&j, ']');
	fmt_json_close(&j, '}');
	fmt_json_u64(&j, "schemaVersion", 1);
	fmt_json_str(&j, "displayTimeUnit", "ms");
	if (base->known)
		fmt_json_i64(&j, "baseTimeNanoseconds", base->ns);
	open_events(&j);
	for (uint32_t rank = from; rank < to; rank++) {
		for (uint32_t i = 0; i < fmt_n_tracks(fmt_trace_names(t), rank); i++)
			put_track(t, l, rank, i, out);
	}
}
