/* SPDX-License-Identifier: Apache-2.0 */

/* Threads read the table of layouts without a lock, so its entries are atomics. An entry's
 * generation publishes its layout. Layouts are never freed, because a thread may still read
 * them. */
#include "capture/library/call/params.h"

#include "capture/library/call/put.h"
#include "capture/library/find/cu.h"
#include "capture/library/find/emulated.h"
#include "capture/library/find/real.h"
#include "capture/library/ring/layouts.h"
#include "capture/library/ring/ring.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define SLOTS (1u << 17)
#define MOST_USED (SLOTS / 4 * 3)
#define CHUNK_BYTES (1u << 20)
#define MAX_PARAMS 4096 /* 32 KiB of parameters at the most */
#define NO_LAYOUT UINT32_MAX
#define NUM_REGS 4 /* CU_FUNC_ATTRIBUTE_NUM_REGS */
#define SHARED_SIZE_BYTES 1
#define NO_SUCH_INDEX 1 /* CUDA_ERROR_INVALID_VALUE */
#define NOT_FOUND 500	/* CUDA_ERROR_NOT_FOUND: before CUDA 12.4 */

struct layout {
	uint32_t n; /* NO_LAYOUT: the driver does not report it */
	uint32_t bytes;
	uint16_t registers, shared_bytes; /* as in struct cap_layout_record */
	struct cap_param params[];
};

struct slot {
	uint64_t handle; /* of a function or a kernel; 0: the slot is empty */
	const struct layout *layout;
	uint32_t generation; /* the layout is valid if this is cap_layouts_generation */
	uint32_t kernel;     /* the handle is that of a kernel; protected by the lock */
};

static struct slot *slots; /* mapped at the first use; publishes the mapping */
static uint32_t n_used;
static uint8_t *chunk;
static size_t chunk_left;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *map_memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Returns the slot of a handle, or an empty one for it. */
static struct slot *find_slot(struct slot *table, uint64_t handle)
{
	uint32_t i = (uint32_t)(handle * UINT64_C(0x9e3779b97f4a7c15) >> 47);
	uint64_t there;

	for (;; i++) {
		there = __atomic_load_n(&table[i % SLOTS].handle, __ATOMIC_RELAXED);
		if (there == handle || there == 0)
			return &table[i % SLOTS];
	}
}

/* With the lock held. Concurrent readers find no layout, wait for the lock and query the driver
 * again. */
static void empty_slots(void)
{
	for (uint32_t i = 0; slots && i < SLOTS; i++) {
		__atomic_store_n(&slots[i].generation, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&slots[i].handle, 0, __ATOMIC_RELAXED);
		slots[i].kernel = 0;
	}
	n_used = 0;
}

/* With the lock held: returns the slot of the handle, added if needed; NULL if out of memory. */
static struct slot *add_slot(uint64_t handle)
{
	struct slot *s;

	if (!slots) {
		struct slot *table = map_memory(SLOTS * sizeof(*slots));

		if (!table)
			return NULL;
		__atomic_store_n(&slots, table, __ATOMIC_RELEASE);
	}
	if (n_used >= MOST_USED)
		empty_slots();
	s = find_slot(slots, handle);
	n_used += s->handle == 0;
	__atomic_store_n(&s->handle, handle, __ATOMIC_RELAXED);
	return s;
}

static void *allocate(size_t bytes)
{
	void *p;

	bytes = (bytes + 7) & ~(size_t)7;
	if (bytes > chunk_left) {
		chunk = map_memory(CHUNK_BYTES);
		chunk_left = chunk ? CHUNK_BYTES : 0;
	}
	if (bytes > chunk_left)
		return NULL;
	p = chunk;
	chunk += bytes;
	chunk_left -= bytes;
	return p;
}

typedef int param_info(uint64_t function, size_t index, size_t *offset, size_t *size);

