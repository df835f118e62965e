/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/killed.h"

#include "base/array.h"

#include <stdio.h>
#include <string.h>

/* The process as people know it: the name of its executable. */
static void name_process(const struct rec_process *p, char ret[64])
{
	const char *path = rec_fact(p, "executable");
	const char *name = path ? strrchr(path, '/') : NULL;

	if (name)
		snprintf(ret, 64, "%.*s", (int)strcspn(name + 1, "\""), name + 1);
}

int rec_list_killed(const struct rec_process_list *list, struct rec_import_report *ret)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct rec_process *p = list->all[i];
		struct rec_killed made = {.pid = p->pid,
					  .signal = p->end.signal,
					  .in_call = p->end.in_call,
					  .calls = p->counts.calls,
					  .ops = p->counts.ops};

		if (p->end.how != REC_KILLED)
			continue;
		name_process(p, made.name);
		snprintf(made.last_call, sizeof(made.last_call), "%s",
			 fmt_string(p->names, p->end.last_call, NULL));
		if (array_reserve(&ret->killed, ret->n_killed + 1, &ret->killed_cap) < 0)
			return -ENOMEM;
		ret->killed[ret->n_killed++] = made;
	}
	return 0;
}
