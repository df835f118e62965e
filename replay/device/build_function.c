/* SPDX-License-Identifier: Apache-2.0 */

/* Host functions that the driver calls instead of those of the recorded program. */
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

uint64_t rex_callback(void)
{
	return (uint64_t)do_nothing;
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
