/* SPDX-License-Identifier: Apache-2.0 */

/* NVTX ranges: the headers of NVTX 3 load the library named by $NVTX_INJECTION64_PATH and let it
 * fill their table of functions. The required parts of their binary interface are declared here.
 * Domains and registered strings are pointers to copies of their names. */
#include "capture/library/process/nvtx.h"

#include "capture/library/process/range.h"
#include "capture/library/ring/process.h"
#include "formats/raw/record.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <wchar.h>

enum { EXPORT_CALLBACKS = 1, MODULE_CORE = 1, MODULE_CORE2 = 5, MESSAGE_ASCII = 1 };
enum { MESSAGE_UNICODE = 2, MESSAGE_REGISTERED = 3, COLOR_ARGB = 1 };
#define NAME_BYTES 256

struct attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;
};

struct callbacks {
	size_t bytes;
	int (*functions)(int module, void ****ret, unsigned *ret_n);
};

/* Names are never freed: the program may use a domain until it ends. */
static struct {
	char *chunk;
	size_t left;
	uint32_t lock;
} names;

void cap_nvtx_after_fork(void)
{
	memset(&names, 0, sizeof(names));
}

static char *keep_name(const char *name)
{
	size_t n = strnlen(name, NAME_BYTES - 1) + 1;
	char *kept = NULL;

	while (__atomic_exchange_n(&names.lock, 1, __ATOMIC_ACQUIRE))
		;
	if (names.left < n) {
		void *map = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);

		names.chunk = map == MAP_FAILED ? NULL : map;
		names.left = names.chunk ? 1 << 20 : 0;
	}
	if (names.left >= n) {
		kept = names.chunk;
		names.chunk += n;
		names.left -= n;
	}
	__atomic_store_n(&names.lock, 0, __ATOMIC_RELEASE);
	if (kept) {
		memcpy(kept, name, n - 1);
		kept[n - 1] = 0;
	}
	return kept;
}

/* Converts wide characters to UTF-8. */
static const char *to_utf8(const wchar_t *from, char to[NAME_BYTES])
{
	size_t n = 0;

	for (; from && *from && n + 5 < NAME_BYTES; from++) {
		uint32_t c = (uint32_t)*from;

		if (c < 0x80) {
			to[n++] = (char)c;
			continue;
		}
		if (c >= 0x10000)
			to[n++] = (char)(0xf0 | c >> 18);
		if (c >= 0x800)
			to[n++] = (char)(c >= 0x10000 ? 0x80 | (c >> 12 & 0x3f) : 0xe0 | c >> 12);
		to[n++] = (char)(c >= 0x800 ? 0x80 | (c >> 6 & 0x3f) : 0xc0 | c >> 6);
		to[n++] = (char)(0x80 | (c & 0x3f));
	}
	to[n] = 0;
	return to;
}

static struct cap_text text_of(const char *domain, const struct attributes *a, char buf[NAME_BYTES])
{
	struct cap_text t = {.domain = domain};

	if (!a)
		return t;
	t.category = a->category;
	t.color = a->color_type == COLOR_ARGB ? a->color : 0;
	if (a->message_type == MESSAGE_ASCII || a->message_type == MESSAGE_REGISTERED)
		t.text = a->message;
	else if (a->message_type == MESSAGE_UNICODE)
		t.text = to_utf8(a->message, buf);
	return t;
}

/* The depth that NVTX returns for a push, from 0; and 1 + the depth of the range that is an
 * iteration, within which no other iteration begins. */
static __thread int depth CAP_THREAD_LOCAL;
static __thread int step_depth CAP_THREAD_LOCAL;
static uint64_t last_range;

/* Returns true and the number if the range begins an iteration. */
static bool begins_iteration(enum cap_range_kind what, const char *name, int64_t *ret)
{
	return (what == CAP_RANGE_PUSH || what == CAP_RANGE_START) && step_depth == 0 &&
	       cap_range_is_iteration(name, ret);
}

static void put_range(enum cap_range_kind what, uint64_t key, const char *domain,
		      const struct attributes *a)
{
	char buf[NAME_BYTES];
	struct cap_text t = text_of(domain, a, buf);
	int64_t number;
	int kept = errno;

	if (!begins_iteration(what, t.text, &number)) {
		cap_put_range(what, key, &t);
	} else {
		step_depth = what == CAP_RANGE_PUSH ? depth + 1 : 0;
		cap_range_begin_iteration(number, what | CAP_RANGE_STEP, key, &t);
	}
	errno = kept;
}

