/* SPDX-License-Identifier: Apache-2.0 */

/* The processes that were killed or aborted, for the report of an import. One thread. */
#pragma once

#include "formats/run/gpucapture/calls/processes.h"
#include "formats/run/gpucapture/import.h"

/* Appends each to ret->killed. 0 or -ENOMEM. */
int rec_list_killed(const struct rec_process_list *list, struct rec_import_report *ret);
