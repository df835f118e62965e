/* SPDX-License-Identifier: Apache-2.0 */

/* Adds a call as an event of its process. */
#include "base/array.h"
#include "formats/run/gpucapture/process/args.h"
#include "formats/run/gpucapture/process/digests.h"

/* Returns the library of the call, with the category names of profilers. */
static const char *category_of(const struct rec_call *c)
{
	static const char *const names[] = {
		[API_LIBRARY_CUDA] = "cuda_driver",
		[API_LIBRARY_NCCL] = "nccl",
		[API_LIBRARY_CUBLAS] = "cublas",
		[API_LIBRARY_CUBLASLT] = "cublas",
	};

	return c->api && c->api->library < ARRAY_SIZE(names) ? names[c->api->library] : "unknown";
}

static int make_template(const struct rec_args *m, const struct rec_call *c, uint32_t *ret)
{
	const char *category = category_of(c);
	struct fmt_template template = {.kind = FMT_CALL, .n_args = m->n, .args = m->args};
	int r = fmt_names_string(m->names, c->name, strlen(c->name), &template.name);

	if (r == 0)
		r = fmt_names_string(m->names, category, strlen(category), &template.category);
	return r < 0 ? r : fmt_names_template(m->names, &template, ret);
}

/* Returns the function's last call; NULL for a function without a description. */
static struct rec_last_call *last_call(const struct rec_call *c)
{
	return c->api ? &c->process->memo.last_calls[c->record->api] : NULL;
}

static int remember_call(struct rec_last_call *last, const struct rec_args *m, uint32_t template)
{
	uint64_t *codes = realloc(last->codes, (m->n + 1) * sizeof(*codes));

	if (!codes)
		return -ENOMEM;
	memcpy(codes, m->codes, m->n * sizeof(*codes));
	*last = (struct rec_last_call){template + 1, m->n, codes};
	return 0;
}

static int template_of(const struct rec_args *m, const struct rec_call *c, uint32_t *ret)
{
	struct rec_last_call *last = last_call(c);
	int r = 0;

	if (rec_args_match(m)) {
		*ret = last->template - 1;
		return 0;
	}
	r = make_template(m, c, ret);
	return r == 0 && last ? remember_call(last, m, *ret) : r;
}

struct rec_event rec_call_event(const struct rec_call *c, enum fmt_kind kind)
{
	return (struct rec_event){.start_ns = c->start_ns,
				  .duration_ns = c->end_ns - c->start_ns,
				  .correlation = c->record->id + 1,
				  .track = c->thread->track,
				  .call = REC_NONE,
				  .device = (int16_t)rec_call_device(c),
				  .kind = kind};
}

static void note_last(struct rec_process *p, const struct rec_call *c, uint32_t template)
{
	if (c->end_ns < p->end.last_call_ns)
		return;
	p->end.last_call_ns = c->end_ns;
	p->end.last_call = fmt_template(p->names, template)->name;
}

/* Adds the order of a call whose time does not order threads, once a second thread has made such a
 * call; and its order among the calls of all processes, once the process shares objects. */
static void put_order(struct rec_args *m, const struct rec_call *c)
{
	struct rec_process *p = c->process;

	if (!(c->record->head.flags & CAP_CALL_ORDERED))
		return;
	if (p->order.n++ == 0)
		p->order.track = c->thread->track;
	p->order.is_used |= p->order.track != c->thread->track;
	p->order.is_shared |= c->api && strncmp(c->api->name, "cuIpc", 5) == 0;
	if (p->order.is_shared) {
		rec_args_put(m, rec_arg_key_name(NULL, "began"), FMT_INT,
			     (int64_t)cap_call_began(c->record));
		rec_args_put(m, rec_arg_key_name(NULL, "order"), FMT_INT,
			     (int64_t)cap_call_order(c->record));
	} else if (p->order.is_used) {
		rec_args_put(m, rec_arg_key_name(NULL, "order"), FMT_INT, (int64_t)p->order.n);
	}
}

/* First reading: a call is only counted. */
static int add_planned(struct rec_call *c)
{
	c->process->counts.calls++;
	c->event = REC_NONE;
	return 0;
}

void rec_call_keep_in_prologue(const struct rec_call *c)
{
	if (c->event == REC_NONE) /* first reading */
		return;
	c->process->events[c->event].keeps = 1;
	if (c->thread->kept_depth < c->record->head.depth)
		c->thread->kept_depth = c->record->head.depth;
}

/* Libraries make another context current in most of their calls, and change back. */
static bool is_undone(const struct rec_call *c)
{
	return c->record->head.depth > 0 &&
	       (rec_call_is(c, "cuCtxSetCurrent") || rec_call_is(c, "cuCtxPushCurrent") ||
		rec_call_is(c, "cuCtxPopCurrent") ||
		rec_call_is(c, "cuThreadExchangeStreamCaptureMode"));
}

static void keep_if_lasting(const struct rec_call *c)
{
	uint32_t depth = c->record->head.depth;
	bool is_around = c->thread->kept_depth > depth;

	if (is_around)
		c->thread->kept_depth = depth;
	if (is_around || ((!c->api || api_has_lasting_effect(c->api)) && !is_undone(c)))
		rec_call_keep_in_prologue(c);
}

int rec_call_add(struct rec_call *c)
{
	struct rec_args m;
	struct rec_event e;
	int r;

	rec_process_extend_span(c->process, c->start_ns, c->end_ns);
	if (c->process->only_plan)
		return add_planned(c);
	e = rec_call_event(c, FMT_CALL);
	rec_args_begin(&m, c->process->names, last_call(c));
	rec_args_add_call(&m, c);
	rec_args_put(&m, rec_arg_key_name(NULL, "result"), FMT_INT, c->record->result);
	if (c->record->head.depth > 0)
		rec_args_put(&m, rec_arg_key_name(NULL, "depth"), FMT_INT, c->record->head.depth);
	if (c->record->head.flags & CAP_CALL_REPEATED && c->n_words > 0)
		rec_args_put(&m, rec_arg_key_name(NULL, "repeated"), FMT_INT,
			     (int64_t)c->record->words[c->n_words - 1]);
	put_order(&m, c);
	rec_args_end(&m);
	r = m.error < 0 ? m.error : template_of(&m, c, &e.template);
	if (r == 0)
		r = rec_add_values(c->process, m.values, m.n, &e.first_value);
	if (r == 0)
		r = rec_add_event(c->process, &e, &c->event);
	if (r == 0)
		keep_if_lasting(c);
	if (r == 0)
		note_last(c->process, c, e.template);
	if (r == 0)
		rec_digests_set_event(c->process, c->record->id, c->event);
	c->process->counts.calls++;
	c->process->counts.nested += c->record->head.depth > 0;
	c->process->counts.failed += !api_succeeded(c->api, c->record->result);
	c->process->counts.raw += !c->api;
	return r;
}

void rec_call_set_device(const struct rec_call *c, int device)
{
	if (device >= 0 && c->event != REC_NONE)
		c->process->events[c->event].device = (int16_t)device;
}
