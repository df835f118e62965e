/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/graphs/op.h"

#include "base/array.h"
#include "base/scope.h"
#include "base/text.h"
#include "formats/run/gpucapture/graphs/graphs.h"
#include "formats/run/gpucapture/process/times.h"

void rec_op_add_arg(struct rec_call *c, struct rec_op *o, const char *key, enum fmt_type type,
		    int varies, int64_t value)
{
	struct fmt_arg *a = &o->args[o->n_args];

	if (o->error || o->n_args == REC_MOST_OP_ARGS)
		return;
	*a = (struct fmt_arg){.type = (uint8_t)type, .varies = (uint8_t)varies};
	o->error = fmt_names_string(c->process->names, key, strlen(key), &a->key);
	if (varies)
		o->values[o->n_values++] = value;
	else
		a->value = value;
	o->n_args++;
}

void rec_op_add_list(struct rec_call *c, struct rec_op *o, const char *key, const int64_t v[3])
{
	scoped(text_done) struct text json = {0};
	fmt_str s = 0;

	for (int i = 0; i < 3; i++) {
		text_str(&json, i > 0 ? ", " : "[");
		text_i64(&json, v[i]);
	}
	text_char(&json, ']');
	if (!o->error)
		o->error = json.error;
	if (!o->error)
		o->error = fmt_names_string(c->process->names, json.data, json.len, &s);
	rec_op_add_arg(c, o, key, FMT_JSON, 0, s);
}

/* The track of a stream, which begins with its first operation. */
static int track_of(struct rec_call *c, struct rec_object *stream, uint32_t *ret)
{
	const struct rec_track track = {
		.kind = FMT_STREAM, .device = (int16_t)stream->device, .number = stream->number};
	int r = 0;

	if (stream->track == 0) {
		r = rec_add_track(c->process, &track, ret);
		if (r == 0)
			stream->track = *ret + 1;
	}
	*ret = stream->track - 1;
	return r;
}

/* The call and its operation belong to the same device. */
static void put_device(struct rec_call *c, int device)
{
	struct rec_track *thread = &c->process->tracks[c->thread->track];

	rec_call_set_device(c, device);
	if (thread->device < 0)
		thread->device = (int16_t)device;
}

static inline int remember_launch(struct rec_call *c, const struct rec_launched_op *l)
{
	struct rec_thread *t = c->thread;

	if (array_reserve(&t->launched, t->n_launched + 1, &t->launched_cap) < 0)
		return -ENOMEM;
	t->launched[t->n_launched] = *l;
	t->launched[t->n_launched].ordinal = cap_id_ordinal(c->record->id);
	t->launched[t->n_launched++].depth = c->record->head.depth;
	return 0;
}

/* Adds the operation as a node of the graph that its stream is captured into. */
static int capture_op(struct rec_call *c, const struct rec_object *stream, const struct rec_op *o)
{
	struct rec_node node = {.kind = fmt_kind_name(o->kind), .name = o->name, .bytes = -1};
	struct rec_graph_node_ref at = {.node = REC_NONE};
	uint32_t number = stream->number;
	int r;

	for (uint32_t i = 0, value = 0; i < o->n_args; i++) {
		const char *key = fmt_string(c->process->names, o->args[i].key, NULL);

		if (strcmp(key, "grid") == 0)
			node.grid = (fmt_str)o->args[i].value;
		else if (strcmp(key, "block") == 0)
			node.block = (fmt_str)o->args[i].value;
		else if (strcmp(key, "shared memory") == 0)
			node.shared_bytes = o->args[i].value;
		else if (strcmp(key, FMT_KEY_SYMBOL) == 0)
			node.symbol = (fmt_str)o->args[i].value;
		else if (strcmp(key, "bytes") == 0)
			node.bytes = o->values[value];
		value += o->args[i].varies;
	}
	if (strcmp(o->category, "graph") == 0)
		node.kind = "graph";
	r = rec_graph_add_captured(c, stream, &node, &at);
	if (r < 0 || at.node == REC_NONE)
		return r;
	if (strcmp(node.kind, "graph") == 0)
		rec_graph_set_launch(c->process, &at, o->exec);
	return remember_launch(c, &(struct rec_launched_op){.event = c->event,
							    .captured = true,
							    .graph = at.graph,
							    .node = at.node,
							    .stream = number});
}

static int add_event(struct rec_process *p, const struct rec_op *o, struct rec_event *e,
		     uint32_t *ret)
{
	int r = rec_add_values(p, o->values, o->n_values, &e->first_value);

	if (r == 0)
		r = rec_add_event(p, e, ret);
	return r < 0 ? r : rec_times_expect(p, *ret);
}

int rec_op_add_event(struct rec_call *c, struct rec_object *stream, const struct rec_op *o)
{
	struct rec_process *p = c->process;
	struct rec_event e = {.correlation = c->record->id + 1,
			      .call = c->event,
			      .device = (int16_t)stream->device,
			      .kind = (uint8_t)o->kind,
			      .template = o->template};
	uint32_t event = REC_NONE;
	int r = track_of(c, stream, &e.track);

	if (r == 0)
		put_device(c, stream->device);
	if (r == 0 && !p->only_plan)
		r = add_event(p, o, &e, &event);
	p->counts.ops += r == 0;
	return r < 0 ? r
		     : remember_launch(c, &(struct rec_launched_op){.event = event,
								    .track = e.track,
								    .kind = e.kind,
								    .name = o->name});
}

int rec_op_add(struct rec_call *c, struct rec_object *stream, struct rec_op *o)
{
	struct fmt_names *names = c->process->names;
	struct fmt_template template = {
		.kind = (uint8_t)o->kind, .name = o->name, .n_args = o->n_args, .args = o->args};
	int r = o->error;

	if (r == 0 && stream->capturing)
		return capture_op(c, stream, o);
	if (r == 0 && c->process->only_plan)
		return rec_op_add_event(c, stream, o);
	if (r == 0)
		r = fmt_names_string(names, o->category, strlen(o->category), &template.category);
	if (r == 0)
		r = fmt_names_template(names, &template, &o->template);
	return r < 0 ? r : rec_op_add_event(c, stream, o);
}
