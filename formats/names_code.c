/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/names_code.h"

#include "base/array.h"
#include "formats/names_impl.h"

/* ---- writing ---- */

static void put_strings(const struct fmt_names *n, uint32_t from, struct text *out)
{
	uint32_t first = from ? from : 1; /* the empty string is everywhere */

	fmt_put_varint(out, n->n_strings - first);
	for (uint32_t i = first; i < n->n_strings; i++)
		fmt_put_varint(out, n->strings[i].len);
	for (uint32_t i = first; i < n->n_strings; i++)
		text_bytes(out, n->strings[i].s, n->strings[i].len);
}

/* Things are numbered in the order of their first use, and so are their strings: what is stored is
 * the way from the number that comes next. */
static void put_ref(struct text *out, uint32_t ref, uint32_t *next)
{
	fmt_put_svarint(out, (int64_t)*next - ref);
	if (ref >= *next)
		*next = ref + 1;
}

static int is_text(uint8_t type)
{
	return type == FMT_STRING || type == FMT_JSON;
}

static void put_args(const struct fmt_site *s, struct text *out, uint32_t *next)
{
	for (uint32_t i = 0; i < s->n_args; i++) {
		const struct fmt_arg *a = &s->args[i];

		fmt_put_u8(out, (uint8_t)(a->type | (a->varies ? 0x80 : 0)));
		put_ref(out, a->key, next);
		if (a->varies)
			continue;
		if (is_text(a->type))
			put_ref(out, (uint32_t)a->value, next);
		else
			fmt_put_svarint(out, a->value);
	}
}

