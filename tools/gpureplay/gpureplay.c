/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gpureplay/gpureplay.h"

#include "base/array.h"
#include "tools/gpureplay/worker.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct cli_option gpureplay_options[] = {
	[OPT_EMULATE] = {"emulate", 0, NULL,
			 "emulate the run without a GPU instead of executing it"},
	[OPT_WHAT_IF] = {"what-if", 0, "SPEC",
			 "predict the run with changes such as network=2x (repeatable)",
			 .list = '\n'},
	[OPT_SENSITIVITY] = {"sensitivity", 0, NULL,
			     "list how much shorter steps would be if parts were 1 % faster"},
	[OPT_ITERATIONS] = {"iterations", 0, "A-B",
			    "execute iterations A to B (A alone: one iteration), from the last "
			    "keyframe before them"},
	[OPT_RANK] = {"rank", 0, "R",
		      "execute this rank alone; received data comes from the recording"},
	[OPT_REPEAT] = {"repeat", 0, "K",
			"execute K times to find non-deterministic operations; with FOLDER: K more "
			"launches"},
	[OPT_SPEED] = {"speed", 0, "recorded|max",
		       "host time between calls: as recorded, or none (default)"},
	[OPT_CUBLAS] = {"cublas", 0, "driver|api",
			"driver (default): launch the kernels of cuBLAS; api: call cuBLAS, "
			"for another GPU model"},
	[OPT_SAME_ADDRESSES] = {"same-addresses", 0, NULL,
				"fail if memory cannot be placed at its recorded addresses"},
	[OPT_TRUST] = {"trust", 0, NULL, "run the code of a trace that belongs to another user"},
	[OPT_JSON] = {"json", 0, NULL, "print the report as JSON"},
	[OPT_OUTPUT] = {"output", 'o', "OUT",
			"write the executed, emulated or predicted run to OUT, as a trace"},
	[OPT_KEYFRAME] = {"keyframe", 0, "N",
			  "make OUT replayable, with all live memory every N iterations"},
	[OPT_FORCE] = {"force", 'f', NULL,
		       "replace OUT if it is a trace; predict even if collectives are unmatched"},
	{0},
};

int gpureplay_may_run(const struct cli_args *args, const char *file, const char *name)
{
	struct stat st;

	if (args->values[OPT_TRUST])
		return CLI_OK;
	if (stat(file, &st) < 0)
		return cli_fail(-errno, NULL, "read", name, NULL);
	if (st.st_uid == geteuid())
		return CLI_OK;
	cli_error("cannot re-execute %s: it belongs to another user, and its code would run here; "
		  "--trust runs it",
		  name);
	return CLI_INPUT;
}

/* Checks that each option applies to what is done: emulation or execution. Prints an error. */
static bool are_applicable(const struct cli_args *args)
{
	static const int emulated[] = {OPT_WHAT_IF, OPT_SENSITIVITY};
	static const int executed[] = {OPT_ITERATIONS, OPT_RANK,    OPT_REPEAT,
				       OPT_SPEED,      OPT_CUBLAS,  OPT_SAME_ADDRESSES,
				       OPT_TRUST,      OPT_KEYFRAME};
	bool emulates = args->values[OPT_EMULATE] != NULL;
	const int *other = emulates ? executed : emulated;
	size_t n = emulates ? ARRAY_SIZE(executed) : ARRAY_SIZE(emulated);

	for (size_t i = 0; i < n; i++)
		if (args->values[other[i]]) {
			cli_error("--%s: only %s --emulate", gpureplay_options[other[i]].name,
				  emulates ? "without" : "with");
			return false;
		}
	if (!args->values[OPT_KEYFRAME] || args->values[OPT_OUTPUT])
		return true;
	cli_error("--keyframe: missing -o OUT");
	return false;
}

static int run(const struct cli_args *args)
{
	int64_t repeat, keyframe, rank, first, last;

	if (cli_choice(args, gpureplay_options, OPT_SPEED, 0) < 0 ||
	    cli_choice(args, gpureplay_options, OPT_CUBLAS, 0) < 0)
		return CLI_USAGE;
	if (cli_number(args, &gpureplay_command, OPT_REPEAT, 0, 1000000000, 0, &repeat) < 0 ||
	    cli_number(args, &gpureplay_command, OPT_KEYFRAME, 1, 1000000000, 1, &keyframe) < 0 ||
	    cli_number(args, &gpureplay_command, OPT_RANK, 0, UINT32_MAX, -1, &rank) < 0 ||
	    cli_range(args, gpureplay_options, OPT_ITERATIONS, &first, &last) < 0 ||
	    !are_applicable(args))
		return CLI_USAGE;
	if (!args->values[OPT_EMULATE] && gpureplay_is_launch(args->operands[0]))
		return gpureplay_launch(args, (unsigned)repeat);
	return args->values[OPT_EMULATE] ? gpureplay_emulate(args) : gpureplay_reexecute(args);
}

const struct cli_command gpureplay_command = {
	.name = "gpureplay",
	.operands = "TRACE",
	.min_operands = 1,
	.max_operands = 1,
	.what = "Execute a recorded run again and compare the results, or emulate the run",
	.options = gpureplay_options,
	.notes = "TRACE is a trace directory, a packed file, or the root of a mount; or a folder\n"
		 "that `gputrace extract` wrote.\n"
		 "SPEC is [SCOPE:]KEY=VALUE[,...]; gpureplay(1) describes it. Keys: gpu, network,\n"
		 "network.latency, network.bandwidth, host, launch, copy, overlap, ranks.dp,\n"
		 "straggler.\n"
		 "\n"
		 "  gpureplay --emulate --what-if network=0.5x --what-if gpu=H200 run.gputrace\n",
	.run = run,
};

int main(int argc, char **argv)
{
	if (worker_is_self())
		return worker_run(argv);
	return cli_main_one(&gpureplay_command, argc, argv);
}
