/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/entry/unknown.h"

#include "capture/library/call/call.h"
#include "capture/library/ring/put.h"
#include "capture/library/ring/ring.h"
#include "formats/api/words.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define MAX_UNKNOWN 512 /* as many as unknown.S has */
#define N_WORDS 6

_Static_assert(sizeof(struct cap_call) <= 256, "space on the stack of unknown.S");
_Static_assert(MAX_UNKNOWN / 64 == sizeof(cap_self.names) / 8, "a bit for each");

static struct unknown {
	void *real;
	char name[96];
	bool captures; /* begins to capture a stream, according to its name */
} table[MAX_UNKNOWN];
static uint32_t n_unknown;
/* An entry does not change after its trampoline was given to the program. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#ifdef __x86_64__
/* From unknown.S: MAX_UNKNOWN entries of 16 bytes. */
extern const uint8_t cap_trampolines[] __attribute__((visibility("hidden")));

static void *trampoline(uint32_t number)
{
	return (void *)(uintptr_t)&cap_trampolines[16 * (size_t)number];
}
#else
static void *trampoline(uint32_t number)
{
	return table[number].real;
}
#endif

void *cap_unknown_trampoline(const char *name, void *real)
{
	void *found = real;
	uint32_t i;

	if (strlen(name) >= sizeof(table[0].name))
		return real;
	pthread_mutex_lock(&lock);
	for (i = 0; i < n_unknown; i++)
		if (table[i].real == real && strcmp(table[i].name, name) == 0)
			break;
	if (i == n_unknown && i < MAX_UNKNOWN) {
		table[i].real = real;
		strcpy(table[i].name, name);
		table[i].captures = strncmp(name, "cuStreamBegin", 13) == 0;
		n_unknown++;
	}
	if (i < MAX_UNKNOWN)
		found = trampoline(i);
	pthread_mutex_unlock(&lock);
	return found;
}

void cap_unknown_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}

/* For unknown.S. */
void *cap_unknown_real(uint32_t number);
bool cap_unknown_enter(uint32_t number, const uint64_t *words, struct cap_call *c);
void cap_unknown_leave(struct cap_call *c, uint64_t result);

/* Writes the name before the first call in a ring. */
static void put_name(struct cap_thread *t, uint32_t number)
{
	uint32_t len = (uint32_t)strlen(table[number].name);
	struct cap_text_record *r;

	if (t->names[number / 64] >> (number % 64) & 1)
		return;
	r = cap_reserve(((uint32_t)sizeof(*r) + len + 7) & ~7u, CAP_NAME);
	if (!r)
		return;
	r->number = CAP_API_UNKNOWN + number;
	r->key_len = len;
	r->value_len = r->spare = 0;
	memcpy(r->data, table[number].name, len);
	cap_publish();
	t->names[number / 64] |= UINT64_C(1) << (number % 64);
}

void *cap_unknown_real(uint32_t number)
{
	return table[number].real;
}

bool cap_unknown_enter(uint32_t number, const uint64_t *words, struct cap_call *c)
{
	int kept = errno;

	/* If the call fails, the count remains too high: then streams are queried needlessly for
	 * captures. */
	if (table[number].captures)
		__atomic_fetch_add(&cap_process.capturing, 1, __ATOMIC_SEQ_CST);

	bool on = cap_call_enter(
		c, CAP_API_UNKNOWN + number,
		CAP_TRAITS(API_CLASS_STATE, N_WORDS, CAP_TRAITS_RAW | CAP_TRAITS_ALWAYS), NULL,
		words);

	if (on)
		put_name(&cap_self, number);
	errno = kept;
	return on;
}

void cap_unknown_leave(struct cap_call *c, uint64_t result)
{
	cap_call_leave(c, (int64_t)result);
}
