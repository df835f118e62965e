/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int fmt_fail(struct fmt_error *err, int code, const char *file, uint64_t offset, const char *format,
	     ...)
{
	size_t len = strlen(file);
	va_list args;

	if (!err)
		return code;
	if (len >= sizeof(err->file))
		file += len - sizeof(err->file) + 1;
	snprintf(err->file, sizeof(err->file), "%s", file);
	err->offset = offset;
	err->code = code;
	va_start(args, format);
	vsnprintf(err->what, sizeof(err->what), format, args);
	va_end(args);
	return code;
}