static void put_name(enum cap_range_kind what, uint64_t key, const char *name)
{
	put_range(what, key, NULL,
		  &(struct attributes){.message_type = MESSAGE_ASCII, .message = name});
}

static void put_wide(enum cap_range_kind what, uint64_t key, const wchar_t *name)
{
	put_range(what, key, NULL,
		  &(struct attributes){.message_type = MESSAGE_UNICODE, .message = name});
}

static uint64_t new_range(void)
{
	return __atomic_add_fetch(&last_range, 1, __ATOMIC_RELAXED);
}

static void domain_mark(const char *domain, const struct attributes *a)
{
	put_range(CAP_RANGE_MARK, 0, domain, a);
}

static uint64_t domain_start(const char *domain, const struct attributes *a)
{
	uint64_t id = new_range();

	put_range(CAP_RANGE_START, id, domain, a);
	return id;
}

static void domain_end(const char *domain, uint64_t id)
{
	put_range(CAP_RANGE_END, id, domain, NULL);
}

static int domain_push(const char *domain, const struct attributes *a)
{
	put_range(CAP_RANGE_PUSH, 0, domain, a);
	return depth++;
}

static int domain_pop(const char *domain)
{
	put_range(CAP_RANGE_POP, 0, domain, NULL);
	if (depth > 0 && step_depth == depth)
		step_depth = 0;
	return depth > 0 ? --depth : -1;
}

static void mark_ex(const struct attributes *a)
{
	domain_mark(NULL, a);
}

static void mark_a(const char *name)
{
	put_name(CAP_RANGE_MARK, 0, name);
}

static void mark_w(const wchar_t *name)
{
	put_wide(CAP_RANGE_MARK, 0, name);
}

static uint64_t start_ex(const struct attributes *a)
{
	return domain_start(NULL, a);
}

static uint64_t start_a(const char *name)
{
	uint64_t id = new_range();

	put_name(CAP_RANGE_START, id, name);
	return id;
}

static uint64_t start_w(const wchar_t *name)
{
	uint64_t id = new_range();

	put_wide(CAP_RANGE_START, id, name);
	return id;
}

static void end_range(uint64_t id)
{
	domain_end(NULL, id);
}

static int push_ex(const struct attributes *a)
{
	return domain_push(NULL, a);
}

static int push_a(const char *name)
{
	put_name(CAP_RANGE_PUSH, 0, name);
	return depth++;
}

static int push_w(const wchar_t *name)
{
	put_wide(CAP_RANGE_PUSH, 0, name);
	return depth++;
}

static int pop_range(void)
{
	return domain_pop(NULL);
}

static const char *register_a(const char *domain, const char *text)
{
	return text ? keep_name(text) : NULL;
}

static const char *register_w(const char *domain, const wchar_t *text)
{
	char buf[NAME_BYTES];

	return keep_name(to_utf8(text, buf));
}

static const char *create_a(const char *name)
{
	return name ? keep_name(name) : NULL;
}

static const char *create_w(const wchar_t *name)
{
	return register_w(NULL, name);
}

/* By NvtxCallbackIdCore and NvtxCallbackIdCore2. */
static void *const core[] = {
	[1] = (void *)mark_ex,	 [2] = (void *)mark_a,	   [3] = (void *)mark_w,
	[4] = (void *)start_ex,	 [5] = (void *)start_a,	   [6] = (void *)start_w,
	[7] = (void *)end_range, [8] = (void *)push_ex,	   [9] = (void *)push_a,
	[10] = (void *)push_w,	 [11] = (void *)pop_range,
};
static void *const core2[] = {
	[1] = (void *)domain_mark, [2] = (void *)domain_start, [3] = (void *)domain_end,
	[4] = (void *)domain_push, [5] = (void *)domain_pop,   [10] = (void *)register_a,
	[11] = (void *)register_w, [12] = (void *)create_a,    [13] = (void *)create_w,
};

static bool fill_table(const struct callbacks *c, int module, void *const *ours, unsigned n)
{
	void ***table;
	unsigned there;

	if (!c->functions(module, &table, &there))
		return false;
	for (unsigned i = 0; i < n && i < there; i++)
		if (ours[i] && table[i])
			*table[i] = ours[i];
	return true;
}

CAP_API int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t));

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t))
{
	const struct callbacks *c = export_table(EXPORT_CALLBACKS);

	if (!cap_process.session || !c || c->bytes < sizeof(*c))
		return 0;
	return fill_table(c, MODULE_CORE, core, sizeof(core) / sizeof(core[0])) &&
	       fill_table(c, MODULE_CORE2, core2, sizeof(core2) / sizeof(core2[0]));
}
