/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/missing.h"

#include "base/scope.h"
#include "replay/emugpu/driver/code/kernel.h"
#include "replay/emugpu/driver/memory.h"
#include "replay/emugpu/driver/name.h"
#include "replay/emugpu/notes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A kernel of which launches computed nothing; lives as long as the process. The counters are
 * created by the first use. */
struct emu_missing {
	char *name;
	uint64_t *launches, *skipped, *reads;
	uint64_t inputs; /* emu_name_inputs() */
};

/* The last writer of an address: a kernel without a host kernel, which should have written it, or
 * `written` for all others. in_doubt: the address was written before the kernel, which may only
 * have read it. */
struct writer {
	struct emu_missing *kernel; /* NULL: unknown */
	int in_doubt;
};

static struct emu_missing written;

/* `writer` contains both members of struct writer, in_doubt in the lowest bit. A race between
 * threads loses an entry. */
static struct slot {
	uintptr_t at, writer;
} slots[16384];

static uint64_t launches; /* of kernels without a host kernel, in this process */
static const struct emu_missing *last_launched;

static struct {
	const struct emu_missing *kernel;
	size_t bytes;
} last_read[2]; /* [1]: in doubt */

/* Allocations and PyTorch tensors begin at multiples of this. */
#define ALIGN 512

static struct slot *slot_of(uintptr_t at)
{
	return &slots[(at * 0x9e3779b97f4a7c15u) >> 50];
}

static struct writer writer_of(uintptr_t at)
{
	struct slot *s = slot_of(at);
	uintptr_t w = 0;

	if (__atomic_load_n(&s->at, __ATOMIC_ACQUIRE) == at)
		w = __atomic_load_n(&s->writer, __ATOMIC_RELAXED);
	return (struct writer){(struct emu_missing *)(w & ~(uintptr_t)1), w & 1};
}

static void set_writer(uintptr_t at, struct writer w)
{
	struct slot *s = slot_of(at);

	__atomic_store_n(&s->at, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&s->writer, (uintptr_t)w.kernel | (w.in_doubt != 0), __ATOMIC_RELEASE);
	__atomic_store_n(&s->at, at, __ATOMIC_RELEASE);
}

/* Returns 1 if a value in a parameter may be an address. */
static int is_address(uint64_t value)
{
	return value >= 1 << 20 && value < UINT64_C(1) << 48;
}

/* Sets `kernel` as the writer of all addresses in the parameters. */
static void set_writer_of_parameters(const struct emu_op *op, struct emu_missing *kernel)
{
	const struct emu_entry *e = op->kernel.function->entry;

	for (int i = 0; op->kernel.args && i < e->n_params; i++) {
		for (uint32_t at = 0; at + 8 <= e->params[i].bytes; at += 8) {
			uint64_t value;
			struct writer before, w = {kernel, 0};

			memcpy(&value, (const uint8_t *)op->kernel.args[i] + at, sizeof(value));
			if (!is_address(value))
				continue;
			before = writer_of(value);
			w.in_doubt = kernel != &written &&
				     (before.kernel == &written || before.in_doubt);
			set_writer(value, w);
		}
	}
}

static struct emu_missing *missing_new(const struct emu_function *f)
{
	struct emu_missing *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->name = emu_name_plain(f->entry->name);
	if (!m->name) {
		free(m);
		return NULL;
	}
	m->inputs = emu_name_inputs(f->entry->name);
	return m;
}

static struct emu_missing *missing_of(struct emu_function *f)
{
	struct emu_missing *m = __atomic_load_n(&f->missing, __ATOMIC_ACQUIRE), *none = NULL;

	if (m)
		return m;
	m = missing_new(f);
	if (!m || __atomic_compare_exchange_n(&f->missing, &none, m, 0, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE))
		return m;
	free(m->name);
	free(m);
	return none;
}

/* ---- poison ---- */

/* Returns 1 if $GPUEMU_POISON is set: kernels without a host kernel fill their outputs with NaN. */
static int is_poisoning(void)
{
	static int known; /* 1: no, 2: yes */

	if (!__atomic_load_n(&known, __ATOMIC_RELAXED))
		__atomic_store_n(&known, getenv("GPUEMU_POISON") ? 2 : 1, __ATOMIC_RELAXED);
	return __atomic_load_n(&known, __ATOMIC_RELAXED) == 2;
}

/* Returns the number of bytes that a kernel may write at `at`: 16 for each thread, but not beyond
 * the allocation, nor beyond the next multiple of ALIGN used by a parameter, copy or fill, at which
 * another tensor of PyTorch begins. 0 for host memory. */
static size_t output_bytes(const struct emu_kernel_op *k, uintptr_t at)
{
	struct emu_region r = emu_region_find(at);
	size_t blocks = (size_t)k->grid[0] * k->grid[1] * k->grid[2];
	size_t most = 16 * blocks * k->block[0] * k->block[1] * k->block[2];
	size_t bytes = ALIGN - at % ALIGN;

	if (!r.device && r.kind != EMU_MANAGED)
		return 0;
	if (most > r.base + r.bytes - at)
		most = r.base + r.bytes - at;
	while (bytes < most &&
	       __atomic_load_n(&slot_of(at + bytes)->at, __ATOMIC_RELAXED) != at + bytes)
		bytes += ALIGN;
	return bytes < most ? bytes : most;
}

