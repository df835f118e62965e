/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/names_code.h"

#include "base/array.h"
#include "formats/trace/names_impl.h"
#include "formats/trace/store/names_templates.h"

/* ---- writing ---- */

/* A byte 0 ends the string. Bytes 0 and 1 within it are written as 1, 1 and 1, 2. */
static void put_string(const struct fmt_interned *s, struct text *out)
{
	for (size_t i = 0; i < s->len; i++) {
		uint8_t b = (uint8_t)s->s[i];

		if (b > 1) {
			fmt_put_u8(out, b);
			continue;
		}
		fmt_put_u8(out, 1);
		fmt_put_u8(out, b + 1);
	}
	fmt_put_u8(out, 0);
}

static void put_strings(const struct fmt_names *n, uint32_t from, struct text *out)
{
	uint32_t first = from ? from : 1; /* the empty string is everywhere */

	fmt_put_varint(out, fmt_n_strings(n) - first);
	for (uint32_t i = first; i < fmt_n_strings(n); i++)
		put_string(&n->strings.strings[i], out);
}

static void put_comms(const struct fmt_names *n, uint32_t from, struct text *out)
{
	fmt_put_varint(out, n->n_comms - from);
	for (uint32_t i = from; i < n->n_comms; i++) {
		const struct fmt_comm *c = &n->comms[i];
		uint32_t last = 0;

		fmt_put_varint(out, c->name);
		fmt_put_varint(out, c->description);
		fmt_put_varint(out, c->n_ranks);
		for (uint32_t k = 0; k < c->n_ranks; last = c->ranks[k++])
			fmt_put_svarint(out, (int64_t)c->ranks[k] - last);
	}
}

static void put_rules(const struct fmt_names *n, uint32_t from, struct text *out)
{
	fmt_put_varint(out, n->n_rules - from);
	for (uint32_t i = from; i < n->n_rules; i++) {
		fmt_put_varint(out, n->rules[i].name);
		fmt_put_u8(out, n->rules[i].inferred);
	}
}

static void put_tracks(const struct fmt_rank_names *r, uint32_t from, uint64_t version,
		       struct text *out)
{
	uint32_t renamed = 0;

	fmt_put_varint(out, r->n_tracks - from);
	for (uint32_t i = from; i < r->n_tracks; i++) {
		const struct fmt_track *l = &r->tracks[i];

		fmt_put_u8(out, l->kind);
		fmt_put_u8(out, l->text_ids);
		fmt_put_svarint(out, l->pid);
		fmt_put_svarint(out, l->tid);
		fmt_put_varint(out, l->pid_text);
		fmt_put_varint(out, l->tid_text);
		fmt_put_varint(out, l->name);
	}
	for (uint32_t i = 0; i < from; i++)
		renamed += r->track_changed[i] > version;
	fmt_put_varint(out, renamed);
	for (uint32_t i = 0; i < from; i++)
		if (r->track_changed[i] > version) {
			fmt_put_varint(out, i);
			fmt_put_varint(out, r->tracks[i].name);
		}
}

static void put_facts(const struct fmt_name_facts *f, uint64_t version, struct text *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n; i++)
		n += f->changed[i] > version;
	fmt_put_varint(out, n);
	for (uint32_t i = 0; i < f->n; i++)
		if (f->changed[i] > version) {
			fmt_put_varint(out, f->facts[i].key);
			fmt_put_varint(out, f->facts[i].value);
		}
}

static void put_rank(const struct fmt_names *n, uint32_t rank, const struct fmt_names_mark *mark,
		     struct text *out)
{
	static const struct fmt_rank_names none;
	const struct fmt_rank_names *r = rank < n->n_ranks ? &n->ranks[rank] : &none;

	fmt_put_varint(out, rank);
	put_tracks(r, mark->tracks, mark->version, out);
	fmt_put_varint(out, r->n_devices - mark->devices);
	for (uint32_t i = mark->devices; i < r->n_devices; i++) {
		fmt_put_svarint(out, r->devices[i].ordinal);
		fmt_put_varint(out, r->devices[i].name);
		fmt_put_varint(out, r->devices[i].properties);
	}
	put_facts(&r->facts, mark->version, out);
}

static struct fmt_names_mark mark_of(const struct fmt_names *n, uint32_t rank)
{
	struct fmt_names_mark m = {
		.strings = fmt_n_strings(n),
		.templates = n->n_templates,
		.comms = n->n_comms,
		.rules = n->n_rules,
		.version = n->version,
	};

