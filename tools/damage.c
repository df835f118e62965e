/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/damage.h"

#include "formats/trace/store/trace.h"
#include "formats/trace/store/verify.h"
#include "tools/cli.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static int add_error(void *context, const struct fmt_error *e)
{
	struct damage *d = context;

	if (d->n++ == 0)
		d->first = *e;
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
	char text[512], offset[40] = "", more[48] = "";
	va_list args;

	va_start(args, consequence);
	vsnprintf(text, sizeof(text), consequence, args);
	va_end(args);
	if (d->n > 0 && d->first.offset != FMT_NO_OFFSET)
		snprintf(offset, sizeof(offset), " at byte %" PRIu64, d->first.offset);
	if (d->n > 1)
		snprintf(more, sizeof(more), ", and %" PRIu64 " more problem%s", d->n - 1,
			 d->n == 2 ? "" : "s");
	cli_error("%s: %s%s%s; %s; `gputrace verify %s` lists all damage",
		  d->n > 0 ? d->first.file : path, d->n > 0 ? d->first.what : "damaged", offset,
		  more, text, path);
	return CLI_FAILED;
}
