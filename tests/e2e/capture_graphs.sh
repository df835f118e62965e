# SPDX-License-Identifier: Apache-2.0
# Recording does not disturb the capture of a graph, and operations on other streams have times.
. "$(dirname "$0")/lib.sh"
need_capture
graphs=$programs/tests/capture/capture_graphs
[ -x "$graphs" ] || skip "this build has no CUDA headers"
library=$BUILD/capture/library/libgpucapture.so
cd "$work"

gpuemu -o report -- "$graphs" || die "the program fails without recording"
for level in 0 1; do
	gpuemu -o report -- "$BUILD/tests/capture/capture_run" "$library" -t -g $level -- "$graphs" >rings 2>told ||
		die "$(cat told)"
	grep -qx "ended with 0" rings || die "level $level: $(tail -n 2 rings told)"
	# 200 copies and the launch, but no captured operation.
	equal "$(grep -c '^times' rings)" 201
	grep -q '"untimed":\\200,' rings || die "$(grep '^fact device_times' rings)"
done
