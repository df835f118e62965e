/* SPDX-License-Identifier: Apache-2.0 */

/* All that can be made of a trace, made: what a stranger's trace may not break. */
#pragma once

/* Every file of its mount; its report, as JSON; each GPU's timeline; itself beside itself; what
 * gpuemu takes of it. */
void look_at(const char *path);
/* The run emulated, and what came out looked at. */
void look_emulated(const char *path, const char *output);
/* Two parts joined, or one if `second` is NULL, and what came out looked at. */
void look_joined(const char *first, const char *second, const char *output);