	if (rank < n->n_ranks) {
		m.tracks = n->ranks[rank].n_tracks;
		m.devices = n->ranks[rank].n_devices;
	}
	return m;
}

int fmt_names_put(const struct fmt_names *n, uint32_t rank, struct fmt_names_mark *mark,
		  struct text *out)
{
	struct fmt_names_mark now = mark_of(n, rank);
	int r;

	if (memcmp(&now, mark, sizeof(now)) == 0)
		return 0;
	put_strings(n, mark->strings, out);
	r = fmt_templates_put(n, mark->templates, out);
	if (r < 0)
		return r;
	put_comms(n, mark->comms, out);
	put_rules(n, mark->rules, out);
	put_facts(&n->trace_facts, mark->version, out);
	fmt_put_varint(out, rank == FMT_WHOLE_TRACE ? n->n_ranks : 1);
	if (rank != FMT_WHOLE_TRACE)
		put_rank(n, rank, mark, out);
	for (uint32_t i = 0; rank == FMT_WHOLE_TRACE && i < n->n_ranks; i++)
		put_rank(n, i, mark, out);
	*mark = now;
	return out->error ? out->error : 1;
}

/* ---- reading ---- */

/* Any trace may take so much memory for its names, and for each of its bytes as much more. */
#define ROOM_BYTES (64u << 20)
#define ROOM_PER_BYTE 128

uint64_t fmt_names_reserve(uint64_t trace_bytes)
{
	return trace_bytes > UINT64_MAX / ROOM_PER_BYTE / 2
		       ? UINT64_MAX
		       : ROOM_BYTES + trace_bytes * ROOM_PER_BYTE;
}

int fmt_names_take(struct fmt_names_reading *reading, uint64_t bytes)
{
	if (bytes > reading->reserve_bytes)
		return -EFBIG;
	reading->reserve_bytes -= bytes;
	return 0;
}

/* Overhead of each interned item: a hash slot and a map entry, at twice their number. */
#define SLOT_BYTES (2 * sizeof(struct fmt_hash_slot) + 2 * sizeof(uint32_t))

void fmt_names_map_done(struct fmt_names_map *m)
{
	free(m->strings);
	free(m->templates);
	free(m->comms);
	memset(m, 0, sizeof(*m));
}

/* Notes that the file's next thing has number `number` in the trace. */
static int map_add(uint32_t **map, uint32_t *n, size_t *cap, uint32_t number, int *changes)
{
	if (array_reserve(map, (size_t)*n + 1, cap) < 0)
		return -ENOMEM;
	if (number != *n)
		*changes = 1;
	(*map)[(*n)++] = number;
	return 0;
}

static fmt_str map_string(struct fmt_cursor *c, const struct fmt_names_map *m, uint64_t s)
{
	if (s >= m->n_strings) {
		c->bad = 1;
		return 0;
	}
	return m->strings[s];
}

static fmt_str get_string(struct fmt_cursor *c, const struct fmt_names_map *m)
{
	return map_string(c, m, fmt_varint(c));
}

static int get_string_bytes(struct fmt_cursor *c, struct text *ret)
{
	ret->len = 0;
	while (1) {
		uint8_t b = fmt_u8(c);

		if (c->bad || b == 0)
			break;
		if (b == 1) {
			b = fmt_u8(c) - 1;
			if (b > 1)
				c->bad = 1;
		}
		fmt_put_u8(ret, b);
	}
	return c->bad ? -EBADMSG : ret->error;
}

/* Destination of decoded templates. */
struct adding {
	struct fmt_names_reading *reading;
	struct fmt_names *names;
	struct fmt_names_map *map;
};

static int get_strings(struct fmt_cursor *c, struct fmt_names_reading *reading, struct fmt_names *n,
		       struct fmt_names_map *m)
{
	scoped(text_done) struct text bytes = {0};
	uint64_t count = fmt_count(c, 1);
	int r = 0;

	if (m->n_strings == 0)
		r = map_add(&m->strings, &m->n_strings, &m->strings_cap, 0, &m->changes);
	for (uint64_t i = 0; i < count && r == 0; i++) {
		fmt_str number;

		r = get_string_bytes(c, &bytes);
		if (r == 0)
			r = fmt_names_take(reading,
					   sizeof(struct fmt_interned) + SLOT_BYTES + bytes.len);
		if (r == 0)
			r = fmt_names_string(n, bytes.data, bytes.len, &number);
		if (r == 0)
			r = map_add(&m->strings, &m->n_strings, &m->strings_cap, number,
				    &m->changes);
	}
	return r < 0 ? r : c->bad ? -EBADMSG : 0;
}