static void put_sites(const struct fmt_names *n, uint32_t from, struct text *out)
{
	uint32_t next = 1;

	fmt_put_varint(out, n->n_sites - from);
	for (uint32_t i = from; i < n->n_sites; i++) {
		const struct fmt_site *s = &n->sites[i];

		fmt_put_u8(out, s->kind);
		put_ref(out, s->name, &next);
		put_ref(out, s->category, &next);
		fmt_put_varint(out, s->n_args);
		put_args(s, out, &next);
	}
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

static void put_lanes(const struct fmt_rank_names *r, uint32_t from, uint64_t version,
		      struct text *out)
{
	uint32_t renamed = 0;

	fmt_put_varint(out, r->n_lanes - from);
	for (uint32_t i = from; i < r->n_lanes; i++) {
		const struct fmt_lane *l = &r->lanes[i];

		fmt_put_u8(out, l->kind);
		fmt_put_u8(out, l->text_ids);
		fmt_put_svarint(out, l->pid);
		fmt_put_svarint(out, l->tid);
		fmt_put_varint(out, l->pid_text);
		fmt_put_varint(out, l->tid_text);
		fmt_put_varint(out, l->name);
	}
	for (uint32_t i = 0; i < from; i++)
		renamed += r->lane_changed[i] > version;
	fmt_put_varint(out, renamed);
	for (uint32_t i = 0; i < from; i++)
		if (r->lane_changed[i] > version) {
			fmt_put_varint(out, i);
			fmt_put_varint(out, r->lanes[i].name);
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
	put_lanes(r, mark->lanes, mark->version, out);
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
		.strings = n->n_strings,
		.sites = n->n_sites,
		.comms = n->n_comms,
		.rules = n->n_rules,
		.version = n->version,
	};

	if (rank < n->n_ranks) {
		m.lanes = n->ranks[rank].n_lanes;
		m.devices = n->ranks[rank].n_devices;
	}
	return m;
}

int fmt_names_put(const struct fmt_names *n, uint32_t rank, struct fmt_names_mark *mark,
		  struct text *out)
{
	struct fmt_names_mark now = mark_of(n, rank);

	if (memcmp(&now, mark, sizeof(now)) == 0)
		return 0;
	put_strings(n, mark->strings, out);
	put_sites(n, mark->sites, out);
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

void fmt_names_map_done(struct fmt_names_map *m)
{
	free(m->strings);
	free(m->sites);
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

/* The counterpart of put_ref(). */
static fmt_str get_ref(struct fmt_cursor *c, const struct fmt_names_map *m, uint32_t *next)
{
	uint64_t ref = (uint64_t)fmt_sub(*next, fmt_svarint(c));
	fmt_str s = map_string(c, m, ref);

	if (!c->bad && ref >= *next)
		*next = (uint32_t)ref + 1;
	return s;
}

static int get_strings(struct fmt_cursor *c, struct fmt_names *n, struct fmt_names_map *m)
{
	uint64_t count = fmt_count(c, 1);
	struct fmt_cursor lengths = *c;

	if (m->n_strings == 0 &&
	    map_add(&m->strings, &m->n_strings, &m->strings_cap, 0, &m->changes) < 0)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++)
		fmt_varint(c);
	for (uint64_t i = 0; i < count && !c->bad; i++) {
		uint64_t len = fmt_varint(&lengths);
		const uint8_t *s = fmt_bytes(c, len);
		fmt_str number;
		int r;

		if (!s)
			break;
		r = fmt_names_string(n, (const char *)s, (size_t)len, &number);
		if (r == 0)
			r = map_add(&m->strings, &m->n_strings, &m->strings_cap, number,
				    &m->changes);
		if (r < 0)
			return r;
	}
	return c->bad ? -EBADMSG : 0;
}

static int get_site(struct fmt_cursor *c, struct fmt_names *n, struct fmt_names_map *m,
		    uint32_t *next)
{
	struct fmt_site s = {.kind = fmt_u8(c)};
	scoped(free_ptr) struct fmt_arg *args = NULL;
	uint32_t number;
	int r;

	s.name = get_ref(c, m, next);
	s.category = get_ref(c, m, next);
	s.n_args = (uint32_t)fmt_count(c, 2);
	args = calloc(s.n_args ? s.n_args : 1, sizeof(*args));
	if (!args)
		return -ENOMEM;
	for (uint32_t i = 0; i < s.n_args && !c->bad; i++) {
		uint8_t type = fmt_u8(c);

		args[i].type = type & 0x7f;
		args[i].varies = type >> 7;
		args[i].key = get_ref(c, m, next);
		if (args[i].type >= FMT_TYPES)
			c->bad = 1;
		if (!args[i].varies)
			args[i].value =
				is_text(args[i].type) ? get_ref(c, m, next) : fmt_svarint(c);
	}
	s.args = args;
	if (c->bad || s.kind >= FMT_KINDS)
		return -EBADMSG;
	r = fmt_names_site(n, &s, &number);
	return r < 0 ? r : map_add(&m->sites, &m->n_sites, &m->sites_cap, number, &m->changes);
}

static int get_comm(struct fmt_cursor *c, struct fmt_names *n, struct fmt_names_map *m)
{
	struct fmt_comm comm = {.name = get_string(c, m)};
	scoped(free_ptr) uint32_t *ranks = NULL;
	int64_t last = 0;
	uint32_t number;
	int r;

	comm.description = get_string(c, m);
	comm.n_ranks = (uint32_t)fmt_count(c, 1);
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

static int get_facts(struct fmt_cursor *c, uint32_t rank, struct fmt_names *n,
		     struct fmt_names_map *m)
{
	uint64_t count = fmt_count(c, 2);

	for (uint64_t i = 0; i < count; i++) {
		fmt_str key = get_string(c, m), value = get_string(c, m);
		int r = c->bad ? -EBADMSG
			       : fmt_names_fact(n, rank, fmt_string(n, key, NULL), value);

		if (r < 0)
			return r;
	}
	return c->bad ? -EBADMSG : 0;
}

static int get_lanes(struct fmt_cursor *c, uint32_t rank, struct fmt_names *n,
		     struct fmt_names_map *m)
{
	uint64_t count = fmt_count(c, 7);
	int r = 0;

	for (uint64_t i = 0; i < count && r == 0; i++) {
		struct fmt_lane lane = {.kind = fmt_u8(c)};
		uint32_t number;

		lane.text_ids = fmt_u8(c);
		lane.pid = fmt_svarint(c);
		lane.tid = fmt_svarint(c);
		lane.pid_text = get_string(c, m);
		lane.tid_text = get_string(c, m);
		lane.name = get_string(c, m);
		r = c->bad ? -EBADMSG : fmt_names_lane(n, rank, &lane, &number);
	}
	count = fmt_count(c, 2);
	for (uint64_t i = 0; i < count && r == 0; i++) {
		uint64_t lane = fmt_varint(c);
		fmt_str name = get_string(c, m);

		if (c->bad || lane >= fmt_n_lanes(n, rank))
			return -EBADMSG;
		r = fmt_names_lane_rename(n, rank, (uint32_t)lane, name);
	}
	return r < 0 ? r : c->bad ? -EBADMSG : 0;
}

static int get_rank(struct fmt_cursor *c, const uint32_t *ranks, uint32_t n_ranks,
		    struct fmt_names *n, struct fmt_names_map *m)
{
	uint64_t index = fmt_varint(c), count;
	uint32_t rank;
	int r;

	if (c->bad)
		return -EBADMSG;
	/* A rank whose file is missing gets a place behind the others. */
	rank = index < n_ranks ? ranks[index] : n->n_ranks;
	r = get_lanes(c, rank, n, m);
	count = r < 0 ? 0 : fmt_count(c, 3);
	for (uint64_t i = 0; i < count && r == 0; i++) {
		struct fmt_device d = {.ordinal = fmt_svarint(c)};

		d.name = get_string(c, m);
		d.properties = get_string(c, m);
		r = c->bad ? -EBADMSG : fmt_names_device(n, rank, &d);
	}
	return r < 0 ? r : get_facts(c, rank, n, m);
}

int fmt_names_get(struct fmt_cursor *c, const uint32_t *ranks, uint32_t n_ranks,
		  struct fmt_names *n, struct fmt_names_map *m)
{
	int r = get_strings(c, n, m);
	uint32_t next = 1;
	uint64_t count;

	count = r < 0 ? 0 : fmt_count(c, 4);
	for (uint64_t i = 0; i < count && r == 0; i++)
		r = get_site(c, n, m, &next);
	count = r < 0 ? 0 : fmt_count(c, 3);
	for (uint64_t i = 0; i < count && r == 0; i++)
		r = get_comm(c, n, m);
	count = r < 0 ? 0 : fmt_count(c, 2);
	for (uint64_t i = 0; i < count && r == 0; i++)
		r = get_rule(c, n, m);
	if (r == 0)
		r = get_facts(c, FMT_WHOLE_TRACE, n, m);
	count = r < 0 ? 0 : fmt_count(c, 5);
	for (uint64_t i = 0; i < count && r == 0; i++)
		r = get_rank(c, ranks, n_ranks, n, m);
	return r < 0 ? r : c->bad ? -EBADMSG : 0;
}
