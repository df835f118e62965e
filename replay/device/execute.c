/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/execute.h"

#include "base/host.h"
#include "formats/trace/wrap.h"
#include "replay/device/build.h"
#include "replay/device/call_order.h"
#include "replay/device/functions.h"
#include "replay/device/keyframe.h"
#include "replay/device/nccl.h"
#include "replay/device/placement.h"
#include "replay/device/progress.h"
#include "replay/device/regions.h"
#include "replay/device/single_rank.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define INVALID_DEVICE 101 /* CUDA_ERROR_INVALID_DEVICE */
#define NOT_READY 600	   /* CUDA_ERROR_NOT_READY */
#define POLL_NS 20000L
#define OLD_ADDRESSES "; memory contains recorded addresses of memory that has moved"

struct run {
	struct rex_context context;
	const struct rex_process *process;
	struct rex_call_order *turns;
	struct rex_single_rank *alone; /* NULL: with all other ranks */
	struct rex_progress progress;
	bool before;	/* in phase 1: calls before the window */
	size_t arrived; /* number of threads that have finished their calls before the window */
	pthread_cond_t filled;
	uint32_t marking; /* the thread that marks iterations: the one with most calls */
	pthread_mutex_t lock;
	int error; /* the first */
	struct rex_result *result;
};

struct thread {
	struct run *run;
	uint32_t index;
	uint64_t made;
	size_t iteration;	     /* the next to be marked */
	const struct rex_call *last; /* made by the thread */
	int64_t returned_ns;	     /* when it returned here */
	pthread_t id;
};

static void fail(struct run *run, const struct rex_call *c, int error, const char *why)
{
	pthread_mutex_lock(&run->lock);
	if (!run->error) {
		run->error = error;
		snprintf(run->result->why, sizeof(run->result->why), "%s%s%s",
			 c ? c->api->name : "", c ? ": " : "", why);
	}
	pthread_cond_broadcast(&run->filled);
	pthread_mutex_unlock(&run->lock);
	rex_call_order_abort(run->turns);
}

/* ---- selecting calls */

static bool returns_objects(const struct api_call *call)
{
	for (unsigned i = 0; i < call->n_args; i++)
		if (call->args[i].direction == API_DIRECTION_OUT &&
		    api_is_handle((enum api_meaning)call->args[i].meaning))
			return true;
	return false;
}

/* Returns true if the call queries a stream or event. After a positive answer the program continued
 * without waiting. */
static bool polls(const struct api_call *call)
{
	return call->class == API_CLASS_EVENT_QUERY || call->class == API_CLASS_STREAM_QUERY;
}

/* Returns true if a failed call ended a capture that an earlier call, which is not executed, had
 * invalidated. */
static bool ends_capture(const struct rex_call *c)
{
	return c->api->class == API_CLASS_CAPTURE_END && api_capture_is_over((int)c->result);
}

/* Returns true if the call is executed. Queries are executed only if they return objects, because
 * other queries change no state. */
static bool is_made(const struct rex_call *c)
{
	static const char *const others[] = {
		"cuGetExportTable", "cuGetProcAddress", "cuPointerSetAttribute", "cuCheckpoint",
		"cuCoredump",	    "cuLogs",		"cuThreadExchange"};

	if (c->skipped || (!api_succeeded(c->api, c->result) && !ends_capture(c)))
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strncmp(c->api->name, others[i], strlen(others[i])) == 0)
			return false;
	switch ((enum api_class)c->api->class) {
	case API_CLASS_QUERY:
		return returns_objects(c->api);
	case API_CLASS_PROFILE:
		return false;
	default:
		return true;
	}
}

/* ---- one call */

/* Returns the name of the function to call: images come from memory instead of files. */
static const char *name_of(const struct rex_call *c)
{
	if (strcmp(c->api->name, "cuModuleLoad") == 0 ||
	    strcmp(c->api->name, "cuModuleLoadFatBinary") == 0)
		return "cuModuleLoadData";
	if (strcmp(c->api->name, "cuLibraryLoadFromFile") == 0)
		return "cuLibraryLoadData";
	return c->api->name;
}

static int load_image_instead(struct rex_frame *b)
{
	int r;

	if (strcmp(b->call->api->name, "cuModuleLoad") != 0 &&
	    strcmp(b->call->api->name, "cuLibraryLoadFromFile") != 0)
		return 0;
	r = rex_build_image(b, &b->behind[1], &b->bytes[1]);
	b->words[b->call->api->args[1].word] = (uint64_t)b->behind[1];
	return r;
}

