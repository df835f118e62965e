# SPDX-License-Identifier: Apache-2.0
# Recordings that end anywhere are executed up to there, with the same digests: at $CUTS random
# places (default 6) of each of two programs. Device times and digests are recorded while a program
# runs: a program that is killed loses only the last ones.
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
assert got['same'] and got['cut_off'], got
print(f"byte {sys.argv[1]}: {sum(g['digests'] for g in got['gpus'])} digests, {got['calls_left_out']} calls left out")
PY
}

# current TRACE WHOLE: of the operations that were launched, 80 % have times, and as many digests as
# in the whole trace. The others may be the last ones: a tenth of a second or more on a busy machine,
# of seconds.
current() {
	gputrace info --json "$1" >info.json
	gputrace info --json "$2" >whole.json
	python3 - "$1" <<'PY'
import json, sys
def counts(name):
    info = json.load(open(name))
    records = info['records']
    timed = sum(records[kind] for kind in ('kernel', 'memcpy', 'memset', 'collective'))
    return timed, timed + info['facts'].get('capture.operations_without_times', 0), records['digest']
timed, launched, digests = counts('info.json')
_, all_launched, all_digests = counts('whole.json')
print(f'{sys.argv[1]}: {launched} operations, {timed} with times, {digests} digests')
assert timed > 0 and timed >= 0.8 * launched, (timed, launched)
assert digests >= 0.8 * launched * all_digests / all_launched, (digests, launched)
PY
}

# cuts GPUS: random places, every other one in the first quarter, and one near the end, where a part
# of the run must be executed.
cuts() {
	local bytes i
	bytes=$(stat -c %s whole.raw/part-0000.raw)
	for i in $(seq "${CUTS:-6}"); do
		cut "$1" $(((RANDOM * 32768 + RANDOM) % (i % 2 ? bytes / 4 : bytes)))
	done
	cut "$1" $((bytes - bytes / 100)) >last
	has_line ': [1-9][0-9]* digests' <last
}

record 2 sh "$launch" 2 "$examples/ddp" --steps 60 --hidden 32
cuts 2
record 3 "$examples/dataparallel" --steps 60 --hidden 32
cuts 3

# Half and most of a longer recording.
record 2 sh "$launch" 2 "$examples/ddp" --steps 200 --hidden 32
gputrace import -f -o whole whole.raw >/dev/null
for percent in 50 90; do
	rm -rf part.raw
	cp -r whole.raw part.raw
	truncate -s $(($(stat -c %s whole.raw/part-0000.raw) * percent / 100)) part.raw/part-0000.raw
	gputrace import -f -o part part.raw >/dev/null 2>&1
	current part whole
done

# A program that is killed.
gpucapture --digest=launch --payloads=0-1000 --embed-images -o short -- \
	gpuemu --gpus 3 -o report -- "$examples/dataparallel" --steps 10 --hidden 32 >/dev/null
gpucapture --digest=launch --payloads=0-1000 --embed-images -o killed -- gpuemu --gpus 3 -o report -- \
	sh -c '"$1" --steps 1000000 --hidden 32 >lines & until [ -s lines ]; do sleep 0.1; done; kill -9 $!' \
	sh "$examples/dataparallel" >/dev/null 2>&1 || [ $? = 137 ] || die "status $?"
current killed short
gpuemu --gpus 3 -o report --kernels "$examples/kernels.so" -- gpureplay killed | has_line -x 'No differences.'
