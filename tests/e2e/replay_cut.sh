# SPDX-License-Identifier: Apache-2.0
# Recordings that end anywhere are executed up to there, with the same digests: at $CUTS random
# places (default 6) of each of two programs.
. "$(dirname "$0")/lib.sh"
need_capture
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # LeakSanitizer does not work in a confined worker
examples=$programs/examples
[ -x "$examples/ddp" ] || skip "the examples were not built (no nvcc)"
launch=$SOURCE/examples/launch.sh
cd "$work"
RANDOM=${SEED:-$(date +%-j)}

# record GPUS PROGRAM...: a raw recording.
record() {
	rm -rf whole.raw
	gpucapture --raw --digest=launch --payloads=0-1000 --embed-images -o whole -- \
		gpuemu --gpus "$1" -o report -- "${@:2}" >/dev/null
}

# cut GPUS BYTES: executes the first bytes of the recording, and prints how many digests were
# compared and how many calls were left out.
cut() {
	rm -rf cut.raw
	cp -r whole.raw cut.raw
	truncate -s "$2" cut.raw/part-0000.raw
	if ! gputrace import -f -o cut cut.raw >out 2>&1; then
		[ "$(cat out)" = 'gputrace: import: cut.raw: no CUDA call was recorded' ] || die "byte $2: $(cat out)"
		return 0
	fi
	gputrace info cut | has_line 'incomplete recording'
	gpuemu --gpus "$1" -o report --kernels "$examples/kernels.so" -- gpureplay --json cut >cut.json ||
		[ $? = 1 ] || die "byte $2: $(cat cut.json)"
	python3 - "$2" cut.json <<'PY'
import json, sys
got = json.load(open(sys.argv[2]))
# See the limits in doc/design/reexecution.md.
assert got['same'] or got['difference']['kind'] == 'sequence', got
assert got['cut_off'], got
print(f"byte {sys.argv[1]}: {sum(g['digests'] for g in got['gpus'])} digests, {got['calls_left_out']} calls left out")
PY
}

# cuts GPUS: random places, every other one in the first quarter, where the calls are; and some near
# the end, until a part of the run is executed: the digests of operations are among the last bytes
# if the devices are slow.
cuts() {
	local bytes i missing
	bytes=$(stat -c %s whole.raw/part-0000.raw)
	for i in $(seq "${CUTS:-6}"); do
		cut "$1" $(((RANDOM * 32768 + RANDOM) % (i % 2 ? bytes / 4 : bytes)))
	done
	for missing in $((bytes / 100)) $((bytes / 1000)) 1000 1; do
		cut "$1" $((bytes - missing)) | tee last
		grep -q ': 0 digests' last || break
	done
	has_line ': [1-9][0-9]* digests' <last
}

record 2 sh "$launch" 2 "$examples/ddp" --steps 60 --hidden 32
cuts 2
record 3 "$examples/dataparallel" --steps 60 --hidden 32
cuts 3
