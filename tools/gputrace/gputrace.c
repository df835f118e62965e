/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gputrace/cmd.h"

static const struct cli_command *const commands[] = {
	&cmd_info, &cmd_import, &cmd_export,  &cmd_diff, &cmd_verify,
	&cmd_pack, &cmd_unpack, &cmd_extract, NULL,
};

int main(int argc, char **argv)
{
	return cli_main("gputrace", "Make, read, compare and check traces of GPU programs",
			commands, argc, argv);
}