/* Fills the memory at the first address in each parameter that is not a pointer to const. */
static void poison_outputs(const struct emu_op *op, const struct emu_missing *m)
{
	const struct emu_entry *e = op->kernel.function->entry;

	for (int i = 0; op->kernel.args && i < e->n_params; i++) {
		size_t bytes = 0;

		if (i < 64 && m->inputs >> i & 1)
			continue;
		for (uint32_t at = 0; !bytes && at + 8 <= e->params[i].bytes; at += 8) {
			uint64_t value;

			memcpy(&value, (const uint8_t *)op->kernel.args[i] + at, sizeof(value));
			bytes = is_address(value) ? output_bytes(&op->kernel, value) : 0;
			if (bytes)
				memset((void *)value, 0xff, bytes);
		}
	}
}

/* Increments the counter `*at` of the kernel. */
static void increment_note(const struct emu_missing *m, uint64_t **at, enum emu_note_kind kind)
{
	uint64_t *counter = __atomic_load_n(at, __ATOMIC_ACQUIRE);

	if (!counter) {
		counter = emu_note(kind, "libcuda.so.1", m->name);
		__atomic_store_n(at, counter, __ATOMIC_RELEASE);
	}
	emu_note_count(counter);
}

void emu_missing_launched(const struct emu_op *op, int skipped)
{
	struct emu_missing *m = missing_of(op->kernel.function);

	if (!m)
		return;
	if (skipped)
		increment_note(m, &m->skipped, EMU_NOTE_SKIPPED);
	else
		increment_note(m, &m->launches, EMU_NOTE_NO_KERNEL);
	__atomic_fetch_add(&launches, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&last_launched, m, __ATOMIC_RELEASE);
	set_writer_of_parameters(op, m);
	if (is_poisoning())
		poison_outputs(op, m);
}

void emu_missing_computed(const struct emu_op *op)
{
	if (__atomic_load_n(&launches, __ATOMIC_RELAXED) || is_poisoning())
		set_writer_of_parameters(op, &written);
}

static void note_read(struct writer w, size_t bytes)
{
	struct emu_missing *m = w.kernel;

	if (!w.in_doubt)
		increment_note(m, &m->reads, EMU_NOTE_READ);
	__atomic_store_n(&last_read[w.in_doubt].bytes, bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&last_read[w.in_doubt].kernel, m, __ATOMIC_RELEASE);
}

void emu_missing_copied(const void *to, const void *from, size_t bytes, int to_host)
{
	struct writer w = writer_of((uintptr_t)from);

	if (!w.kernel && to_host)
		w = writer_of((uintptr_t)from & ~(uintptr_t)(ALIGN - 1));
	if (!w.kernel)
		w.kernel = &written;
	if (!to_host)
		set_writer((uintptr_t)to, w);
	else if (w.kernel != &written)
		note_read(w, bytes);
}

void emu_missing_filled(const void *to)
{
	if (writer_of((uintptr_t)to).kernel || is_poisoning())
		set_writer((uintptr_t)to, (struct writer){0});
}

int emu_missing_wrote(const void *at)
{
	const struct emu_missing *m = writer_of((uintptr_t)at).kernel;

	return m && m != &written;
}

static int explain_read(char *text, size_t size, int in_doubt)
{
	const struct emu_missing *m =
		__atomic_load_n(&last_read[in_doubt].kernel, __ATOMIC_ACQUIRE);
	int len = m ? (int)strcspn(m->name, "<") : 0;

	if (!m)
		return 0;
	return snprintf(
		text, size,
		"this process read %zu bytes that %.*s%s %s, which %s and computed nothing",
		__atomic_load_n(&last_read[in_doubt].bytes, __ATOMIC_RELAXED), len, m->name,
		m->name[len] ? "<...>" : "",
		in_doubt ? "may have been meant to write" : "should have written",
		__atomic_load_n(&m->skipped, __ATOMIC_RELAXED)
			? "its host kernel skipped (GPUEMU_COMPUTE=all removes limits of size)"
			: "has no host kernel");
}

static int explain_launches(char *text, size_t size)
{
	const struct emu_missing *m = __atomic_load_n(&last_launched, __ATOMIC_ACQUIRE);
	int len = m ? (int)strcspn(m->name, "<") : 0;

	if (!m)
		return 0;
	return snprintf(text, size,
			"launches in this process that computed nothing on the host: "
			"%" PRIu64 ", the last of %.*s%s",
			__atomic_load_n(&launches, __ATOMIC_RELAXED), len, m->name,
			m->name[len] ? "<...>" : "");
}

size_t emu_missing_explain(char *text, size_t size)
{
	int n = explain_read(text, size, 0);

	n = n > 0 ? n : explain_read(text, size, 1);
	n = n > 0 ? n : explain_launches(text, size);
	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}
