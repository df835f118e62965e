/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/name.h"
#include "base/scope.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

char *emu_name_demangle(const char *symbol)
{
	typedef char *demangler(const char *, char *, size_t *, int *);
	demangler *demangle = (demangler *)dlsym(RTLD_DEFAULT, "__cxa_demangle");
	/* Python loads the C++ library with RTLD_LOCAL, and gpureplay does not load it. */
	void *cxx = demangle ? NULL : dlopen("libstdc++.so.6", RTLD_LAZY);

	if (cxx)
		demangle = (demangler *)dlsym(cxx, "__cxa_demangle");
	int status = -1;
	char *name = demangle && strncmp(symbol, "_Z", 2) == 0
			     ? demangle(symbol, NULL, NULL, &status)
			     : NULL;

	return name ? name : strdup(symbol);
}

/* Returns the "(" that begins the parameters, or the end; *start: the name after the return
 * type. */
static char *parameters_of(char *name, char **start)
{
	static const char anonymous[] = "(anonymous namespace)";
	int depth = 0;
	char *c;

	*start = name;
	for (c = name; *c; c++) {
		depth += *c == '<' ? 1 : *c == '>' ? -1 : 0;
		if (strncmp(c, anonymous, strlen(anonymous)) == 0)
			c += strlen(anonymous) - 1;
		else if (depth == 0 && *c == ' ')
			*start = c + 1;
		else if (depth == 0 && *c == '(')
			break;
	}
	return c;
}

/* "void ns::scale<float>(float*, int)" to "ns::scale<float>". */
static char *strip_signature(char *name)
{
	char *start, *end = parameters_of(name, &start);

	*end = 0;
	return start;
}

uint64_t emu_name_inputs(const char *symbol)
{
	scoped(free_ptr) char *whole = emu_name_demangle(symbol);
	uint64_t inputs = 0;
	int depth = 0, number = 0;
	char *start;

	for (const char *c = whole ? parameters_of(whole, &start) : ""; *c && number < 64; c++) {
		depth += strchr("<({[", *c) ? 1 : strchr(">)}]", *c) ? -1 : 0;
		if (depth == 1 && *c == ',')
			number++;
		else if (depth == 1 && strncmp(c, "const*", strlen("const*")) == 0)
			inputs |= UINT64_C(1) << number;
	}
	return inputs;
}

/* Returns the size of a number, or of a vector of numbers such as float4; 0 for other types. */
static unsigned number_bytes(const char *type)
{
	static const struct {
		const char *name;
		unsigned bytes;
	} numbers[] = {{"char", 1},   {"uchar", 1}, {"bool", 1},     {"short", 2},
		       {"ushort", 2}, {"half", 2},  {"__half", 2},   {"__nv_bfloat16", 2},
		       {"int", 4},    {"uint", 4},  {"unsigned", 4}, {"float", 4},
		       {"long", 8},   {"ulong", 8}, {"longlong", 8}, {"ulonglong", 8},
		       {"double", 8}};
	size_t len;

	type += strncmp(type, "unsigned ", 9) == 0 ? 9 : strncmp(type, "signed ", 7) == 0 ? 7 : 0;
	len = strcspn(type, " *,)");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		size_t n = strlen(numbers[i].name);

		if (strncmp(type, numbers[i].name, n) != 0)
			continue;
		if (len == n)
			return numbers[i].bytes;
		if (len == n + 1 && type[n] >= '1' && type[n] <= '4')
			return numbers[i].bytes * (unsigned)(type[n] - '0');
	}
	return 0;
}

static uint8_t type_of(const char *parameter)
{
	unsigned bytes = number_bytes(parameter);
	int depth = 0;
	const char *c;

	for (c = parameter; *c && (depth > 0 || !strchr(",)", *c)); c++)
		depth += strchr("<({[", *c) ? 1 : strchr(">)}]", *c) ? -1 : 0;
	if (c > parameter && c[-1] == '*')
		return bytes ? (uint8_t)bytes : 4;
	return bytes && strncmp(parameter, "float", 5) != 0 && strncmp(parameter, "double", 6) != 0
		       ? EMU_NAME_INTEGER
		       : EMU_NAME_OTHER;
}

void emu_name_types(const char *symbol, uint8_t types[EMU_NAME_TYPES])
{
	scoped(free_ptr) char *whole = emu_name_demangle(symbol);
	int depth = 0, number = 0;
	char *start;

	memset(types, EMU_NAME_ANY, EMU_NAME_TYPES);
	for (const char *c = whole ? parameters_of(whole, &start) : "";
	     *c && number < EMU_NAME_TYPES; c++) {
		depth += strchr("<({[", *c) ? 1 : strchr(">)}]", *c) ? -1 : 0;
		if (depth == 1 && (*c == ',' || *c == '('))
			types[number++] = type_of(c + 1 + strspn(c + 1, " "));
	}
}

char *emu_name_plain(const char *symbol)
{
	scoped(free_ptr) char *whole = emu_name_demangle(symbol);

	return whole ? strdup(strip_signature(whole)) : NULL;
}

/* Returns 1 if `name` ends in `plain`, at a namespace boundary. */
static int ends_in_name(const char *name, size_t len, const char *plain)
{
	size_t n = strlen(plain);

	return n <= len && strncmp(name + len - n, plain, n) == 0 &&
	       (n == len || name[len - n - 1] == ':');
}

int emu_name_matches(const char *plain, const char *symbol)
{
	if (strcmp(plain, symbol) == 0)
		return 1;
	if (strncmp(symbol, "_Z", 2) != 0)
		return 0;

	scoped(free_ptr) char *whole = emu_name_demangle(symbol);

	if (!whole)
		return 0;
	if (strncmp(whole, "_Z", 2) == 0) {
		/* No demangler: only names without namespace or template can be compared. */
		char *end;
		unsigned long n = strtoul(symbol + 2, &end, 10);

		return n == strlen(plain) && strncmp(end, plain, n) == 0;
	}
	const char *name = strip_signature(whole);

	return ends_in_name(name, strlen(name), plain) ||
	       ends_in_name(name, strcspn(name, "<"), plain);
}
