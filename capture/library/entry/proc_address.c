/* SPDX-License-Identifier: Apache-2.0 */

/* cuGetProcAddress: the driver chooses a variant of a function by name, version and the per-thread
 * flag. The returned address identifies the variant, so that the program gets the hook of that
 * variant. */
#include "base/array.h"
#include "capture/library/entry/hooks.h"
#include "capture/library/entry/unknown.h"
#include "capture/library/find/elf.h"
#include "capture/library/find/real.h"
#include "formats/api/api.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PER_THREAD 2u /* CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */

struct entry {
	uintptr_t address;
	unsigned api;
};

static struct entry entries[CAP_MAX_CALLS];
static size_t n_entries;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int by_address(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return array_order(x->address, y->address) ?: array_order(x->api, y->api);
}

static void list_calls(void)
{
	void *driver = cap_real_driver();

	for (unsigned i = 0; driver && i < api_count() && n_entries < CAP_MAX_CALLS; i++) {
		void *f = NULL;

		if (api_call(i)->library == API_LIBRARY_CUDA)
			f = cap_loader()->dlsym(driver, api_call(i)->name);
		if (f)
			entries[n_entries++] = (struct entry){(uintptr_t)f, i};
	}
	qsort(entries, n_entries, sizeof(entries[0]), by_address);
}

/* Returns true if `name` is `symbol`, or `symbol` with a suffix: cuMemAlloc_v2, cuMemcpy_ptds. */
static bool is_form_of(const char *name, const char *symbol)
{
	size_t len = strlen(symbol);

	return strncmp(name, symbol, len) == 0 && (name[len] == 0 || name[len] == '_');
}

/* Returns the call of that symbol at that address, which several names may share; -1: none. */
static int call_at(const void *f, const char *symbol)
{
	size_t low = array_bound(i, 0, n_entries, entries[i].address < (uintptr_t)f);

	for (; low < n_entries && entries[low].address == (uintptr_t)f; low++)
		if (is_form_of(api_call(entries[low].api)->name, symbol))
			return (int)entries[low].api;
	return -1;
}

/* Returns the call of that symbol and variant; -1: unknown, or the symbol has several versions. */
static int only_call(const char *symbol, bool per_thread)
{
	int found = -1, plain = -1;

	for (unsigned i = 0; i < api_count(); i++) {
		const char *name = api_call(i)->name, *form = name + strlen(symbol);
		bool ptx;

		if (api_call(i)->library != API_LIBRARY_CUDA || !is_form_of(name, symbol))
			continue;
		ptx = strcmp(form, "_ptsz") == 0 || strcmp(form, "_ptds") == 0;
		if (*form != 0 && !ptx)
			return -1;
		if (ptx && per_thread)
			found = (int)i;
		else if (!ptx)
			plain = (int)i;
	}
	return found >= 0 ? found : plain;
}

void cap_after_get_proc_address(int result, const char *symbol, void **pfn, uint64_t flags)
{
	int kept = errno, api;

	if (result != 0 || !symbol || !pfn || !*pfn || cap_is_own(*pfn))
		return;
	pthread_once(&once, list_calls);
	api = call_at(*pfn, symbol);
	/* The driver may return functions that it does not export. */
	if (api < 0)
		api = only_call(symbol, (flags & PER_THREAD) != 0);
	*pfn = api >= 0 ? cap_hooks[api] : cap_unknown_trampoline(symbol, *pfn);
	errno = kept;
}
