# SPDX-License-Identifier: Apache-2.0
# Graphs that allocate memory are executed again, with the same digests, at the recorded addresses and
# at others.
. "$(dirname "$0")/lib.sh"
need_capture
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # LeakSanitizer does not work in a confined worker
program=$programs/tests/e2e/replay_graphs
[ -x "$program" ] || skip "the programs were not built (no nvcc)"
cd "$work"

# Conditional nodes are recorded, but not executed.
gpucapture --replayable -o conditional -- gpuemu -o report -- "$program" conditional | has_line -x 2
fails -3 gpuemu -o report --kernels "$program.so" -- gpureplay conditional
says 'cuGraphConditionalHandleCreate: conditional nodes of graphs'

# What a copy node reads from pageable memory is not recorded, and the report says so.
gpucapture --replayable -o pageable -- gpuemu -o report -- "$program" pageable
fails -1 gpuemu -o report --kernels "$program.so" -- gpureplay pageable
has_line '^1 copies from the host had contents that are not recorded' <stdout

# Functions of the host in graphs are not executed.
gpucapture --replayable -o host -- gpuemu -o report -- "$program" host
gpuemu -o report --kernels "$program.so" -- gpureplay host >out || die "$(cat out)"
has_line -x 'No differences.' <out
has_line -E '^[12] digests of host memory were not compared: functions of the host in graphs may write it.' <out

gpucapture --replayable -o graphs -- gpuemu --gpus 2 -o report -- "$program" | has_line -x 368550
for hints in 1 0; do
	GPUEMU_ADDRESS_HINTS=$hints gpuemu --gpus 2 -o report --kernels "$program.so" -- gpureplay --json graphs >again ||
		die "$(cat again)"
	python3 - again $hints <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
assert r['same'] and r['copies_with_unknown_contents'] == 0, r
assert all(g['digests'] > 20 for g in r['gpus']), r
assert (r['regions_elsewhere'] == 0) == (sys.argv[2] == '1') and r['addresses_not_rewritten'] == 0, r
PY
done
