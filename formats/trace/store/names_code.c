/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/names_code.h"

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

/* The empty string is everywhere. */
static void put_strings(const struct fmt_names *n, struct text *out)
{
	fmt_put_varint(out, fmt_n_strings(n) - 1);
	for (uint32_t i = 1; i < fmt_n_strings(n); i++)
		put_string(&n->strings.strings[i], out);
}

static void put_comms(const struct fmt_names *n, struct text *out)
{
	fmt_put_varint(out, n->n_comms);
	for (uint32_t i = 0; i < n->n_comms; i++) {
		const struct fmt_comm *c = &n->comms[i];
		uint32_t last = 0;

		fmt_put_varint(out, c->name);
		fmt_put_varint(out, c->description);
		fmt_put_varint(out, c->n_ranks);
		for (uint32_t k = 0; k < c->n_ranks; last = c->ranks[k++])
			fmt_put_svarint(out, (int64_t)c->ranks[k] - last);
	}
}

static void put_rules(const struct fmt_names *n, struct text *out)
{
	fmt_put_varint(out, n->n_rules);
	for (uint32_t i = 0; i < n->n_rules; i++) {
		fmt_put_varint(out, n->rules[i].name);
		fmt_put_u8(out, n->rules[i].inferred);
	}
}

static void put_tracks(const struct fmt_rank_names *r, struct text *out)
{
	fmt_put_varint(out, r->n_tracks);
	for (uint32_t i = 0; i < r->n_tracks; i++) {
		const struct fmt_track *l = &r->tracks[i];

		fmt_put_u8(out, l->kind);
		fmt_put_u8(out, l->text_ids);
		fmt_put_svarint(out, l->pid);
		fmt_put_svarint(out, l->tid);
		fmt_put_varint(out, l->pid_text);
		fmt_put_varint(out, l->tid_text);
		fmt_put_varint(out, l->name);
	}
	fmt_put_varint(out, 0); /* reserved */
}

static void put_facts(const struct fmt_name_facts *f, struct text *out)
{
	fmt_put_varint(out, f->n);
	for (uint32_t i = 0; i < f->n; i++) {
		fmt_put_varint(out, f->facts[i].key);
		fmt_put_varint(out, f->facts[i].value);
	}
}

static void put_rank(const struct fmt_rank_names *r, struct text *out)
{
	put_tracks(r, out);
	fmt_put_varint(out, r->n_devices);
	for (uint32_t i = 0; i < r->n_devices; i++) {
		fmt_put_svarint(out, r->devices[i].ordinal);
		fmt_put_varint(out, r->devices[i].name);
		fmt_put_varint(out, r->devices[i].properties);
	}
	put_facts(&r->facts, out);
}

int fmt_names_put(const struct fmt_names *n, struct text *out)
{
	int r;

	put_strings(n, out);
	r = fmt_templates_put(n, out);
	if (r < 0)
		return r;
	put_comms(n, out);
	put_rules(n, out);
	put_facts(&n->trace_facts, out);
	fmt_put_varint(out, n->n_ranks);
	for (uint32_t i = 0; i < n->n_ranks; i++) {
		fmt_put_varint(out, i);
		put_rank(&n->ranks[i], out);
	}
	return out->error;
}

/* ---- reading ---- */

/* Memory that any trace may use for its names, in addition to the same number of bytes as the trace
 * has. */
#define ROOM_BYTES (64u << 20)
#define ROOM_PER_BYTE 128

uint64_t fmt_names_reserve(uint64_t trace_bytes)
{
	return trace_bytes > UINT64_MAX / ROOM_PER_BYTE / 2
		       ? UINT64_MAX
		       : ROOM_BYTES + trace_bytes * ROOM_PER_BYTE;
}

int fmt_names_use_reserve(struct fmt_names_decoder *reading, uint64_t bytes)
{
	if (bytes > reading->reserve_bytes)
		return -EFBIG;
	reading->reserve_bytes -= bytes;
	return 0;
}

/* Overhead of each interned item: its hash slots, and additional data of readers. */
#define SLOT_BYTES (2 * sizeof(struct fmt_hash_slot) + 2 * sizeof(uint32_t))