/* Adds a template of the file, whose strings are the file's numbers, to the trace's. */
static int add_template(const struct fmt_template *from, void *context)
{
	struct adding *a = context;
	struct fmt_template s = *from;
	struct fmt_cursor none = {0};
	scoped(free_ptr) struct fmt_arg *args = NULL;
	uint32_t number;
	/* Its arguments, and those of its shape. */
	int r = fmt_names_take(a->reading,
			       sizeof(s) + SLOT_BYTES + 2 * sizeof(*args) * (uint64_t)s.n_args);

	if (r < 0)
		return r;
	args = malloc(sizeof(*args) * ((size_t)s.n_args + 1));
	if (!args)
		return -ENOMEM;
	for (uint32_t i = 0; i < s.n_args; i++) {
		args[i] = s.args[i];
		args[i].key = map_string(&none, a->map, args[i].key);
		if (!args[i].varies && (args[i].type == FMT_STRING || args[i].type == FMT_JSON))
			args[i].value = map_string(&none, a->map, (uint64_t)args[i].value);
	}
	s.args = args;
	s.name = map_string(&none, a->map, s.name);
	s.category = map_string(&none, a->map, s.category);
	if (none.bad)
		return -EBADMSG;
	r = fmt_names_template(a->names, &s, &number);
	return r < 0 ? r
		     : map_add(&a->map->templates, &a->map->n_templates, &a->map->templates_cap,
			       number, &a->map->changes);
}

static int get_comm(struct fmt_cursor *c, struct fmt_names_reading *reading, struct fmt_names *n,
		    struct fmt_names_map *m)
{
	struct fmt_comm comm = {.name = get_string(c, m)};
	scoped(free_ptr) uint32_t *ranks = NULL;
	int64_t last = 0;
	uint32_t number;
	int r;

	comm.description = get_string(c, m);
	comm.n_ranks = (uint32_t)fmt_count(c, 1);
	r = fmt_names_take(reading,
			   sizeof(comm) + SLOT_BYTES + sizeof(*ranks) * (uint64_t)comm.n_ranks);
	if (r < 0)
		return r;
	ranks = calloc(comm.n_ranks ? comm.n_ranks : 1, sizeof(*ranks));
	if (!ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < comm.n_ranks; i++) {
		last = fmt_add(last, fmt_svarint(c));
		ranks[i] = (uint32_t)last;
	}
	comm.ranks = ranks;
	if (c->bad)
		return -EBADMSG;
	r = fmt_names_comm(n, &comm, &number);
	return r < 0 ? r : map_add(&m->comms, &m->n_comms, &m->comms_cap, number, &m->changes);
}

static int get_rule(struct fmt_cursor *c, struct fmt_names *n, struct fmt_names_map *m)
{
	fmt_str name = get_string(c, m);
	uint8_t inferred = fmt_u8(c), number;
	int r;

	if (c->bad || m->n_rules > UINT8_MAX)
		return -EBADMSG;
	r = fmt_names_rule(n, fmt_string(n, name, NULL), inferred, &number);
	if (r < 0)
		return r;
	if (number != m->n_rules)
		m->changes = 1;
	m->rules[m->n_rules++] = number;
	return 0;
}

static int get_facts(struct fmt_cursor *c, uint32_t rank, struct fmt_names_reading *reading,
		     struct fmt_names *n, struct fmt_names_map *m)
{
	uint64_t count = fmt_count(c, 2);

	if (fmt_names_take(reading, (sizeof(struct fmt_fact) + SLOT_BYTES) * count) < 0)
		return -EFBIG;
	for (uint64_t i = 0; i < count; i++) {
		fmt_str key = get_string(c, m), value = get_string(c, m);
		int r = c->bad ? -EBADMSG
			       : fmt_names_fact(n, rank, fmt_string(n, key, NULL), value);

		if (r < 0)
			return r;
	}
	return c->bad ? -EBADMSG : 0;
}

static int get_tracks(struct fmt_cursor *c, uint32_t rank, struct fmt_names_reading *reading,
		      struct fmt_names *n, struct fmt_names_map *m)
{
	uint64_t count = fmt_count(c, 7);
	int r = fmt_names_take(reading, (sizeof(struct fmt_track) + SLOT_BYTES) * count);

