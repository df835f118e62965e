/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/shape.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/infer/edge.h"
#include "formats/trace/hash.h"
#include "formats/trace/value.h"

#include <stdbool.h>

#define LATE_NS 200	/* an event that marks an end reaches the device within this */
#define TAIL_NS 10000	/* end of a kernel with a single wave of blocks */
#define LONGER_NS 50000 /* a kernel that shared the device took this much, and a tenth, longer */

struct shape {
	fmt_str name;
	int64_t grid, block; /* strings, or 0 */
	uint32_t waves;
	uint32_t n, n_sorted; /* of durations[first .. + n) */
	size_t first;
};

struct infer_shapes {
	struct shape *shapes;
	size_t n, cap;
	struct fmt_hash_table table;
	uint32_t *of_template; /* plus 1, if grid and block are constant; 0: unknown */
	int64_t *durations;
};

struct machine {
	int64_t processors, threads, registers, shared;
};

/* Returns the number after `"key":` in a JSON object. */
static int64_t json_number(const char *json, const char *key, int64_t otherwise)
{
	const char *at = json ? strstr(json, key) : NULL;
	long long v;

	if (!at)
		return otherwise;
	v = strtoll(at + strlen(key), NULL, 10);
	return v > 0 && v < INT32_MAX ? v : otherwise;
}

static struct machine machine_of(const struct infer_view *v, const struct fmt_track *track)
{
	const struct fmt_device *d = NULL;
	const char *json;

	for (uint32_t i = 0; (d = fmt_device(v->names, v->index, i)); i++)
		if (d->ordinal == track->pid)
			break;
	if (!d)
		d = fmt_device(v->names, v->index, 0);
	json = d ? fmt_string(v->names, d->properties, NULL) : NULL;
	return (struct machine){
		.processors = json_number(json, "\"numSms\":", 80),
		.threads = json_number(json, "\"maxThreadsPerMultiprocessor\":", 2048),
		.registers = json_number(json, "\"regsPerMultiprocessor\":", 65536),
		.shared = json_number(json, "\"sharedMemPerMultiprocessor\":", 98304),
	};
}

/* Returns the product of "[17,64,2]"; 0 if it is not such a list. */
static int64_t product_of_list(const char *list)
{
	uint32_t dims[3];
	int64_t all = 1;

	fmt_value_dims(list, dims);
	for (int i = 0; i < 3; i++) {
		if (dims[i] > INT32_MAX || all > INT32_MAX)
			return 0;
		all *= dims[i];
	}
	return all;
}

/* Returns the number of blocks that a multiprocessor runs at once: CUDA's occupancy rules without
 * rare special cases. */
static int64_t occupancy(const struct machine *m, int64_t threads, int64_t registers,
			 int64_t shared)
{
	int64_t warps = (threads + 31) / 32, most = 32;
	int64_t per_warp = (registers * 32 + 255) / 256 * 256;

	if (m->threads / 32 / warps < most)
		most = m->threads / 32 / warps;
	if (per_warp > 0 && m->registers / (per_warp * warps) < most)
		most = m->registers / (per_warp * warps);
	if (shared > 0 && m->shared / shared < most)
		most = m->shared / shared;
	return most > 0 ? most : 1;
}

static uint32_t waves_of(const struct infer_view *v, const struct infer_op *op, int64_t grid,
			 int64_t block)
{
	const struct fmt_track *track = fmt_track(v->names, v->index, v->streams[op->stream].track);
	struct machine m = machine_of(v, track);
	int64_t blocks = product_of_list(fmt_string(v->names, (fmt_str)grid, NULL));
	int64_t threads = product_of_list(fmt_string(v->names, (fmt_str)block, NULL));
	int64_t registers, shared = 0, slots;

	if (blocks == 0 || threads == 0 || threads > 1024 ||
	    !infer_event_arg(v, op->event, "registers per thread", &registers) || registers < 0 ||
	    registers > 1024)
		return 1;
	infer_event_arg(v, op->event, "shared memory", &shared);
	slots = m.processors * occupancy(&m, threads, registers, shared);
	return (uint32_t)((blocks + slots - 1) / slots);
}

static bool same_shape(const struct shape *a, const struct shape *b)
{
	return a->name == b->name && a->grid == b->grid && a->block == b->block;
}

/* Finds or adds the shape of an operation. */
static int find_shape(struct infer_shapes *s, const struct infer_view *v, struct infer_op *op)
{
	uint32_t number = v->rank->events[op->event].template, hash, at;
	const struct fmt_template *template = fmt_template(v->names, number);
	struct shape key = {.name = template->name};
	struct fmt_hash_slot *slot;

	if (s->of_template[number]) {
		op->shape = s->of_template[number] - 1;
		s->shapes[op->shape].n++;
		return 0;
	}
	infer_event_arg(v, op->event, "grid", &key.grid);
	infer_event_arg(v, op->event, "block", &key.block);
	if (fmt_hash_reserve(&s->table) < 0 || array_reserve(&s->shapes, s->n + 1, &s->cap) < 0)
		return -ENOMEM;
	hash = fmt_hash_numbers(key.name | (uint64_t)key.grid << 32, (uint64_t)key.block);
	slot = fmt_hash_find(&s->table, hash, i, same_shape(&s->shapes[i], &key));
	if (!slot->number) {
		key.waves = waves_of(v, op, key.grid, key.block);
		s->shapes[s->n] = key;
		fmt_hash_set(&s->table, slot, hash, (uint32_t)s->n++);
	}
	op->shape = slot->number - 1;
	s->shapes[op->shape].n++;
	if (!fmt_template_varying(v->names, template, "grid", &at) &&
	    !fmt_template_varying(v->names, template, "block", &at))
		s->of_template[number] = slot->number;
	return 0;
}

