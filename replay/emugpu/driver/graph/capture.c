/* SPDX-License-Identifier: Apache-2.0 */

/* Capture: ops of a stream become nodes of a graph. A stream takes part from cuStreamBeginCapture
 * on, or from its first wait for an event recorded in a participating stream. */
#include "base/array.h"
#include "replay/emugpu/driver/graph/graph.h"
#include "replay/emugpu/driver/handle.h"
#include "replay/emugpu/driver/stream.h"

static struct {
	pthread_mutex_t lock;
	struct emu_capture *first; /* in progress */
} captures = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int set_fronts(struct emu_stream *s, struct emu_node *const *nodes, size_t n)
{
	if (array_reserve(&s->fronts, n, &s->fronts_cap) < 0)
		return -ENOMEM;
	if (n)
		memcpy(s->fronts, nodes, n * sizeof(*nodes));
	s->n_fronts = n;
	return 0;
}

static int add_fronts(struct emu_stream *s, struct emu_node *const *nodes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < s->n_fronts && s->fronts[k] != nodes[i])
			k++;
		if (k < s->n_fronts)
			continue;
		if (array_reserve(&s->fronts, s->n_fronts + 1, &s->fronts_cap) < 0)
			return -ENOMEM;
		s->fronts[s->n_fronts++] = nodes[i];
	}
	return 0;
}

