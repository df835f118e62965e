/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/losses.h"

#include "tests/unit/made.h"
#include "tests/unit/test.h"

/* Counts agree in number with their nouns, lines name the processes, and bytes of a trace are
 * escaped. */
TEST(test_lost_events)
{
	static const struct {
		uint32_t rank;
		const char *key, *value;
	} facts[] = {
		{FMT_WHOLE_TRACE, "capture.calls_missing", "2000"},
		{FMT_WHOLE_TRACE, "capture.stopped", "\"\x1b[31mfull\""},
		{FMT_WHOLE_TRACE, "capture.processes_killed", "3"},
		{FMT_WHOLE_TRACE, "capture.unknown_handles", "1"},
		{0, "process_ending", "\"killed by SIGSEGV\""},
		{0, "process_in_call", "\"cuStreamSynchronize\""},
		{0, "process", "4710"},
		{0, "shared_process", "1"},
		{1, "process_ending", "\"killed by SIGSEGV\""},
		{1, "process", "4710"},
		{1, "shared_process", "1"},
		{2, "process_ending", "\"killed\""},
		{2, "process_last_call", "\"cuLaunchKernel\""},
		{2, "process", "4711"},
	};
	static const char *const expected =
		"> 3 processes killed or aborted, so their unfinished calls have no end: "
		"pid 4710 (ranks 0, 1) killed by SIGSEGV in cuStreamSynchronize, "
		"pid 4711 (rank 2) killed after cuLaunchKernel and 1 more\n"
		"> 2,000 calls begun but not recorded: \\x1b[31mfull\n"
		"> 1 handle whose creation was not recorded\n";
	scoped(text_done) struct text text = {0};
	scoped(made_removep) char *folder = made_directory();
	scoped(fmt_trace_closep) struct fmt_trace *trace = NULL;
	scoped(made_done) struct made m;

	made_init(&m, 3);
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		ck_assert_int_eq(fmt_names_fact_json(m.names, facts[i].rank, facts[i].key,
						     facts[i].value, strlen(facts[i].value)),
				 0);
	made_write(&m, made_path(folder, "t"), 3, 1, 10, 1);
	trace = made_open(made_path(folder, "t"));
	fmt_put_losses(trace, "> ", &text);
	text_char(&text, '\0');
	ck_assert_str_eq(text.data, expected);
}