/* Announces the recorded address of the memory that the call allocates. */
static void announce(const struct rex_call *c)
{
	char key[REX_KEY_BYTES];
	int64_t address = 0, pitch = 0;
	uint64_t of_node, bytes;

	rex_placement_set_next(NULL, 0, 0);
	if (rex_regions_alloc_node(c, &of_node, &bytes))
		rex_placement_set_next(c->api->name, of_node, 0);
	if (c->api->class != API_CLASS_ALLOC && c->api->class != API_CLASS_RESERVE)
		return;
	if (strncmp(c->api->name, "cuMem", 5) != 0 || rex_regions_is_shared(c))
		return;
	rex_args_int(&c->args, rex_key(key, c->api->args[0].name, "out"), NULL, &address);
	rex_args_int(&c->args, "pPitch.out", NULL, &pitch);
	rex_placement_set_next(c->api->name, (uint64_t)address, (uint64_t)pitch);
}

/* Lets cuBLASLt choose the algorithm, if one was given: it is valid for some GPUs and versions of
 * the library only. */
static bool choose_algorithm(struct rex_frame *b)
{
	const struct api_call *call = b->call->api;
	bool is_given = false;

	if (call->library != API_LIBRARY_CUBLASLT || call->class != API_CLASS_GEMM)
		return false;
	for (unsigned i = 0; i < call->n_args; i++) {
		uint64_t *word = &b->words[call->args[i].word];

		if (strcmp(call->args[i].name, "algo") != 0)
			continue;
		is_given = *word != 0;
		*word = 0;
	}
	return is_given;
}

/* Makes the call; repeats a query until its answer is the recorded one. */
static int64_t invoke(void *function, struct rex_frame *b)
{
	const struct timespec nap = {0, POLL_NS};
	int64_t result = (int64_t)rex_invoke(function, b->call->api, b->words);

	if ((int32_t)result != 0 && choose_algorithm(b))
		result = (int64_t)rex_invoke(function, b->call->api, b->words);
	while (polls(b->call->api) && (int32_t)result == NOT_READY) {
		nanosleep(&nap, NULL);
		result = (int64_t)rex_invoke(function, b->call->api, b->words);
	}
	return result;
}

static int check_result(struct rex_frame *b, int64_t result)
{
	const struct api_call *call = b->call->api;
	struct rex_counts counts = {0};

	if (call->result.meaning != API_MEANING_STATUS)
		return 0;
	if (call->library == API_LIBRARY_NCCL)
		result = rex_nccl_complete(b, result);
	if ((int32_t)result == 0 || ends_capture(b->call))
		return 0;
	if (rex_placement_refused())
		return rex_frame_fail(b, -ENODEV,
				      "the driver does not place memory at its recorded "
				      "address 0x%llx; omit --same-addresses",
				      (unsigned long long)rex_placement_refused());
	if (strcmp(name_of(b->call), "cuInit") == 0)
		return rex_frame_fail(b, -ENODEV, "%s (%d); is there a GPU?",
				      rex_error_name((int32_t)result), (int32_t)result);
	if (call->library == API_LIBRARY_CUDA && (int32_t)result == INVALID_DEVICE)
		return rex_frame_fail(b, -ENODEV,
				      "the recording used more GPUs than there are; with --rank, "
				      "one is enough");
	rex_placement_count(&counts);
	return rex_frame_fail(b, -EIO, "returned %d; it succeeded in the recording%s",
			      (int32_t)result, counts.old_addresses > 0 ? OLD_ADDRESSES : "");
}

/* Replaces a call that needs other ranks. Returns 1. */
static int replace_call(struct run *run, const struct rex_call *c)
{
	struct rex_frame b = {.context = &run->context, .call = c};
	int r = rex_single_rank_call(run->alone, &b);

	if (r < 0)
		fail(run, c, r, b.why[0] ? b.why : strerror(-r));
	return r < 0 ? r : 1;
}

/* Executes or replaces a call. Returns 0; 1 if it was replaced; or a negative errno. */
static int make_call(struct run *run, const struct rex_call *c)
{
	if (run->alone && rex_single_rank_replaces(c))
		return replace_call(run, c);

	struct rex_frame b;
	void *function = rex_function(name_of(c), (enum api_library)c->api->library);
	int r = rex_build(&run->context, c, &b);

	if (r == 0 && !function)
		r = rex_frame_fail(&b, -ENODEV, "no loaded library has this function");
	if (r == 0)
		r = load_image_instead(&b);
	if (r == 0 &&
	    (c->api->class == API_CLASS_LAUNCH || c->api->class == API_CLASS_GRAPH_LAUNCH))
		r = rex_build_host_inputs(&b);
	if (r == 0) {
		announce(c);
		r = check_result(&b, invoke(function, &b));
	}
	if (r == 0)
		r = rex_frame_results(&b);
	if (r < 0)
		fail(run, c, r, b.why[0] ? b.why : strerror(-r));
	rex_frame_done(&b);
	return r;
}

