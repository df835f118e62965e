/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gputrace/damage.h"

#include "formats/trace/store/trace.h"
#include "formats/trace/store/verify.h"
#include "tools/cli.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static int add_error(void *context, const struct fmt_error *e)
{
	struct damage *d = context;

	if (d->n < DAMAGE_LINES)
		d->first[d->n] = *e;
	d->n++;
	return 0;
}

void damage_add_trace(struct damage *d, struct fmt_trace *t)
{
	fmt_trace_damage(t, add_error, d);
}

int damage_add_problem(void *context, const struct fmt_problem *p)
{
	return add_error(context, &p->error);
}

int damage_print(const struct damage *d, const char *path, const char *consequence, ...)
{
	char text[512];
	va_list args;

	for (uint64_t i = 0; i < d->n && i < DAMAGE_LINES; i++) {
		const struct fmt_error *e = &d->first[i];

		if (e->offset == FMT_NO_OFFSET)
			cli_error("%s: %s", e->file, e->what);
		else
			cli_error("%s: %s at byte %" PRIu64, e->file, e->what, e->offset);
	}
	va_start(args, consequence);
	vsnprintf(text, sizeof(text), consequence, args);
	va_end(args);
	cli_error("%s is damaged: %s; `gputrace verify %s` lists all damage", path, text, path);
	return CLI_FAILED;
}
