/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "replay/emugpu/driver/code/kernel.h"
#include "replay/emugpu/driver/timing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct twin {
	const struct gpuemu_kernel *kernel;
	struct twin *next;
};

static struct {
	pthread_mutex_t lock;
	struct twin *first; /* the latest */
	unsigned generation;
} twins = {.lock = PTHREAD_MUTEX_INITIALIZER, .generation = 1};

EMU_API int gpuemu_register_kernel(const struct gpuemu_kernel *k)
{
	struct twin *t = malloc(sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->kernel = k;
	pthread_mutex_lock(&twins.lock);
	t->next = twins.first;
	twins.first = t;
	__atomic_add_fetch(&twins.generation, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&twins.lock);
	return 0;
}

char *emu_name_demangle(const char *symbol)
{
	typedef char *demangler(const char *, char *, size_t *, int *);
	demangler *demangle = (demangler *)dlsym(RTLD_DEFAULT, "__cxa_demangle");
	/* Python loads extensions, and the C++ library with them, for themselves alone. */
	void *cxx = demangle ? NULL : dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);

	if (cxx)
		demangle = (demangler *)dlsym(cxx, "__cxa_demangle");
	int status = -1;
	char *name = demangle && strncmp(symbol, "_Z", 2) == 0
			     ? demangle(symbol, NULL, NULL, &status)
			     : NULL;

	return name ? name : strdup(symbol);
}

/* "void ns::scale<float>(float*, int)" to "ns::scale<float>". */
static char *bare(char *name)
{
	static const char anonymous[] = "(anonymous namespace)";
	int depth = 0;
	char *start = name, *c;

	for (c = name; *c; c++) {
		depth += *c == '<' ? 1 : *c == '>' ? -1 : 0;
		if (strncmp(c, anonymous, strlen(anonymous)) == 0)
			c += strlen(anonymous) - 1;
		else if (depth == 0 && *c == ' ')
			start = c + 1;
		else if (depth == 0 && *c == '(')
			break;
	}
	*c = 0;
	return start;
}

char *emu_name_plain(const char *symbol)
{
	scoped(free_ptr) char *whole = emu_name_demangle(symbol);

	return whole ? strdup(bare(whole)) : NULL;
}

/* `plain` is the end of `name`, at a boundary of namespaces. */
static int ends(const char *name, size_t len, const char *plain)
{
	size_t n = strlen(plain);

	return n <= len && strncmp(name + len - n, plain, n) == 0 &&
	       (n == len || name[len - n - 1] == ':');
}

/* Whether `plain` ("saxpy", "scale<float>") means the kernel `symbol`. */
static int name_fits(const char *plain, const char *symbol)
{
	if (strcmp(plain, symbol) == 0)
		return 1;
	if (strncmp(symbol, "_Z", 2) != 0)
		return 0;

	scoped(free_ptr) char *whole = emu_name_demangle(symbol);

	if (!whole)
		return 0;
	if (strncmp(whole, "_Z", 2) == 0) {
		/* Nothing demangles here: the simple names can be read. */
		char *end;
		unsigned long n = strtoul(symbol + 2, &end, 10);

		return n == strlen(plain) && strncmp(end, plain, n) == 0;
	}
	const char *name = bare(whole);

	return ends(name, strlen(name), plain) || ends(name, strcspn(name, "<"), plain);
}

const struct gpuemu_kernel *emu_twin(struct emu_function *f)
{
	unsigned generation = __atomic_load_n(&twins.generation, __ATOMIC_ACQUIRE);
	const struct gpuemu_kernel *found = NULL;

	if (__atomic_load_n(&f->generation, __ATOMIC_ACQUIRE) == generation)
		return __atomic_load_n(&f->twin, __ATOMIC_RELAXED);
	pthread_mutex_lock(&twins.lock);
	/* Others may look at it all the time: it goes from what it was to what it is. */
	for (struct twin *t = twins.first; t && !found; t = t->next)
		if (name_fits(t->kernel->name, f->entry->name))
			found = t->kernel;
	__atomic_store_n(&f->twin, found, __ATOMIC_RELAXED);
	__atomic_store_n(&f->generation, twins.generation, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&twins.lock);
	return found;
}

void emu_kernels_load(void)
{
	const char *plugins = getenv("GPUEMU_PLUGINS"), *timing = getenv("GPUEMU_TIMING");
	scoped(free_ptr) char *list = strdup(plugins ? plugins : "");
	char *rest = list, *path;

	while (list && (path = strsep(&rest, ":")))
		if (*path && !dlopen(path, RTLD_NOW | RTLD_GLOBAL))
			fprintf(stderr, "gpuemu: cannot load the kernels of %s: %s\n", path,
				dlerror());
	if (timing && emu_timing_load(timing) < 0)
		fprintf(stderr, "gpuemu: cannot read the durations in %s\n", timing);
}
