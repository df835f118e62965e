/* SPDX-License-Identifier: Apache-2.0 */

/* Runs a launch that `gputrace extract` wrote. */
#define REPRO_NO_MAIN
#include "tools/repro/repro.c"

#include "base/scope.h"
#include "formats/trace/json.h"
#include "replay/device/sandbox.h"
#include "tools/gpureplay/gpureplay.h"

bool gpureplay_is_launch(const char *path)
{
	char name[4096];
	struct stat st;

	snprintf(name, sizeof(name), "%s/launch", path);
	return stat(name, &st) == 0 && S_ISREG(st.st_mode);
}

static void put_json(const struct repro_result *r, struct text *out)
{
	struct fmt_json j = {.text = out, .broken = 1};

	fmt_json_open(&j, NULL, '{');
	fmt_json_str(&j, "kernel", r->kernel);
	if (!r->seeded)
		fmt_json_bool(&j, "same", r->different_bytes == 0);
	fmt_json_bool(&j, "inputs_recorded", !r->seeded);
	fmt_json_u64(&j, "checked_bytes", r->checked_bytes);
	fmt_json_u64(&j, "different_bytes", r->different_bytes);
	if (r->different_bytes > 0)
		fmt_json_str(&j, "first", r->why);
	fmt_json_u64(&j, "launches", r->n_times);
	if (r->n_times > 0) {
		fmt_json_double(&j, "least_us", r->min_us, 3);
		fmt_json_double(&j, "average_us", r->mean_us, 3);
	}
	fmt_json_close(&j, '}');
}

int gpureplay_launch(const struct cli_args *args, unsigned repeat)
{
	static const char *const writable[] = {"/dev", NULL};
	const char *folder = args->operands[0];
	scoped(text_done) struct text out = {0};
	struct repro_launch launch;
	struct repro_result result;
	int r = gpureplay_may_run(args, folder, folder);

	if (r != CLI_OK)
		return r;
	if (repro_open(folder, &launch, &result)) {
		r = rex_sandbox_files(writable);
		if (r == 0)
			r = rex_sandbox_calls();
		if (r < 0)
			return cli_fail(r, NULL, "confine the process for", folder, NULL);
		repro_run(folder, &launch, repeat, &result);
	}
	repro_launch_done(&launch);
	if (result.status != REPRO_SAME && result.status != REPRO_DIFFERENT) {
		cli_error("cannot run %s: %s", folder, result.why);
		return result.status;
	}
	if (!args->values[OPT_JSON]) {
		repro_print(&result, stdout);
	} else {
		put_json(&result, &out);
		fwrite(out.data, 1, out.len, stdout);
	}
	if (out.error || fflush(stdout) != 0)
		return cli_fail(-EIO, NULL, "report on", folder, NULL);
	return result.status;
}