static void check_string(struct fmt_cursor *c, const struct fmt_names *n, uint64_t s)
{
	c->bad |= s >= fmt_n_strings(n);
}

static fmt_str get_string(struct fmt_cursor *c, const struct fmt_names *n)
{
	uint64_t s = fmt_varint(c);

	check_string(c, n, s);
	return (fmt_str)s;
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
	struct fmt_names_decoder *reading;
	struct fmt_names *names;
};

static int get_strings(struct fmt_cursor *c, struct fmt_names_decoder *reading, struct fmt_names *n)
{
	scoped(text_done) struct text bytes = {0};
	uint64_t count = fmt_count(c, 1);
	int r = 0;

	for (uint64_t i = 0; i < count && r == 0; i++) {
		fmt_str next = fmt_n_strings(n), number;

		r = get_string_bytes(c, &bytes);
		if (r == 0)
			r = fmt_names_use_reserve(reading, sizeof(struct fmt_interned) +
								   SLOT_BYTES + bytes.len);
		if (r == 0)
			r = fmt_names_string(n, bytes.data, bytes.len, &number);
		if (r == 0 && number != next)
			r = -EBADMSG;
	}
	return r < 0 ? r : c->bad ? -EBADMSG : 0;
}

static int add_template(const struct fmt_template *s, void *context)
{
	struct adding *a = context;
	struct fmt_cursor c = {0};
	uint32_t next = fmt_n_templates(a->names), number;
	/* Its arguments, and those of its shape. */
	int r = fmt_names_use_reserve(
		a->reading, sizeof(*s) + SLOT_BYTES + 2 * sizeof(*s->args) * (uint64_t)s->n_args);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < s->n_args; i++) {
		const struct fmt_arg *arg = &s->args[i];

		check_string(&c, a->names, arg->key);
		if (!arg->varies && (arg->type == FMT_STRING || arg->type == FMT_JSON))
			check_string(&c, a->names, (uint64_t)arg->value);
	}
	check_string(&c, a->names, s->name);
	check_string(&c, a->names, s->category);
	if (c.bad)
		return -EBADMSG;
	r = fmt_names_template(a->names, s, &number);
	return r == 0 && number != next ? -EBADMSG : r;
}

static int get_comm(struct fmt_cursor *c, struct fmt_names_decoder *reading, struct fmt_names *n)
{
	struct fmt_comm comm = {.name = get_string(c, n)};
	scoped(free_ptr) uint32_t *ranks = NULL;
	uint32_t next = fmt_n_comms(n), number;
	int64_t last = 0;
	int r;

	comm.description = get_string(c, n);
	comm.n_ranks = (uint32_t)fmt_count(c, 1);
	r = fmt_names_use_reserve(reading, sizeof(comm) + SLOT_BYTES +
						   sizeof(*ranks) * (uint64_t)comm.n_ranks);
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
	return r == 0 && number != next ? -EBADMSG : r;
}

static int get_rule(struct fmt_cursor *c, struct fmt_names *n)
{
	fmt_str name = get_string(c, n);
	uint8_t inferred = fmt_u8(c), number;
	uint32_t next = n->n_rules;
	int r;

	if (c->bad || next > UINT8_MAX)
		return -EBADMSG;
	r = fmt_names_rule(n, fmt_string(n, name, NULL), inferred, &number);
	return r == 0 && number != next ? -EBADMSG : r;
}

static int get_facts(struct fmt_cursor *c, uint32_t rank, struct fmt_names_decoder *reading,
		     struct fmt_names *n)
{
	uint64_t count = fmt_count(c, 2);

	if (fmt_names_use_reserve(reading, (sizeof(struct fmt_fact) + SLOT_BYTES) * count) < 0)
		return -EFBIG;
	for (uint64_t i = 0; i < count; i++) {
		fmt_str key = get_string(c, n), value = get_string(c, n);
		int r = c->bad ? -EBADMSG
			       : fmt_names_fact(n, rank, fmt_string(n, key, NULL), value);

		if (r < 0)
			return r;
	}
	return c->bad ? -EBADMSG : 0;
}

