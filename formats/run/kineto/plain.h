/* SPDX-License-Identifier: Apache-2.0 */

/* Reads events that are plain: as recorders write nearly all of them, with no escape in a text.
 * What yajl would take apart byte by byte is here compared with the event before. */
#pragma once

#include "formats/run/kineto/json_impl.h"

/* An event may begin at window[at]: hands on those from there that are plain, whole, and have
 * another behind them, and moves `at` and `base` behind them. White space is ' ' only, and
 * window[end] is '\0'. r->error is set where a callback failed. */
void kineto_plain_events(struct reader *r);