/* The recorder measures the end of a kernel by an event that it records after the launch. If the
 * kernel ends before that event reaches the device, its recorded end is that of the event. */
static bool ends_late(const struct infer_view *v, const struct infer_op *op)
{
	const struct infer_call *c = op->call != INFER_NONE ? &v->calls[op->call] : NULL;

	return v->rank->event_times && op->kind == FMT_KERNEL && c && c->n_ops == 1 &&
	       op->end_ns - c->end_ns <= infer_launch_start_ns(v, c) - c->start_ns + LATE_NS;
}

static int list_durations(struct infer_shapes *s, const struct infer_view *views, uint32_t n_views)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		s->shapes[i].first = n;
		n += s->shapes[i].n;
		s->shapes[i].n = 0;
	}
	s->durations = malloc((n + 1) * sizeof(*s->durations));
	if (!s->durations)
		return -ENOMEM;
	for (uint32_t r = 0; r < n_views; r++)
		for (uint32_t i = 0; i < views[r].n_ops; i++) {
			const struct infer_op *op = &views[r].ops[i];
			struct shape *shape;

			if (op->shape == INFER_NONE || op->ends_late)
				continue;
			shape = &s->shapes[op->shape];
			s->durations[shape->first + shape->n++] = op->end_ns - op->start_ns;
		}
	return 0;
}

define_cleanup(free_shapes, struct infer_shapes *, infer_shapes_free);

int infer_shapes_new(struct infer_view *views, uint32_t n_views, struct infer_shapes **ret)
{
	scoped(free_shapes) struct infer_shapes *s = calloc(1, sizeof(*s));
	size_t n_templates = n_views > 0 ? fmt_n_templates(views[0].names) : 0;
	int r;

	if (s)
		s->of_template = calloc(n_templates + 1, sizeof(*s->of_template));
	r = s && s->of_template ? 0 : -ENOMEM;
	for (uint32_t k = 0; k < n_views && r == 0; k++)
		for (uint32_t i = 0; i < views[k].n_ops && r == 0; i++)
			if (views[k].ops[i].kind == FMT_KERNEL)
				r = find_shape(s, &views[k], &views[k].ops[i]);
	if (r == 0)
		*ret = take(s);
	return r;
}

/* The median duration of the kernels of its shape that did not take longer than `op`; `op`'s own
 * without any. */
static int64_t median_within(struct infer_shapes *s, const struct infer_op *op)
{
	int64_t own = op->end_ns - op->start_ns, *d;
	struct shape *shape;
	size_t low;

	if (op->shape == INFER_NONE)
		return own;
	shape = &s->shapes[op->shape];
	d = s->durations + shape->first;
	if (shape->n_sorted != shape->n) {
		qsort(d, shape->n, sizeof(*d), array_by_i64);
		shape->n_sorted = shape->n;
	}
	low = array_bound(i, 0, shape->n, d[i] <= own);
	return low > 0 ? d[(low - 1) / 2] : own;
}

int infer_shapes_measure(struct infer_shapes *s, struct infer_view *views, uint32_t n_views)
{
	int r;

	for (uint32_t k = 0; k < n_views; k++)
		for (uint32_t i = 0; i < views[k].n_ops; i++)
			views[k].ops[i].ends_late = ends_late(&views[k], &views[k].ops[i]);
	r = list_durations(s, views, n_views);
	for (uint32_t k = 0; k < n_views && r == 0; k++)
		for (uint32_t i = 0; i < views[k].n_ops && r == 0; i++) {
			const struct infer_op *op = &views[k].ops[i];
			int64_t ns = op->ends_late ? median_within(s, op) : INT64_MAX;

			if (ns < op->end_ns - op->start_ns)
				r = infer_add_op_edge(&views[k], i, i, FMT_EDGE_RETURN,
						      INFER_LATE_END, ns);
		}
	return r;
}

void infer_shapes_free(struct infer_shapes *s)
{
	if (!s)
		return;
	free(s->shapes);
	fmt_hash_done(&s->table);
	free(s->of_template);
	free(s->durations);
	free(s);
}

uint32_t infer_n_shapes(const struct infer_shapes *s)
{
	return (uint32_t)s->n;
}

int64_t infer_uncontended_ns(struct infer_shapes *s, const struct infer_op *op)
{
	int64_t own = op->end_ns - op->start_ns, median = median_within(s, op);

	return own > median + LONGER_NS && own - median > median / 10 ? median : own;
}

int64_t infer_release_ns(struct infer_shapes *s, const struct infer_op *op, int64_t *wave_ns)
{
	int64_t duration = op->end_ns - op->start_ns;

	*wave_ns = 0;
	if (op->shape != INFER_NONE) {
		uint32_t waves = s->shapes[op->shape].waves;

		duration = infer_uncontended_ns(s, op);
		if (waves > 1) {
			*wave_ns = duration / waves;
			return duration - *wave_ns;
		}
	}
	return duration > TAIL_NS ? duration - TAIL_NS : 0;
}