/* ---- threads */

static void mark_iterations(struct thread *t, const struct rex_call *c)
{
	const struct rex_process *p = t->run->process;

	if (t->index != t->run->marking)
		return;
	for (; t->iteration < p->n_iterations && !c->before &&
	       p->iterations[t->iteration].start_ns <= c->start_ns;
	     t->iteration++)
		rex_mark_iteration(p->iterations[t->iteration].number);
}

static enum rex_call_kind kind_of(const struct rex_call *c)
{
	if (c->api->library == API_LIBRARY_NCCL || c->api->class == API_CLASS_GRAPH_LAUNCH)
		return c->api->class == API_CLASS_DESTROY ? REX_CALL_DESTROY : REX_CALL_NCCL;
	switch ((enum api_class)c->api->class) {
	case API_CLASS_SYNC:
	case API_CLASS_EVENT_QUERY:
	case API_CLASS_STREAM_QUERY:
	case API_CLASS_COPY:
	case API_CLASS_FREE:
	case API_CLASS_DESTROY:
		return REX_CALL_BLOCKING;
	default:
		return REX_CALL_INDEPENDENT;
	}
}

static void announce_turn(const struct thread *t, size_t i)
{
	const struct rex_process *p = t->run->process;
	struct rex_ordered_call turn;

	if (i < p->n_calls)
		turn = (struct rex_ordered_call){(uint32_t)i, p->calls[i].after,
						 kind_of(&p->calls[i])};
	rex_call_order_set_next(t->run->turns, t->index, i < p->n_calls ? &turn : NULL);
}

/* Returns the thread's next call to execute, from this one. */
static size_t next_call(const struct thread *t, size_t at)
{
	const struct rex_process *p = t->run->process;

	while (at < p->n_calls &&
	       (p->calls[at].before != t->run->before || !is_made(&p->calls[at])))
		at = p->calls[at].next;
	return at;
}

static size_t first_call(const struct thread *t)
{
	return next_call(t, t->run->process->firsts[t->index]);
}

/* Waits for the recorded time between the end of the thread's last call and this one. */
static void keep_gap(const struct thread *t, const struct rex_call *c)
{
	int64_t gap_ns = t->last ? fmt_sub(c->start_ns, t->last->end_ns) : 0;
	struct timespec left;

	gap_ns = fmt_sub(gap_ns, host_clock_ns(CLOCK_MONOTONIC) - t->returned_ns);
	if (!t->last || gap_ns <= 0)
		return;
	left = (struct timespec){gap_ns / 1000000000, gap_ns % 1000000000};
	nanosleep(&left, NULL);
}

static void make_calls(struct thread *t)
{
	bool keeps_gaps = rex_share_settings(t->run->context.share)->keeps_gaps && !t->run->before;
	const struct rex_process *p = t->run->process;
	size_t i = first_call(t);
	int r;

	for (; i < p->n_calls; i = next_call(t, p->calls[i].next)) {
		const struct rex_call *c = &p->calls[i];

		announce_turn(t, i);
		rex_progress_publish(&t->run->progress, rex_call_order_first(t->run->turns));
		if (keeps_gaps)
			keep_gap(t, c);
		if (!rex_call_order_wait(t->run->turns, t->index))
			break;
		rex_progress_wait(&t->run->progress, c->began, &t->run->error);
		mark_iterations(t, c);
		r = make_call(t->run, c);
		if (r < 0)
			break;
		t->made += r == 0;
		t->last = c;
		t->returned_ns = host_clock_ns(CLOCK_MONOTONIC);
	}
	rex_call_order_set_next(t->run->turns, t->index, NULL);
	rex_progress_publish(&t->run->progress, rex_call_order_first(t->run->turns));
}

/* Waits until all threads have made the calls before the window. The last thread restores the
 * memory, unless a thread failed: allocations may be missing then. */