/* Reads the parameters. Returns their number, or NO_LAYOUT: the driver does not report it. */
static uint32_t parameters_of(uint64_t handle, bool kernel, struct cap_param *ret)
{
	param_info *info = (param_info *)cap_real(CAP_DRIVER, kernel ? "cuKernelGetParamInfo"
								     : "cuFuncGetParamInfo");
	size_t offset, size;
	int r = info ? 0 : NOT_FOUND;
	uint32_t n = 0;

	while (r == 0 && n < MAX_PARAMS && (r = info(handle, n, &offset, &size)) == 0)
		ret[n++] = (struct cap_param){(uint32_t)offset, (uint32_t)size};
	return r == 0 || r == NO_SUCH_INDEX ? n : NO_LAYOUT;
}

/* An attribute of 16 bits; 0 if the driver has no value. */
static uint16_t attribute_of(uint64_t handle, bool kernel, int attribute)
{
	void *get = cap_real(CAP_DRIVER, kernel ? "cuKernelGetAttribute" : "cuFuncGetAttribute");
	int value = 0, device, r;

	if (!get || (kernel && cap_cu.cuCtxGetDevice(&device)))
		return 0;
	if (kernel)
		r = ((int (*)(int *, int, uint64_t, int))get)(&value, attribute, handle, device);
	else
		r = ((int (*)(int *, int, uint64_t))get)(&value, attribute, handle);
	return r == 0 && value > 0 && value <= UINT16_MAX ? (uint16_t)value : 0;
}

static struct layout *ask_driver(uint64_t handle, bool kernel)
{
	struct cap_param params[MAX_PARAMS];
	struct layout *l;
	uint32_t n, bytes = 0;
	uint16_t registers, shared_bytes;
	int mode;

	cap_clock_pause();
	mode = cap_cu_relax_begin(); /* the driver loads code on first use */
	n = parameters_of(handle, kernel, params);
	/* A launch accepts both kinds of handles. If the call that returned it was not seen, try
	 * the other kind. */
	if (n == NO_LAYOUT && (n = parameters_of(handle, !kernel, params)) != NO_LAYOUT)
		kernel = !kernel;
	registers = attribute_of(handle, kernel, NUM_REGS);
	shared_bytes = attribute_of(handle, kernel, SHARED_SIZE_BYTES);
	cap_cu_relax_end(mode);
	cap_clock_resume();
	l = allocate(sizeof(*l) + (n == NO_LAYOUT ? 0 : n) * sizeof(params[0]));
	if (!l)
		return NULL;
	*l = (struct layout){.n = n, .registers = registers, .shared_bytes = shared_bytes};
	for (uint32_t i = 0; n != NO_LAYOUT && i < n; i++) {
		l->params[i] = params[i];
		if (params[i].offset + params[i].size > bytes)
			bytes = params[i].offset + params[i].size;
	}
	l->bytes = bytes;
	return l;
}

/* Returns the layout of the handle; NULL: the slot has no valid one. Reads the handle after the
 * generation: the slot may have been reused for another handle in between. */
static const struct layout *valid_layout(const struct slot *s, uint64_t handle)
{
	if (__atomic_load_n(&s->generation, __ATOMIC_ACQUIRE) !=
		    __atomic_load_n(&cap_layouts_generation, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&s->handle, __ATOMIC_RELAXED) != handle)
		return NULL;
	return __atomic_load_n(&s->layout, __ATOMIC_RELAXED);
}

