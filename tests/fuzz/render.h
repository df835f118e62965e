/* SPDX-License-Identifier: Apache-2.0 */

/* Renders a trace in every way: an arbitrary trace must not break any of them. */
#pragma once

/* Reads every file of its mount, reports it as JSON, exports each GPU, compares it with itself, and
 * reads durations as gpuemu does. */
void render_all(const char *path);
/* Emulates the run and renders the result. */
void render_emulated(const char *path, const char *output);
