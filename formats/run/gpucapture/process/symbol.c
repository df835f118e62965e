/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/process/symbol.h"

#include "base/array.h"
#include "base/scope.h"

#define MOST_SYMBOL 16384 /* names of templates grow faster than their symbols */

#ifdef HAVE_DEMANGLER
/* From the C++ ABI (libstdc++, libc++abi). The caller frees the result; NULL: not a mangled name.
 */
char *__cxa_demangle(const char *symbol, char *room, size_t *len, int *status);
#else
static char *__cxa_demangle(const char *symbol, char *room, size_t *len, int *status)
{
	return NULL;
}
#endif

int rec_symbols_can_demangle(void)
{
	scoped(free_ptr) char *name = __cxa_demangle("_Z1fv", NULL, NULL, NULL);

	return name != NULL;
}

void rec_symbols_done(struct rec_symbols *s)
{
	free(s->names);
	*s = (struct rec_symbols){0};
}

static int read_symbol(struct fmt_names *names, fmt_str symbol, fmt_str *ret)
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

int rec_symbol_name(struct rec_symbols *s, struct fmt_names *names, fmt_str symbol, fmt_str *ret)
{
	size_t before = s->cap;
	int r = 0;

	if (array_reserve(&s->names, (size_t)symbol + 1, &s->cap) < 0)
		return -ENOMEM;
	memset(s->names + before, 0, (s->cap - before) * sizeof(*s->names));
	if (!s->names[symbol])
		r = read_symbol(names, symbol, &s->names[symbol]);
	*ret = s->names[symbol];
	return r;
}
