/* SPDX-License-Identifier: Apache-2.0 */

/* Coding a slice. */
#include "formats/store/slice_impl.h"

#include "base/array.h"
#include "base/scope.h"

static int before(const struct fmt_event *a, const struct fmt_event *b)
{
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns;
	return a->duration_ns > b->duration_ns;
}

static void set_item(struct fmt_item *i, const struct fmt_event *e, uint8_t kind)
{
	memset(i, 0, sizeof(*i));
	i->start = e->start_ns;
	i->end = fmt_add(e->start_ns, e->duration_ns);
	i->correlation = e->correlation;
	i->site = e->site;
	i->values = e->first_value;
	i->match = i->parent = i->call = FMT_NONE;
	i->kind = kind;
}

/* Which of the open items end before each; what is still open encloses it. */
static void find_pops(struct fmt_item *items, uint32_t first, uint32_t n)
{
	uint32_t top = FMT_NONE;

	for (uint32_t i = first; i < first + n; i++) {
		while (top != FMT_NONE && items[i].start >= items[top].end) {
			items[i].pops++;
			top = items[top].parent;
		}
		items[i].parent = top;
		top = i;
	}
}

static int add_lane(struct fmt_run_code *r, uint32_t rank, uint32_t number, size_t *cap)
{
	const struct fmt_lane *lane = fmt_lane(r->names, rank, number);

	if (!lane)
		return -EINVAL;
	if (array_reserve(&r->lanes, r->n_lanes + 1, cap) < 0)
		return -ENOMEM;
	r->lanes[r->n_lanes++] = (struct fmt_item_lane){
		.number = number, .first = r->n_items, .device = lane->kind == FMT_STREAM};
	return 0;
}

/* Events and ranges of each lane, merged. */
static int take_items(struct fmt_run_code *r, const struct fmt_slice *s, uint32_t rank)
{
	size_t e = 0, g = 0, cap = 0, total = s->n_events + s->n_ranges;

	if (total > FMT_ITEMS_MAX)
		return -EOVERFLOW;
	r->items = malloc(sizeof(*r->items) * (total + 1));
	if (!r->items)
		return -ENOMEM;
	while (e < s->n_events || g < s->n_ranges) {
		uint32_t number = e < s->n_events ? s->events[e].lane : UINT32_MAX;
		struct fmt_item_lane *lane;
		int error;

		if (g < s->n_ranges && s->ranges[g].lane < number)
			number = s->ranges[g].lane;
		error = add_lane(r, rank, number, &cap);
		if (error < 0)
			return error;
		lane = &r->lanes[r->n_lanes - 1];
		while (1) {
			int has_e = e < s->n_events && s->events[e].lane == number;
			int has_g = g < s->n_ranges && s->ranges[g].lane == number;
			const struct fmt_event *event;

			if (!has_e && !has_g)
				break;
			if (has_g && (!has_e || !before(&s->events[e], &s->ranges[g])))
				event = &s->ranges[g++];
			else
				event = &s->events[e++];
			if (!fmt_site(r->names, event->site))
				return -EINVAL;
			if (event->correlation &&
			    fmt_site(r->names, event->site)->kind >= FMT_RANGE)
				r->ranges_correlate = 1;
			set_item(&r->items[r->n_items++], event,
				 fmt_site(r->names, event->site)->kind);
		}
		lane->n = r->n_items - lane->first;
		find_pops(r->items, lane->first, lane->n);
	}
	return 0;
}

static int64_t gcd(int64_t a, int64_t b)
{
	uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a,
		 y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;

	while (y) {
		uint64_t t = x % y;

		x = y;
		y = t;
	}
	return x > INT64_MAX ? 1 : (int64_t)x;
}

/* GPUs stamp in steps of 32 ns; what is made of that may be off by one. */
#define STEP_NS 32

static int near_step(int64_t ns)
{
	int64_t rest = ns & (STEP_NS - 1);

	return rest <= 1 || rest == STEP_NS - 1;
}

/* What times are multiples of. */
static void find_units(struct fmt_run_code *r)
{
	int64_t host = 0, device = 0;
	uint32_t n = 0, near = 0;

	for (size_t k = 0; k < r->n_lanes; k++) {
		const struct fmt_item_lane *lane = &r->lanes[k];
		int64_t end = r->origin_ns;

		for (uint32_t i = lane->first; i < lane->first + lane->n; i++) {
			const struct fmt_item *item = &r->items[i];
			int64_t from = fmt_sub(item->start, r->origin_ns);
			int64_t duration = fmt_sub(item->end, item->start);

			if (!lane->device) {
				host = host == 1 ? 1 : gcd(gcd(host, from), duration);
				continue;
			}
			device = device == 1 ? 1 : gcd(gcd(device, from), duration);
			n += 2;
			near += near_step(duration) + near_step(fmt_sub(item->start, end));
			end = item->end;
		}
	}
	r->host_unit = host ? host : 1;
	r->device_unit = device ? device : 1;
	if (r->device_unit == 1 && near > n / 2) {
		r->device_unit = STEP_NS;
		r->device_rests = 1;
	}
}

struct call_key {
	uint64_t correlation;
	uint32_t call;
};