static const struct layout *add_layout(uint64_t handle)
{
	const struct layout *l = NULL;
	struct slot *s;

	pthread_mutex_lock(&lock);
	s = add_slot(handle);
	if (s && !(l = valid_layout(s, handle)) && (l = ask_driver(handle, s->kernel))) {
		__atomic_store_n(&s->layout, l, __ATOMIC_RELAXED);
		__atomic_store_n(&s->generation, cap_layouts_generation, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return l;
}

static const struct layout *layout_of(uint64_t handle)
{
	struct slot *table = __atomic_load_n(&slots, __ATOMIC_ACQUIRE);
	struct slot *s = table ? find_slot(table, handle) : NULL;
	const struct layout *l = s ? valid_layout(s, handle) : NULL;

	return likely(l) ? l : add_layout(handle);
}

void cap_params_register(uint64_t handle, bool is_kernel)
{
	struct slot *s;

	if (handle == 0)
		return;
	pthread_mutex_lock(&lock);
	s = add_slot(handle);
	if (s)
		s->kernel = is_kernel;
	pthread_mutex_unlock(&lock);
}

void cap_params_invalidate(void)
{
	pthread_mutex_lock(&lock);
	__atomic_store_n(&cap_layouts_generation, cap_layouts_generation + 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

static bool is_plain(const struct layout *l)
{
	uint32_t i = 0;

	while (i < l->n && (l->params[i].size == 4 || l->params[i].size == 8))
		i++;
	return i == l->n;
}

/* Writes the function's layout into the thread's ring. NULL: the driver does not report it, or the
 * record was lost. Otherwise `writing` is set: the CAP_PARAMS must follow. */
static const struct cap_layout_entry *write_layout(struct cap_thread *t, uint64_t function)
{
	uint32_t generation = __atomic_load_n(&cap_layouts_generation, __ATOMIC_RELAXED), bytes;
	int kept = errno;
	const struct layout *l = layout_of(function);
	struct cap_layout_record *r;
	struct cap_layout_entry *k;

	if (!t->layouts)
		t->layouts = cap_layouts_new();
	errno = kept;
	if (!l || l->n == NO_LAYOUT || !t->layouts)
		return NULL;
	k = &t->layouts[cap_layout_number(function)];
	bytes = (uint32_t)sizeof(*r) + l->n * (uint32_t)sizeof(r->params[0]);
	r = (void *)cap_write_begin(t, bytes);
	if (!r)
		return NULL;
	*r = (struct cap_layout_record){
		.head = {.bytes = bytes, .kind = CAP_LAYOUT, .flags = (uint8_t)(k - t->layouts)},
		.registers = l->registers,
		.shared_bytes = l->shared_bytes,
		.n = l->n,
	};
	memcpy(r->params, l->params, l->n * sizeof(r->params[0]));
	cap_write_publish(t, bytes);
	*k = (struct cap_layout_entry){
		.function = function,
		.params = l->params,
		.head = {.bytes = ((uint32_t)sizeof(struct cap_params_record) + l->bytes + 7) & ~7u,
			 .kind = CAP_PARAMS,
			 .flags = r->head.flags},
		.generation = generation,
		.n = (uint16_t)l->n,
		.is_plain = is_plain(l),
	};
	return k;
}

/* CU_LAUNCH_PARAM_BUFFER_POINTER 1, _BUFFER_SIZE 2 (the address of a size_t), _END 0. Returns NULL
 * and a length of 0 if there is no buffer, or if it exceeds the limit for kernels. */
static const void *buffer_in_extra(void **extra, size_t *ret_len)
{
	const void *buffer = NULL;

	*ret_len = 0;
	for (int i = 0; i < 8 && extra[i]; i += 2) {
		if ((uintptr_t)extra[i] == 1)
			buffer = extra[i + 1];
		else if ((uintptr_t)extra[i] == 2 && extra[i + 1])
			memcpy(ret_len, extra[i + 1], sizeof(*ret_len));
	}
	if (!buffer || *ret_len > 65536)
		*ret_len = 0;
	return *ret_len > 0 ? buffer : NULL;
}

/* Writes nothing if the buffer in `extra` does not contain every parameter. */
static void write_params(struct cap_thread *t, const struct cap_call *c, unsigned arg,
			 const struct cap_layout_entry *k, const struct cap_params *p)
{
	const struct cap_param *last = k->n > 0 ? &k->params[k->n - 1] : NULL;
	struct cap_params_record *r = NULL;
	size_t len = 0;
	const uint8_t *packed = p->params ? NULL : buffer_in_extra(p->extra, &len);

	if (p->params || !last || (size_t)last->offset + last->size <= len)
		r = (void *)cap_write_begin(t, k->head.bytes);
	else
		cap_set_writing(t, 0);
	if (!r)
		return;
	if (k->is_plain && p->params) {
		cap_params_fill_plain(r, k, arg, c->id, p->params);
		cap_write_end(t, k->head.bytes);
		return;
	}
	r->head = k->head;
	r->head.depth = (uint8_t)arg;
	r->id = c->id;
	for (uint32_t i = 0; i < k->n; i++) {
		uint32_t offset = k->params[i].offset, size = k->params[i].size;

		if (packed)
			memcpy(r->data + offset, packed + offset, size);
		else if (p->params && p->params[i])
			memcpy(r->data + offset, p->params[i], size);
		else
			memset(r->data + offset, 0, size);
	}
	cap_write_end(t, k->head.bytes);
}

void cap_params_put(const struct cap_call *c, unsigned arg, const struct cap_params *p)
{
	struct cap_thread *t = &cap_self;
	const struct cap_layout_entry *k;

	if ((p->params || p->extra) && p->function) {
		cap_set_writing(t, 1);
		k = cap_layout_find(t->layouts, p->function);
		if (!k) {
			cap_set_writing(t, 0);
			k = write_layout(t, p->function);
		}
		if (k)
			write_params(t, c, arg, k, p);
	}
}

/* Values of 64 bits in `n` bytes. */
static void each_value(const void *bytes, size_t n, void (*each)(uint64_t, void *), void *context)
{
	uint64_t value;

	for (size_t at = 0; bytes && at + sizeof(value) <= n; at += sizeof(value)) {
		memcpy(&value, (const uint8_t *)bytes + at, sizeof(value));
		each(value, context);
	}
}

struct cap_params cap_params_of_call(const struct cap_call *c, const struct api_call *call)
{
	const struct api_arg *f = api_arg_of(call, API_MEANING_FUNCTION);
	const struct api_arg *p = api_arg_of(call, API_MEANING_PARAMS);
	const struct api_arg *e = api_arg_of(call, API_MEANING_EXTRA);

	return (struct cap_params){
		.function = f ? c->words[f->word] : 0,
		.params = p ? (void **)c->words[p->word] : NULL,
		.extra = e ? (void **)c->words[e->word] : NULL,
	};
}

/* Returns the first handle that is set. */
static uint64_t function_in_struct(const struct api_view *v)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < v->layout->n_fields && value == 0; i++) {
		const struct api_field *f = &v->layout->fields[i];

		if ((f->arg.meaning == API_MEANING_FUNCTION ||
		     f->arg.meaning == API_MEANING_KERNEL) &&
		    api_field_counts(v, f))
			api_field_value(v, f, 0, &value);
	}
	return value;
}

struct cap_params cap_params_of_field(const struct api_view *v, const struct api_field *f)
{
	uint64_t params = 0, extra = 0;

	api_field_value(v, f, 0, &params);
	if (f + 1 < v->layout->fields + v->layout->n_fields &&
	    f[1].arg.length.kind == API_LENGTH_EXTRA)
		api_field_value(v, f + 1, 0, &extra);
	return (struct cap_params){function_in_struct(v), (void **)params, (void **)extra};
}

void cap_params_for_each_value(const struct cap_params *p,
			       void (*each)(uint64_t value, void *context), void *context)
{
	const struct layout *l = p->function && p->params ? layout_of(p->function) : NULL;
	const void *buffer;
	size_t len;

	for (uint32_t i = 0; l && l->n != NO_LAYOUT && i < l->n; i++)
		each_value(p->params[i], l->params[i].size, each, context);
	if (!p->params && p->extra && (buffer = buffer_in_extra(p->extra, &len)))
		each_value(buffer, len, each, context);
}
