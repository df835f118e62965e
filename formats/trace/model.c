/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/model.h"

#include "base/array.h"

static const char *const kind_names[FMT_KINDS] = {
	"call", "kernel", "memcpy", "memset", "collective", "sync", "range", "mark",
};

const char *fmt_kind_name(enum fmt_kind kind)
{
	return kind < FMT_KINDS ? kind_names[kind] : NULL;
}

const char *fmt_access_name(enum fmt_access access)
{
	static const char *const names[FMT_ACCESSES] = {"read", "written", "live", "live_after"};

	return access < FMT_ACCESSES ? names[access] : NULL;
}

/* Sort key: events before all iterations, numbered iterations, events after all. */
static int order_of(int64_t number)
{
	return number == FMT_BEFORE ? -1 : number == FMT_AFTER ? 1 : 0;
}

int fmt_iteration_order(int64_t a, int64_t b)
{
	int order_a = order_of(a), order_b = order_of(b);

	return array_order(order_a, order_b) ?: array_order(a, b);
}
