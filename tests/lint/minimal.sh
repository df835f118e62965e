#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# meson configures without CUDA headers, BLIS and libfuse, and says what is left out.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
meson setup "$folder/build" "$1" -Dcuda=disabled -Dfuse=disabled >"$folder/log" 2>&1 || {
	tail -n 3 "$folder/log"
	exit 1
}
grep -q 'emulated GPUs (gpuemu) *: NO' "$folder/log"
grep -q 'mount (gputracefs) *: NO' "$folder/log"
