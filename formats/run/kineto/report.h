/* SPDX-License-Identifier: Apache-2.0 */

/* The report of an import. */
#pragma once

#include "formats/run/kineto/file.h"
#include "formats/run/kineto/write.h"

/* Fills *ret from the counts. 0 or -ENOMEM. */
int kineto_report_fill(const struct kineto_import *im, const struct fmt_run *run,
		       struct kineto_report *ret);
