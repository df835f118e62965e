/* SPDX-License-Identifier: Apache-2.0 */

/* What an import reports. */
#pragma once

#include "formats/run/kineto/file.h"
#include "formats/run/kineto/write.h"

/* Fills *ret from what was counted. 0 or -ENOMEM. */
int kineto_report_fill(const struct kineto_import *im, const struct fmt_run *run,
		       const struct kineto_ready *ready, struct kineto_report *ret);