	for (uint64_t i = 0; i < count && r == 0; i++) {
		struct fmt_track track = {.kind = fmt_u8(c)};
		uint32_t number;

		track.text_ids = fmt_u8(c);
		track.pid = fmt_svarint(c);
		track.tid = fmt_svarint(c);
		track.pid_text = get_string(c, m);
		track.tid_text = get_string(c, m);
		track.name = get_string(c, m);
		r = c->bad ? -EBADMSG : fmt_names_track(n, rank, &track, &number);
	}
	count = fmt_count(c, 2);
	for (uint64_t i = 0; i < count && r == 0; i++) {
		uint64_t track = fmt_varint(c);
		fmt_str name = get_string(c, m);

		if (c->bad || track >= fmt_n_tracks(n, rank))
			return -EBADMSG;
		r = fmt_names_track_rename(n, rank, (uint32_t)track, name);
	}
	return r < 0 ? r : c->bad ? -EBADMSG : 0;
}

static int get_rank(struct fmt_cursor *c, struct fmt_names_reading *reading, struct fmt_names *n,
		    struct fmt_names_map *m)
{
	uint64_t index = fmt_varint(c), count;
	uint32_t rank;
	int r;

	if (c->bad)
		return -EBADMSG;
	/* A rank whose file is missing is numbered behind the others. */
	rank = index < reading->n_ranks ? reading->ranks[index] : n->n_ranks;
	r = fmt_names_take(reading, sizeof(struct fmt_rank_names));
	if (r == 0)
		r = get_tracks(c, rank, reading, n, m);
	count = r < 0 ? 0 : fmt_count(c, 3);
	if (r == 0)
		r = fmt_names_take(reading, sizeof(struct fmt_device) * count);
	for (uint64_t i = 0; i < count && r == 0; i++) {
		struct fmt_device d = {.ordinal = fmt_svarint(c)};

		d.name = get_string(c, m);
		d.properties = get_string(c, m);
		r = c->bad ? -EBADMSG : fmt_names_device(n, rank, &d);
	}
	return r < 0 ? r : get_facts(c, rank, reading, n, m);
}

int fmt_names_get(struct fmt_cursor *c, struct fmt_names_reading *reading, struct fmt_names *n,
		  struct fmt_names_map *m)
{
	struct adding adding = {reading, n, m};
	uint64_t count;
	int r = get_strings(c, reading, n, m);

	if (r == 0)
		r = fmt_templates_get(c, add_template, &adding);
	count = r < 0 ? 0 : fmt_count(c, 3);
	for (uint64_t i = 0; i < count && r == 0; i++)
		r = get_comm(c, reading, n, m);
	count = r < 0 ? 0 : fmt_count(c, 2);
	for (uint64_t i = 0; i < count && r == 0; i++)
		r = get_rule(c, n, m);
	if (r == 0)
		r = get_facts(c, FMT_WHOLE_TRACE, reading, n, m);
	count = r < 0 ? 0 : fmt_count(c, 5);
	for (uint64_t i = 0; i < count && r == 0; i++)
		r = get_rank(c, reading, n, m);
	return r < 0 ? r : c->bad ? -EBADMSG : 0;
}

int fmt_names_copy(const struct fmt_names *n, struct fmt_names **ret)
{
	scoped(fmt_names_freep) struct fmt_names *to = NULL;
	scoped(fmt_names_map_done) struct fmt_names_map map = {0};
	scoped(text_done) struct text written = {0};
	scoped(free_ptr) uint32_t *ranks = calloc(n->n_ranks + (size_t)1, sizeof(*ranks));
	struct fmt_names_reading reading = {ranks, n->n_ranks, UINT64_MAX};
	struct fmt_names_mark mark = {0};
	struct fmt_cursor in;
	int r = ranks ? fmt_names_new(&to) : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < n->n_ranks; i++)
		ranks[i] = i;
	if (r == 0)
		r = fmt_names_put(n, FMT_WHOLE_TRACE, &mark, &written);
	in = fmt_cursor(written.data, written.len);
	if (r == 1)
		r = fmt_names_get(&in, &reading, to, &map);
	if (r < 0 || map.changes)
		return r < 0 ? r : -EBADMSG;
	*ret = take(to);
	return 0;
}
