/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/refuse.h"

#include "replay/emugpu/notes.h"

__thread int emu_per_thread;

void emu_refuse_call(const struct emu_refusals *r, unsigned number)
{
	uint64_t *counter = __atomic_load_n(&r->counters[number], __ATOMIC_ACQUIRE);

	if (!counter) {
		counter = emu_note(EMU_NOTE_REFUSED, r->library, r->names[number]);
		__atomic_store_n(&r->counters[number], counter, __ATOMIC_RELEASE);
	}
	emu_note_count(counter);
}

void emu_refuse_use(const char *library, const char *use)
{
	emu_note_count(emu_note(EMU_NOTE_REFUSED, library, use));
}