static int by_correlation(const void *a, const void *b)
{
	const struct call_key *x = a, *y = b;

	return array_order(x->correlation, y->correlation) ?: array_order(x->call, y->call);
}

static const struct call_key *find_call(const struct call_key *keys, size_t n, uint64_t correlation)
{
	size_t low = 0;

	while (n > 0) {
		size_t half = n / 2;

		if (keys[low + half].correlation < correlation) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return &keys[low];
}

/* The calls that `indices` name, by correlation; one more is behind them. */
static struct call_key *key_calls(const struct fmt_run_code *r, const uint32_t *indices, uint32_t n)
{
	struct call_key *keys = malloc(sizeof(*keys) * ((size_t)n + 1));

	if (!keys)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		keys[i] = (struct call_key){r->items[indices[i]].correlation, i};
	qsort(keys, n, sizeof(*keys), by_correlation);
	keys[n].correlation = 0;
	return keys;
}

/* Marks the calls whose site launches an op here. */
static int find_launches(struct fmt_run_code *r)
{
	scoped(free_ptr) uint32_t *calls = malloc(sizeof(*calls) * ((size_t)r->n_items + 1));
	scoped(free_ptr) uint8_t *launches = calloc(r->n_sites + 1, 1);
	scoped(free_ptr) struct call_key *keys = NULL;
	uint32_t n = 0;

	if (!calls || !launches)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_items; i++)
		if (r->items[i].kind == FMT_CALL && r->items[i].correlation)
			calls[n++] = i;
	keys = key_calls(r, calls, n);
	if (!keys)
		return -ENOMEM;
	for (size_t k = 0; k < r->n_lanes; k++)
		for (uint32_t i = r->lanes[k].first;
		     r->lanes[k].device && i < r->lanes[k].first + r->lanes[k].n; i++) {
			uint64_t correlation = r->items[i].correlation;
			const struct call_key *found = find_call(keys, n, correlation);

			if (correlation && found->correlation == correlation)
				launches[r->items[calls[found->call]].site] = 1;
		}
	for (uint32_t i = 0; i < n; i++)
		r->items[calls[i]].launches = launches[r->items[calls[i]].site];
	return 0;
}

/* Sets the call of each op, now that calls are in order. */
static int know_calls(struct fmt_run_code *r)
{
	scoped(free_ptr) struct call_key *keys = key_calls(r, r->calls, r->n_calls);

	if (!keys)
		return -ENOMEM;
	for (size_t k = 0; k < r->n_lanes; k++)
		for (uint32_t i = r->lanes[k].first;
		     r->lanes[k].device && i < r->lanes[k].first + r->lanes[k].n; i++) {
			struct fmt_item *item = &r->items[i];
			const struct call_key *found =
				find_call(keys, r->n_calls, item->correlation);

			if (item->correlation && found->correlation == item->correlation)
				item->call = found->call;
		}
	return 0;
}

static void put_head(const struct fmt_run_code *r, struct text *out)
{
	uint32_t last = 0;

	fmt_put_varint(out, (r->reference ? FMT_HAS_REFERENCE : 0) |
				    (r->ranges_correlate ? FMT_RANGES_CORRELATE : 0) |
				    (r->device_rests ? FMT_DEVICE_RESTS : 0));
	if (r->reference)
		fmt_put_varint(out, r->reference->slice);
	fmt_put_varint(out, r->n_sites);
	fmt_put_varint(out, (uint64_t)r->host_unit);
	fmt_put_varint(out, (uint64_t)r->device_unit);
	fmt_put_varint(out, r->n_lanes);
	for (size_t i = 0; i < r->n_lanes; i++) {
		fmt_put_varint(out, r->lanes[i].number - last);
		fmt_put_varint(out, r->lanes[i].n);
		last = r->lanes[i].number;
	}
}

int fmt_slice_put(const struct fmt_slice *s, const struct fmt_names *n, uint32_t rank,
		  const struct fmt_reference *reference, struct fmt_reference **keep,
		  uint32_t *repeated, struct text *out)
{
	scoped(fmt_run_done) struct fmt_run_code r = {
		.reference = reference,
		.names = n,
		.n_sites = fmt_n_sites(n),
		.origin_ns = s->iteration.start_ns,
		.source = s->values,
		.most_values = FMT_VALUES_MAX,
	};
	struct fmt_slice copy = *s;
	int e = take_items(&r, s, rank);

	if (e == 0)
		e = find_launches(&r);
	if (e < 0)
		return e;
	find_units(&r);
	put_head(&r, out);
	fmt_coder_start(&r.coder);
	e = fmt_contexts_init(&r.contexts, reference ? &reference->contexts : NULL);
	if (e == 0)
		e = fmt_run_code(&r, &copy, know_calls);
	if (e == 0)
		e = fmt_coder_finish(&r.coder, out);
	if (e == 0 && repeated) {
		*repeated = 0;
		for (uint32_t i = 0; i < r.n_items; i++)
			*repeated += r.items[i].match != FMT_NONE;
	}
	if (e == 0 && keep && !reference)
		e = fmt_run_keep(&r, s->index, keep);
	return e;
}
