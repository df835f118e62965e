/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorder/symbol.h"

#include "base/scope.h"

#include <string.h>

#define MOST_SYMBOL 16384 /* names of templates grow faster than their symbols */

#ifdef HAVE_DEMANGLER
/* Of the C++ ABI (libstdc++, libc++abi): what it returns is on the heap; NULL: it is no such name.
 */
char *__cxa_demangle(const char *symbol, char *room, size_t *len, int *status);
#else
static char *__cxa_demangle(const char *symbol, char *room, size_t *len, int *status)
{
	return NULL;
}
#endif

int rec_symbols_are_read(void)
{
	scoped(free_ptr) char *name = __cxa_demangle("_Z1fv", NULL, NULL, NULL);

	return name != NULL;
}

int rec_symbol_name(struct fmt_names *names, fmt_str symbol, fmt_str *ret)
{
	scoped(free_ptr) char *name = NULL;
	size_t len;
	const char *text = fmt_string(names, symbol, &len);

	if (len < MOST_SYMBOL && strlen(text) == len && strncmp(text, "_Z", 2) == 0)
		name = __cxa_demangle(text, NULL, NULL, NULL);
	if (name)
		return fmt_names_string(names, name, strlen(name), ret);
	*ret = symbol;
	return 0;
}
