/* SPDX-License-Identifier: Apache-2.0 */

/* Former names of formats/run/collectives/order.h, for callers that still use them. */
#pragma once

#include "formats/run/collectives/order.h"

#define fmt_meeting_op fmt_collective_op
#define fmt_party fmt_participant
#define fmt_meetings_find fmt_collectives_by_order
#define fmt_meetings_follow fmt_collectives_by_order_more
#define fmt_meetings_name fmt_collectives_name
#define fmt_parties_put fmt_participants_put
