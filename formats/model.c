/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/model.h"

static const char *const kind_names[FMT_KINDS] = {
	"call", "kernel", "memcpy", "memset", "collective", "sync", "range", "mark",
};

const char *fmt_kind_name(enum fmt_kind kind)
{
	return kind < FMT_KINDS ? kind_names[kind] : NULL;
}