static int get_tracks(struct fmt_cursor *c, uint32_t rank, struct fmt_names_decoder *reading,
		      struct fmt_names *n)
{
	uint64_t count = fmt_count(c, 7);
	int r = fmt_names_use_reserve(reading, (sizeof(struct fmt_track) + SLOT_BYTES) * count);

	for (uint64_t i = 0; i < count && r == 0; i++) {
		struct fmt_track track = {.kind = fmt_u8(c)};
		uint32_t next = fmt_n_tracks(n, rank), number;

		track.text_ids = fmt_u8(c);
		track.pid = fmt_svarint(c);
		track.tid = fmt_svarint(c);
		track.pid_text = get_string(c, n);
		track.tid_text = get_string(c, n);
		track.name = get_string(c, n);
		r = c->bad ? -EBADMSG : fmt_names_track(n, rank, &track, &number);
		if (r == 0 && number != next)
			r = -EBADMSG;
	}
	if (r == 0 && fmt_varint(c) != 0) /* reserved */
		r = -EBADMSG;
	return r < 0 ? r : c->bad ? -EBADMSG : 0;
}

static int get_rank(struct fmt_cursor *c, struct fmt_names_decoder *reading, struct fmt_names *n)
{
	uint64_t index = fmt_varint(c), count;
	uint32_t rank;
	int r;

	if (c->bad)
		return -EBADMSG;
	/* A rank whose file is missing is numbered after the others. */
	rank = index < reading->n_ranks ? reading->ranks[index] : n->n_ranks;
	r = fmt_names_use_reserve(reading, sizeof(struct fmt_rank_names));
	if (r == 0)
		r = get_tracks(c, rank, reading, n);
	count = r < 0 ? 0 : fmt_count(c, 3);
	if (r == 0)
		r = fmt_names_use_reserve(reading, sizeof(struct fmt_device) * count);
	for (uint64_t i = 0; i < count && r == 0; i++) {
		struct fmt_device d = {.ordinal = fmt_svarint(c)};

		d.name = get_string(c, n);
		d.properties = get_string(c, n);
		r = c->bad ? -EBADMSG : fmt_names_device(n, rank, &d);
	}
	return r < 0 ? r : get_facts(c, rank, reading, n);
}

int fmt_names_get(struct fmt_cursor *c, struct fmt_names_decoder *reading, struct fmt_names *n)
{
	struct adding adding = {reading, n};
	uint64_t count;
	int r = get_strings(c, reading, n);

	if (r == 0)
		r = fmt_templates_get(c, add_template, &adding);
	count = r < 0 ? 0 : fmt_count(c, 3);
	for (uint64_t i = 0; i < count && r == 0; i++)
		r = get_comm(c, reading, n);
	count = r < 0 ? 0 : fmt_count(c, 2);
	for (uint64_t i = 0; i < count && r == 0; i++)
		r = get_rule(c, n);
	if (r == 0)
		r = get_facts(c, FMT_WHOLE_TRACE, reading, n);
	count = r < 0 ? 0 : fmt_count(c, 5);
	for (uint64_t i = 0; i < count && r == 0; i++)
		r = get_rank(c, reading, n);
	return r < 0 ? r : c->bad ? -EBADMSG : 0;
}

int fmt_names_copy(const struct fmt_names *n, struct fmt_names **ret)
{
	scoped(fmt_names_freep) struct fmt_names *to = NULL;
	scoped(text_done) struct text written = {0};
	scoped(free_ptr) uint32_t *ranks = calloc(n->n_ranks + (size_t)1, sizeof(*ranks));
	struct fmt_names_decoder reading = {ranks, n->n_ranks, UINT64_MAX};
	struct fmt_cursor in;
	int r = ranks ? fmt_names_new(&to) : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < n->n_ranks; i++)
		ranks[i] = i;
	if (r == 0)
		r = fmt_names_put(n, &written);
	in = fmt_cursor(written.data, written.len);
	if (r == 0)
		r = fmt_names_get(&in, &reading, to);
	if (r == 0)
		*ret = take(to);
	return r;
}
