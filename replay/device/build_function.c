/* SPDX-License-Identifier: Apache-2.0 */

/* Functions of the host, which the driver calls in place of those of the recorded program. */
#include "replay/device/build.h"

#include <time.h>

#define MOST_WAIT_NS UINT64_C(60000000000) /* for one host function; recordings may be damaged */

static void do_nothing(void)
{
}

static void wait_ns(void *ns)
{
	const uint64_t given = (uintptr_t)ns, left = given < MOST_WAIT_NS ? given : MOST_WAIT_NS;
	const struct timespec time = {left / 1000000000, left % 1000000000};

	nanosleep(&time, NULL);
}

static void wait_ns_callback(void *stream, int status, void *ns)
{
	wait_ns(ns);
}

/* In a graph, whose launches each take another time: the functions of a process take the recorded
 * times in the order in which they start. */
static const struct rex_process *process; /* of this worker; set before graphs have functions */
static size_t started;			  /* atomic */

static void wait_in_graph(void *unused)
{
	const struct rex_process *p = __atomic_load_n(&process, __ATOMIC_ACQUIRE);
	size_t i = __atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);

	if (i < p->n_functions && p->functions[i].duration_ns > 0)
		wait_ns((void *)(uintptr_t)p->functions[i].duration_ns);
}

uint64_t rex_callback(const struct rex_frame *b)
{
	if (b->call->api->class != API_CLASS_HOST_CALL &&
	    strncmp(b->call->api->name, "cuGraph", 7) != 0)
		return (uint64_t)do_nothing;
	__atomic_store_n(&process, b->context->process, __ATOMIC_RELEASE);
	return (uint64_t)wait_in_graph;
}

void rex_build_host_function(struct rex_frame *b)
{
	const struct api_arg *a = api_arg_of(b->call->api, API_MEANING_CALLBACK);
	const struct rex_op *op = rex_find_op(b->context->process, b->call->correlation);
	bool is_callback = strncmp(b->call->api->name, "cuStreamAddCallback", 19) == 0;

	if (!op) /* captured */
		return;
	b->words[a->word] = is_callback ? (uint64_t)wait_ns_callback : (uint64_t)wait_ns;
	b->words[a->word + 1] = op->duration_ns > 0 ? (uint64_t)op->duration_ns : 0;
}