static void enter_window(struct thread *t)
{
	struct run *run = t->run;
	bool is_last, failed;
	int r;

	pthread_mutex_lock(&run->lock);
	is_last = ++run->arrived == run->process->n_threads;
	while (!is_last && run->before && !run->error)
		pthread_cond_wait(&run->filled, &run->lock);
	failed = run->error != 0;
	pthread_mutex_unlock(&run->lock);
	if (!is_last || failed)
		return;
	r = rex_keyframe_restore(run->process, &run->context.allocations, run->context.objects,
				 &run->result->counts.missing_bytes);
	if (r < 0)
		fail(run, NULL, r, "cannot fill the memory from the keyframe");
	pthread_mutex_lock(&run->lock);
	run->before = false;
	for (uint32_t i = 0; i < run->process->n_threads; i++) {
		const struct thread other = {.run = run, .index = i};

		announce_turn(&other, first_call(&other));
	}
	pthread_cond_broadcast(&run->filled);
	pthread_mutex_unlock(&run->lock);
}

static void *run_thread(void *arg)
{
	struct thread *t = arg;

	make_calls(t);
	enter_window(t);
	make_calls(t);
	rex_nccl_done();
	return NULL;
}

static uint32_t busiest_thread(const struct rex_process *p)
{
	uint32_t best = 0;
	size_t most = 0;

	for (uint32_t k = 0; k < p->n_threads; k++) {
		size_t n = 0;

		for (size_t i = p->firsts[k]; i < p->n_calls; i = p->calls[i].next)
			n++;
		if (n > most) {
			most = n;
			best = k;
		}
	}
	return best;
}

static int run_threads(struct run *run)
{
	size_t n = run->process->n_threads;
	scoped(free_ptr) struct thread *threads = calloc(n + 1, sizeof(*threads));
	size_t started = 0;

	if (!threads)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		threads[i] = (struct thread){.run = run, .index = (uint32_t)i};
		announce_turn(&threads[i], first_call(&threads[i]));
	}
	while (started < n &&
	       !pthread_create(&threads[started].id, NULL, run_thread, &threads[started]))
		started++;
	if (started < n)
		fail(run, NULL, -EAGAIN, "cannot start a thread");
	for (size_t i = 0; i < started; i++) {
		pthread_join(threads[i].id, NULL);
		run->result->counts.made += threads[i].made;
	}
	return run->error;
}

int rex_prepare(const struct rex_process *p, const struct rex_options *how, struct rex_result *ret)
{
	uint64_t taken = 0;
	int r = rex_regions_find(p);

	if (r == -EEXIST) {
		snprintf(ret->why, sizeof(ret->why), "GPUs have memory within the same 2 MiB");
		return -ENOTSUP;
	}
	if (r == 0)
		r = rex_regions_reserve(!rex_share_settings(how->share)->same_addresses,
					how->can_retry, &taken);
	if (r == -EEXIST)
		snprintf(ret->why, sizeof(ret->why), "address 0x%llx is in use here",
			 (unsigned long long)taken);
	else if (r < 0)
		snprintf(ret->why, sizeof(ret->why), "cannot reserve address 0x%llx: %s",
			 (unsigned long long)taken, strerror(-r));
	return r;
}

int rex_execute(const struct rex_process *p, const struct rex_options *how, struct rex_result *ret)
{
	struct run run = {
		.context = {.process = p, .share = how->share, .seed = how->seed},
		.process = p,
		.before = true,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.filled = PTHREAD_COND_INITIALIZER,
		.result = ret,
	};
	int r = rex_objects_new(&run.context.objects)
			?: rex_allocations_read(p, &run.context.allocations)
			?: rex_call_order_new((uint32_t)p->n_threads, &run.turns);

	if (r == 0)
		r = rex_regions_note(run.context.objects);
	if (r == 0 && p->is_alone)
		r = rex_single_rank_new(p, rex_share_settings(how->share)->checks_inputs,
					&run.alone);
	if (r == 0) {
		rex_functions_open();
		run.marking = busiest_thread(p);
		rex_announce_values(p, how->share);
		r = rex_progress_begin(&run.progress, how->share, p);
	}
	if (r == 0) {
		r = run_threads(&run);
		rex_progress_end(&run.progress, &run.error);
		ret->counts.seeded = run.context.seeded;
		rex_placement_count(&ret->counts);
		if (run.alone)
			rex_single_rank_count(run.alone, &ret->counts);
	}
	rex_single_rank_free(run.alone);
	rex_call_order_free(run.turns);
	rex_allocations_done(&run.context.allocations);
	return r; /* objects stay: copies in flight may use the memory */
}