CUresult emu_capture_invalidate(struct emu_stream *s)
{
	s->capture->state = EMU_CAPTURE_INVALID;
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult emu_capture_check(struct emu_thread *self)
{
	CUresult r = CUDA_SUCCESS;

	if (self->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
	    !__atomic_load_n(&captures.first, __ATOMIC_ACQUIRE))
		return CUDA_SUCCESS;
	pthread_mutex_lock(&captures.lock);
	for (struct emu_capture *c = captures.first; c; c = c->next) {
		int ours = c->thread == self && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
		int any = c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
			  self->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;

		if (!ours && !any)
			continue;
		c->state = EMU_CAPTURE_INVALID;
		r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	pthread_mutex_unlock(&captures.lock);
	return r;
}

CUresult emu_capture_add(struct emu_stream *s, struct emu_op *op)
{
	struct emu_capture *c = s->capture;
	struct emu_op kept;
	struct emu_node *n;
	CUresult r;

	if (c->state != EMU_CAPTURE_ACTIVE) {
		emu_op_done(op);
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	}
	if (op->type == &emu_kernel_type && op->type->own(op) != 1) {
		emu_op_done(op);
		return emu_capture_invalidate(s);
	}
	kept = *op;
	r = emu_graph_add(c->graph, &kept, s->fronts, s->n_fronts, &n);
	if (!r && set_fronts(s, &n, 1) < 0)
		r = CUDA_ERROR_OUT_OF_MEMORY;
	return r;
}

CUresult emu_capture_record(struct emu_stream *s, struct emu_event *e)
{
	if (s->capture->state != EMU_CAPTURE_ACTIVE)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	pthread_mutex_lock(&e->lock);
	int r = array_reserve(&e->nodes, s->n_fronts, &e->nodes_cap);

	if (r == 0) {
		if (s->n_fronts)
			memcpy(e->nodes, s->fronts, s->n_fronts * sizeof(*e->nodes));
		e->n_nodes = s->n_fronts;
		e->capture = s->capture->id;
		e->recorded = 1;
	}
	pthread_mutex_unlock(&e->lock);
	return r < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* The capture in progress with this id, or NULL. */
static struct emu_capture *capture_of(uint64_t id)
{
	struct emu_capture *c;

	pthread_mutex_lock(&captures.lock);
	for (c = captures.first; c && c->id != id; c = c->next)
		;
	pthread_mutex_unlock(&captures.lock);
	return c;
}

CUresult emu_capture_wait(struct emu_stream *s, struct emu_event *e)
{
	struct emu_capture *c = e->capture ? capture_of(e->capture) : NULL;

	if (!c) {
		/* Waiting for an event recorded outside the capture is an error. */
		if (!e->recorded)
			return CUDA_SUCCESS;
		if (s->capture)
			s->capture->state = EMU_CAPTURE_INVALID;
		return s->capture ? CUDA_ERROR_STREAM_CAPTURE_ISOLATION : CUDA_SUCCESS;
	}
	if (s->capture && s->capture != c) {
		c->state = s->capture->state = EMU_CAPTURE_INVALID;
		return CUDA_ERROR_STREAM_CAPTURE_MERGE;
	}
	if (!s->capture && s == s->context->null_stream) {
		c->state = EMU_CAPTURE_INVALID;
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	if (!s->capture)
		s->n_fronts = 0;
	__atomic_store_n(&s->capture, c, __ATOMIC_RELAXED);
	return add_fronts(s, e->nodes, e->n_nodes) < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult begin_capture(struct emu_thread *self, CUstream stream, struct emu_graph *graph,
			      CUstreamCaptureMode mode, struct emu_stream **ret)
{
	struct emu_capture *c;
	struct emu_stream *s;
	CUresult r = emu_stream_of(self, stream, &s);

	if (r)
		return r;
	if (s == s->context->null_stream)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (s->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	c = calloc(1, sizeof(*c));
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->graph = graph;
	if (!graph && emu_graph_new(s->context, &c->graph) < 0) {
		free(c);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	c->owns_graph = !graph;
	c->id = emu_new_id();
	c->origin = s;
	c->thread = self;
	c->mode = mode;
	s->n_fronts = 0;
	__atomic_store_n(&s->capture, c, __ATOMIC_RELAXED);
	pthread_mutex_lock(&captures.lock);
	c->next = captures.first;
	__atomic_store_n(&captures.first, c, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&captures.lock);
	*ret = s;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	EMU_ENTER(EMU_CALL_EVENT);
	struct emu_stream *s;

	return begin_capture(self, stream, NULL, mode, &s);
}

EMU_API CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
					     const CUgraphNode *deps, const CUgraphEdgeData *data,
					     size_t n, CUstreamCaptureMode mode)
{
	EMU_ENTER(EMU_CALL_EVENT);
	struct emu_stream *s;
	CUresult r = emu_graph_of(graph)
			     ? begin_capture(self, stream, emu_graph_of(graph), mode, &s)
			     : CUDA_ERROR_INVALID_VALUE;

	if (!r && add_fronts(s, (struct emu_node *const *)deps, n) < 0)
		r = CUDA_ERROR_OUT_OF_MEMORY;
	return r;
}

static void mark_back(struct emu_node *n)
{
	if (n->mark)
		return;
	n->mark = 1;
	for (size_t i = 0; i < n->n_deps; i++)
		mark_back(n->deps[i]);
}

/* Ends the capture on all streams. Returns 1 if all were joined to the first one. */
static int end_streams(struct emu_capture *c)
{
	struct emu_stream *o = c->origin;
	int r = 1;

	for (size_t i = 0; i < c->graph->n_nodes; i++)
		c->graph->nodes[i]->mark = 0;
	for (size_t i = 0; i < o->n_fronts; i++)
		mark_back(o->fronts[i]);
	for (int d = 0; d < emu.n_devices; d++) {
		struct emu_context *context = emu_primary_made(&emu.devices[d]);

		context = o->context->device == &emu.devices[d] ? o->context : context;
		if (!context)
			continue;
		pthread_mutex_lock(&context->lock);
		for (struct emu_stream *s = context->streams; s; s = s->next) {
			/* Streams of other captures, which other threads may begin now. */
			if (__atomic_load_n(&s->capture, __ATOMIC_RELAXED) != c)
				continue;
			__atomic_store_n(&s->capture, NULL, __ATOMIC_RELAXED);
			for (size_t i = 0; i < s->n_fronts; i++)
				r &= s->fronts[i]->mark;
			s->n_fronts = 0;
		}
		pthread_mutex_unlock(&context->lock);
	}
	return r;
}

EMU_API CUresult cuStreamEndCapture(CUstream stream, CUgraph *ret)
{
	EMU_ENTER(EMU_CALL_EVENT);
	struct emu_stream *s;
	CUresult r = emu_stream_of(self, stream, &s);

	if (r)
		return r;
	struct emu_capture *c = s->capture, **at;

	if (!ret && (!c || c->owns_graph))
		return CUDA_ERROR_INVALID_VALUE;

	if (!c)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (c->origin != s)
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	if (c->thread != self && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	pthread_mutex_lock(&captures.lock);
	for (at = &captures.first; *at != c; at = &(*at)->next)
		;
	__atomic_store_n(at, c->next, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&captures.lock);

	if (!end_streams(c))
		r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	if (c->state == EMU_CAPTURE_INVALID)
		r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (r && c->owns_graph)
		emu_graph_free(c->graph);
	if (ret)
		*ret = r ? NULL : (CUgraph)c->graph;
	free(c);
	return r;
}

static CUstreamCaptureStatus status_of(const struct emu_stream *s)
{
	if (!s->capture)
		return CU_STREAM_CAPTURE_STATUS_NONE;
	return s->capture->state == EMU_CAPTURE_ACTIVE ? CU_STREAM_CAPTURE_STATUS_ACTIVE
						       : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

EMU_API CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *ret)
{
	EMU_ENTER(EMU_CALL_FREE);
	struct emu_stream *s;
	CUresult r = emu_stream_of(self, stream, &s);

	if (!r)
		*ret = status_of(s);
	return r;
}

EMU_API CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status,
					   cuuint64_t *id, CUgraph *graph, const CUgraphNode **deps,
					   const CUgraphEdgeData **edges, size_t *n)
{
	EMU_ENTER(EMU_CALL_FREE);
	struct emu_stream *s;
	CUresult r = emu_stream_of(self, stream, &s);

	if (r)
		return r;
	*status = status_of(s);
	if (edges)
		*edges = NULL;
	if (!s->capture)
		return CUDA_SUCCESS;
	if (id)
		*id = s->capture->id;
	if (graph)
		*graph = (CUgraph)s->capture->graph;
	if (deps)
		*deps = (const CUgraphNode *)s->fronts;
	if (n)
		*n = s->n_fronts;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *deps,
						      const CUgraphEdgeData *edges, size_t n,
						      unsigned flags)
{
	EMU_ENTER(EMU_CALL_EVENT);
	struct emu_stream *s;
	CUresult r = emu_stream_of(self, stream, &s);

	if (r)
		return r;
	if (!s->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		s->n_fronts = 0;
	return add_fronts(s, (struct emu_node *const *)deps, n) < 0 ? CUDA_ERROR_OUT_OF_MEMORY
								    : CUDA_SUCCESS;
}

EMU_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	EMU_ENTER(EMU_CALL_FREE);
	int before = self->capture_mode;

	if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	self->capture_mode = (int)*mode;
	*mode = (CUstreamCaptureMode)before;
	return CUDA_SUCCESS;
}
