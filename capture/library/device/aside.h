/* SPDX-License-Identifier: Apache-2.0 */

/* Work of the library itself, which an emulated driver does not count as the program's time. */
#pragma once

/* Both may be nested; do nothing on a real driver. Any thread. */
void cap_aside_begin(void);
void cap_aside_end(void);
