# SPDX-License-Identifier: Apache-2.0
# Recording does not disturb the capture of a graph, and operations on other streams have times.
. "$(dirname "$0")/lib.sh"
need_capture
graphs=$SOURCE/tests/capture/graphs.py
cd "$work"

gpuemu -o report -- "$graphs" || die "the program fails without recording"
for level in 0 1; do
	record_rings rings -t -g $level -- "$graphs"
	# 200 copies and the launch, but no captured operation.
	equal "$(grep -c '^times' rings)" 201
	grep -q '"untimed":\\200,' rings || die "$(grep '^fact device_times' rings)"
done

# Handles that the program got from a capture in progress are known when it is executed again.
gpucapture --digest=launch -o added -- gpuemu -o report -- "$graphs" added
confined gpuemu -o report -- gpureplay --json added >again || die "$(cat again)"
python3 -c "
import json
r = json.load(open('again'))
assert r['same'] and r['gpus'][0]['operations'] == 1 and r['gpus'][0]['digests'] == 2, r"
