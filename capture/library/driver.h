/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* cuInit returned `result`: the hooks start, and the facts about the machine are written. */
void cap_driver_began(int result);
