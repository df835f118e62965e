/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/what_if/model.h"

#include "replay/cost/cost.h"

#include "base/scope.h"
#include "formats/trace/value.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct model {
	struct cost_gpu from, to;
};

void model_free(struct model *m)
{
	free(m);
}

define_cleanup(model_free_ptr, struct model *, model_free);

int model_new(const struct fmt_names *names, uint32_t rank, const char *like, struct model **ret,
	      struct what_if_error *err)
{
	scoped(model_free_ptr) struct model *m = calloc(1, sizeof(*m));
	const struct fmt_device *device = fmt_device(names, rank, 0);
	const char *name = device ? fmt_string(names, device->name, NULL) : "";
	char why[600];

	if (!m)
		return -ENOMEM;
	if (cost_gpu_load(like, &m->to, why, sizeof(why)) < 0) {
		snprintf(err->why, sizeof(err->why), "invalid GPU model '%.40s': %s", like, why);
		return -EINVAL;
	}
	/* A name that is not a model's would be a file name. */
	if (strchr(name, '/') || cost_gpu_load(name, &m->from, why, sizeof(why)) < 0) {
		snprintf(err->why, sizeof(err->why),
			 "the trace was recorded on '%.80s', for which there is no model; expected "
			 "a speed such as gpu=2x",
			 name);
		return -EINVAL;
	}
	*ret = take(m);
	return 0;
}

/* A constant argument of the template: a number. */
static double number_of(const struct fmt_names *names, const struct fmt_template *t,
			const char *key)
{
	int64_t value;

	return fmt_template_const(names, t, key, &value) ? (double)value : 0;
}

/* Reads a constant argument that is a list of three numbers: [64,1,1]. */
static void list_of(const struct fmt_names *names, const struct fmt_template *t, const char *key,
		    uint32_t ret[3])
{
	int64_t value;

	if (fmt_template_const(names, t, key, &value))
		fmt_value_dims(fmt_string(names, (fmt_str)value, NULL), ret);
}

double model_factor(const struct model *m, const struct fmt_names *names, uint32_t template,
		    int64_t duration_ns, int *unknown)
{
	const struct fmt_template *t = fmt_template(names, template);
	struct cost_launch l = {.name = fmt_string(names, t->name, NULL)};
	struct cost c;

	*unknown = 0;
	if (t->kind != FMT_KERNEL)
		return m->from.memory_bytes_per_s / m->to.memory_bytes_per_s;
	list_of(names, t, "grid", l.grid);
	list_of(names, t, "block", l.block);
	l.registers = number_of(names, t, "registers per thread");
	l.shared_bytes = number_of(names, t, "shared memory");
	if (duration_ns < 1)
		duration_ns = 1;
	c = cost_on_other_gpu(&m->from, &m->to, &l, (double)duration_ns);
	*unknown = c.source == COST_UNKNOWN;
	return c.ns > 0 && c.ns < 1e15 ? c.ns / (double)duration_ns : 1;
}
