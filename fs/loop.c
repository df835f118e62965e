/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/loop.h"

#include <poll.h>
#include <signal.h>

#define CROWD 4 /* requests that are there already when one has been answered */

static void help(const struct fs_call *c)
{
	const struct fs_source *source = c->request;
	void *buffer = NULL;

	while (!source->ended(source->context) && source->next(source->context, &buffer) == 1)
		;
	source->drop(buffer);
}

int fs_loop_run(const struct fs_source *source, struct fs_pool *pool)
{
	const struct fs_call call = {.answer = help, .request = (void *)source};
	struct pollfd fd = {.fd = source->fd, .events = POLLIN};
	int r = 0, in_a_row = 0;
	void *buffer = NULL;
	sigset_t all, old;

	/* Signals are unblocked only during the wait, so that none is missed. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	while (r >= 0 && !source->ended(source->context)) {
		r = source->next(source->context, &buffer);
		in_a_row = r == 1 ? in_a_row + 1 : 0;
		if (in_a_row % CROWD == CROWD - 1 && fs_pool_is_free(pool))
			fs_pool_give(pool, &call);
		if (r == 0)
			ppoll(&fd, 1, NULL, &old);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	source->drop(buffer);
	return r < 0 ? r : 0;
}
