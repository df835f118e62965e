/* SPDX-License-Identifier: Apache-2.0 */

/* The commands of gputrace: one file cmd_<name>.c each, and a row in gputrace.c. */
#pragma once

#include "tools/cli.h"

extern const struct cli_command cmd_diff;
extern const struct cli_command cmd_export;
extern const struct cli_command cmd_extract;
extern const struct cli_command cmd_import;
extern const struct cli_command cmd_info;
extern const struct cli_command cmd_pack;
extern const struct cli_command cmd_unpack;
extern const struct cli_command cmd_verify;
