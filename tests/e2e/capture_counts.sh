# SPDX-License-Identifier: Apache-2.0
# Every call is recorded once: for each function the rings hold as many calls as the emulated
# libraries counted, in a program that calls each of their public functions and in the examples. The
# recorder's own calls are not counted: with device times and digests the counts are those of the
# unrecorded program.
. "$(dirname "$0")/lib.sh"
export TMPDIR="$work" LC_ALL=C
need_capture
library=$BUILD/capture/library/libgpucapture.so
[ -e "$library" ] || skip "the capture library was not built"

# counted GPUS COMMAND...: runs it and compares the counts.
counted() {
	gpus=$1
	shift
	rm -f "$work/counts"
	GPUEMU_COUNTS=$work/counts "$BUILD/tests/capture/capture_run" "$library" -r 67108864 -- \
		gpuemu --gpus "$gpus" -- "$@" >"$work/rings" 2>"$work/stderr" ||
		die "$*: $(cat "$work/stderr")"
	grep -qx "ended with 0" "$work/rings" || die "$* $(tail -n 1 "$work/rings"): $(tail -n 5 "$work/stderr")"
	python3 - "$work/rings" "$work/counts" "$*" <<'PY'
import collections, re, sys
recorded, counted = collections.Counter(), collections.Counter()
for line in open(sys.argv[1], errors='replace'):
    found = re.match(r'call \d+ (\w+) depth \d+ result -?\d+ flags (\d+)(?: (\S+))*$', line)
    if found:  # flag 16: repeated polls; the last word is their number
        recorded[found[1]] += int(found[3], 16) if int(found[2]) & 16 else 1
    assert not re.search(r'^ring .* lost [1-9]', line), line
for line in open(sys.argv[2]):
    library, name, calls = line.split()
    if 'cudart' not in library:  # functions above the driver that are not hooked
        counted[name] += int(calls)
wrong = [f'{n}: {recorded[n]} recorded, {counted[n]} made' for n in sorted(recorded | counted) if recorded[n] != counted[n]]
assert len(counted) > 20, counted
assert not wrong, f'{sys.argv[3]}: {len(wrong)} functions differ: {wrong[:20]}'
print(f'{sys.argv[3]}: {sum(counted.values())} calls of {len(counted)} functions')
PY
}

counted 2 "$programs/tests/capture/capture_entries"
[ -x "$programs/examples/ddp" ] || skip "the CUDA examples were not built (no nvcc)"

# same_counts COMMAND...: the counts of a recorded run equal those of an unrecorded one.
same_counts() {
	rm -f "$work/alone" "$work/recorded"
	GPUEMU_COUNTS=$work/alone gpuemu --gpus 2 -- "$@" >"$work/stdout" 2>"$work/stderr"
	GPUEMU_COUNTS=$work/recorded gpucapture --digest=step -o "$work/trace" -- gpuemu --gpus 2 -- "$@" \
		>"$work/stdout" 2>"$work/stderr"
	rm -rf "$work/trace"
	sort "$work/alone" >"$work/alone.sorted"
	sort "$work/recorded" >"$work/recorded.sorted"
	diff "$work/alone.sorted" "$work/recorded.sorted" || die "$*: the recorder's own calls were counted"
}

same_counts "$programs/examples/dataparallel" --steps 3
counted 2 "$SOURCE/examples/launch.sh" 2 "$programs/examples/ddp" --steps 2
counted 2 "$programs/examples/dataparallel" --steps 2
counted 2 "$programs/examples/pipeline" --steps 2
counted 2 "$programs/examples/overlap" --size 100 --count 2
