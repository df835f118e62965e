# SPDX-License-Identifier: Apache-2.0
# A recorded run is executed again on emulated GPUs, and digest after digest is the same; faults are
# found at the operation where they are.
. "$(dirname "$0")/lib.sh"
need_capture
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # LeakSanitizer does not work in a confined worker
examples=$programs/examples
[ -x "$examples/ddp" ] || skip "the examples were not built (no nvcc)"
launch=$SOURCE/examples/launch.sh
cd "$work"

# recorded NAME GPUS COMMAND...
recorded() {
	local name=$1 gpus=$2
	shift 2
	gpucapture --replayable -o "$name" -- gpuemu --gpus "$gpus" -o report -- "$@" >/dev/null
}

# replay GPUS ARGUMENT...: gpureplay with the host kernels of the examples.
replay() {
	local gpus=$1
	shift
	gpuemu --gpus "$gpus" -o report --kernels "$examples/kernels.so" -- gpureplay "$@"
}

# same NAME GPUS [OPTION...]: all operations of the recording are executed, with the same digests.
same() {
	replay "$2" --json "${@:3}" "$1" >"$1.json" || die "$1: $(cat "$1.json")"
	gputrace info --json "$1" >"$1.info"
	python3 - "$1.json" "$1.info" <<'PY'
import json, sys
replayed, info = (json.load(open(name)) for name in sys.argv[1:])
assert replayed['same'] and replayed['copies_with_unknown_contents'] == 0, replayed
assert info['facts']['capture.calls'] == info['facts']['capture.calls_begun'], info['facts']
records = info['records']
want = sum(records[kind] for kind in ('kernel', 'memcpy', 'memset', 'collective'))
got = sum(gpu['operations'] for gpu in replayed['gpus'])
assert got == want, (got, want)
assert sum(gpu['digests'] for gpu in replayed['gpus']) > want, replayed
assert not any(gpu['digests_in_one_only'] for gpu in replayed['gpus']), replayed
PY
}

for gpus in 1 2 4; do
	recorded ddp$gpus $gpus sh "$launch" $gpus "$examples/ddp" --steps 3 --hidden 64
	same ddp$gpus $gpus
	recorded dataparallel$gpus $gpus "$examples/dataparallel" --steps 3 --hidden 64
	same dataparallel$gpus $gpus
	recorded pipeline$gpus $gpus sh "$launch" $gpus "$examples/pipeline" --steps 2 --hidden 32
	same pipeline$gpus $gpus
done
# A process whose launcher called it rank 1, and of which the others were not recorded.
RANK=1 recorded lone 1 "$examples/dataparallel" --steps 1 --hidden 16
same lone 1
recorded overlap 2 "$examples/overlap" --size 100 --count 3
same overlap 2

# With fewer GPUs than were recorded, one line says so; what runs is in the report of gpuemu.
fails -4 replay 1 ddp2
[ "$(cat stderr)" = "gpureplay: cannot re-execute ddp2: cuDevicePrimaryCtxRetain: the recording used more GPUs than there are; with --rank, one is enough" ] ||
	die "$(cat stderr)"
gpuemu --gpus 2 --json -o report -- gpureplay ddp2 >/dev/null 2>stderr || true
[ ! -s stderr ] || die "$(cat stderr)"
grep -q bias_relu report || die "the report lacks kernels that gpureplay launched: $(cat report)"

# A driver that ignores which address is wanted: memory lies elsewhere.
export GPUEMU_ADDRESS_HINTS=0
fails -4 replay 2 --same-addresses ddp2
grep -q 'the driver does not place memory at its recorded address 0x' stderr || die "$(cat stderr)"
for run in "2 ddp2" "2 dataparallel2" "2 pipeline2" "2 overlap"; do
	same "${run#* }" "${run% *}"
	python3 - "${run#* }.json" <<'PY'
import json, sys
replayed = json.load(open(sys.argv[1]))
assert 0 < replayed['regions_elsewhere'] <= replayed['regions'], replayed
assert replayed['addresses_not_rewritten'] == 0, replayed
PY
done
unset GPUEMU_ADDRESS_HINTS
replay 2 --json --same-addresses ddp2 | has_line '"regions_elsewhere": *0,'

# From the keyframe of a window, and from one in the middle of a recording.
for gpus in 1 2 4; do
	for example in "sh $launch $gpus $examples/ddp" "$examples/dataparallel" "$examples/pipeline"; do
		gpucapture --replayable --iterations=2-3 -f -o window -- \
			gpuemu --gpus $gpus -o report -- $example --steps 5 --hidden 32 --marks 1 >/dev/null
		same window $gpus
		grep -q '"first_iteration": 2' window.json || die "$(cat window.json)"
	done
done
gpucapture --replayable --keyframe=2 -o middle -- \
	gpuemu --gpus 2 -o report -- sh "$launch" 2 "$examples/ddp" --steps 6 --hidden 32 --marks 1 >/dev/null
same middle 2
replay 2 --json --iterations 3-4 -o part middle >part.json
gputrace info --json part >part.info
python3 - part.json part.info middle.json <<'PY'
import json, sys
part, info, whole = (json.load(open(name)) for name in sys.argv[1:])
assert part['same'] and (part['first_iteration'], part['last_iteration']) == (2, 4), part
assert sorted({i['iteration'] for i in info['iterations']}) == [2, 3, 4], info['iterations']
n, m = (sum(g['digests'] for g in r['gpus']) for r in (part, whole))
assert m * 0.45 < n < m * 0.55, (n, m)
PY
fails -2 gpureplay --iterations 6-7 middle

# One thread drives 8 GPUs, each of which is a rank.
gpucapture --digest=launch --payloads=0-9 --keyframe=2 --embed-images -o eight -- \
	gpuemu --gpus 8 -o report -- "$examples/dataparallel" --steps 5 --hidden 16 --marks 1 >/dev/null
gputrace info eight | has_line '^8 GPUs, '
replay 8 --json --iterations 3-4 eight >eight.json
python3 - eight.json <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
assert r['same'] and (r['first_iteration'], r['last_iteration']) == (2, 4), r
assert len(r['gpus']) == 8 and all(g['digests'] > 100 for g in r['gpus']), r
PY
fails -2 gpureplay --iterations 3-x middle

# Executed several times, and as slowly as the recorded host.
replay 2 --iterations 2 --repeat 2 middle | has_line -x 'Executed 2 times: no differences.'
(
	ulimit -n 24 # of which executions keep none
	replay 2 --iterations 2 --repeat 20 middle | has_line -x 'Executed 20 times: no differences.'
)
replay 2 --iterations 2 --speed=recorded middle | has_line -x 'No differences.'
fails -2 gpureplay --speed=fast middle
replay 2 --cublas=api middle | has_line -x 'No differences.'
fails -2 gpureplay --repeat 0 middle

# Without contents of the memory, the report says so.
gpucapture --digest=launch --iterations=2-3 --embed-images -o empty -- \
	gpuemu -o report -- "$examples/ddp" --steps 5 --hidden 16 --marks 1 >/dev/null
fails -1 replay 1 empty
grep -q 'bytes of memory that was live at the start are not recorded' stdout || die "$(cat stdout)"

# A recording that was cut off, because a process was killed, is executed up to there.
gpucapture --digest=launch --payloads=0-100000 --embed-images -o killed -- gpuemu --gpus 2 -o report -- sh "$launch" 2 \
	sh -c 'if [ $RANK = 1 ]; then exec timeout -s KILL 3 "$@"; fi; exec "$@"' sh "$examples/ddp" --steps 100000 --hidden 32 \
	>/dev/null 2>&1 || true
replay 2 killed >out || die "$(cat out)"
has_line '^The recording is incomplete; it was executed up to its end' <out
has_line -x 'No differences.' <out

# The replayed run is a trace like any other.
replay 2 -o again ddp2 | has_line -x 'No differences.'
gputrace verify again >/dev/null
gputrace info again | has_line '^2 GPUs, '
gputrace diff --operations ddp2 again | has_line 'the same'

# A kernel that computes something else here: found at its launch, on its GPU.
for gpu in 0 1; do
	fails -1 env FAULT="kernel $gpu 5 0" GPUEMU_PLUGINS="$examples/kernels.so:$BUILD/tests/e2e/libfault.so" \
		gpuemu --gpus 2 -o report -- gpureplay --json -f -o again ddp2
	python3 - stdout $gpu <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))['difference']
assert (d['kind'], d['gpu'], d['iteration']) == ('written', int(sys.argv[2]), 0), d
assert 'relu_back' in d['first'] and d['buffer']['access'] == 'written', d
PY
done
fails -1 gputrace diff --operations ddp2 again
grep -qE 'differ first at GPU 1, iteration 0, stream .* kernel relu_back.* wrote .*; its inputs are the same' stdout ||
	die "$(cat stdout)"

# Every kind of memory, copies of rows, events, graphs, several streams.
for gpus in 1 2; do
	gpucapture --digest=launch --payloads=0-1000 --embed-images -o memory$gpus -- \
		gpuemu --gpus $gpus -o report -- "$programs/tests/e2e/replay_memory" >/dev/null
	gpuemu --gpus $gpus -o report --kernels "$programs/tests/e2e/replay_memory.so" -- gpureplay memory$gpus |
		has_line -x 'No differences.'
done

# Calls of cuBLAS and cuBLASLt, with scalars on the host and on the device; on another model of GPU,
# for which the recorded algorithm of cublasLtMatmul is invalid.
gpucapture --digest=launch --payloads=0-1000 --embed-images -o blas -- \
	gpuemu -o report -- "$SOURCE/tests/emugpu/blas.py" >/dev/null
for model in H200 V100; do
	gpuemu --like=$model -o report -- gpureplay --cublas=api -f -o blas.again blas | has_line -x 'No differences.'
	gputrace export -f tsv -o $model blas.again
	results=$(cut -f 6,9 $model/iterations/*/gpu0/calls | sed -n 's/^cublasLtMatmul\t.*;result=/ /p' | tr -d '\n')
	[ $model = V100 ] && equal "$results" ' 8 0 0 0' || equal "$results" ' 0 0 0'
done

# Addresses in memory are counted if the memory is elsewhere. (Without host kernels: none uses them.)
fails -1 env GPUEMU_ADDRESS_HINTS=0 gpuemu -o report -- gpureplay memory1
has_line '^[1-9] of [1-9] regions of memory are at other addresses than recorded.*(2 in contents' <stdout

# Addresses of mapped memory are rewritten; 4-byte numbers beside gaps that hold halves of addresses are not.
gpucapture --digest=launch --payloads=0-1000 --embed-images -o reserved -- \
	gpuemu -o report -- "$programs/tests/e2e/replay_memory" reserved | has_line -x '256 256 1'
GPUEMU_ADDRESS_HINTS=0 gpuemu -o report --kernels "$programs/tests/e2e/replay_memory.so" -- gpureplay reserved >out ||
	die "$(cat out)"
has_line -x 'No differences.' <out
has_line '^3 of 3 regions of memory are at other addresses than recorded' <out
gpuemu -o report --kernels "$programs/tests/e2e/replay_memory.so" -- gpureplay --same-addresses reserved |
	has_line -x 'No differences.'
fails -4 env GPUEMU_ADDRESS_HINTS=0 gpuemu -o report -- gpureplay --same-addresses reserved
grep -q 'the driver does not place memory at its recorded address 0x' stderr || die "$(cat stderr)"

# A process without operations owns memory and an event that two others use in turn: three ranks, whose
# calls are executed in the recorded order.
gpucapture --replayable -o shared -- gpuemu -o report -- "$programs/tests/e2e/replay_memory" shared
gputrace info shared | has_line '^1 GPU, 3 ranks, '
for speed in recorded max; do
	gpuemu -o report --kernels "$programs/tests/e2e/replay_memory.so" -- gpureplay --speed=$speed shared >out ||
		die "$speed: $(cat out)"
	has_line -x 'No differences.' <out
done

# The process that exports memory is not recorded.
cat >exported.py <<'PY'
import ctypes, os, sys
sys.path.insert(0, os.environ['SOURCE'] + '/tests/capture')
from cuda import cu, use_device
class Handle(ctypes.Structure):
    _fields_ = [('bytes', ctypes.c_char * 64)]
use_device(0)
handle = Handle()
if sys.argv[1] == 'export':
    cu.cuIpcGetMemHandle(ctypes.byref(handle), cu.new('cuMemAlloc_v2', 4096))
    sys.stdout.buffer.write(bytes(handle))
    sys.stdout.close()
    sys.stdin.readline()
else:
    os.readv(0, [handle])
    memory = cu.new('cuIpcOpenMemHandle_v2', handle, 1)
    cu.cuMemsetD8_v2(memory + 64, 1, 64)
    cu.cuIpcCloseMemHandle(memory)
PY
mkfifo handle end
gpuemu -o report -- bash -c 'python3 exported.py export <>end >handle &
	gpucapture --replayable -o opened -- python3 exported.py open <handle; echo >end; wait'
fails -3 timeout 60 gpuemu -o report -- gpureplay opened
grep -q 'cuIpcOpenMemHandle_v2: handle: no recorded process created it' stderr || die "$(cat stderr)"

# Without a GPU, the error has a name.
fails -4 env CUDA_VISIBLE_DEVICES= gpureplay shared
grep -Eq 'cuInit: CUDA_ERROR_(STUB_LIBRARY|NO_DEVICE) \([0-9]+\); is there a GPU\?$' stderr || die "$(cat stderr)"

# Imports are refused if another process may have exported the memory.
gpucapture --digest=launch --embed-images -o processes -- gpuemu -o report -- bash -c '"$0" reserved && "$0" reserved' \
	"$programs/tests/e2e/replay_memory" >/dev/null
fails -3 gpuemu -o report -- gpureplay processes
grep -q 'cuMemImportFromShareableHandle: cannot import the handle 0x.* in a recording of several processes' stderr ||
	die "$(cat stderr)"

# Without contents of copies from the host, the report says why nothing can be compared.
gpucapture --digest=launch --embed-images -o bare -- gpuemu -o report -- "$examples/ddp" --steps 1 --hidden 16 >/dev/null
fails -1 replay 1 bare
grep -q 'copies from the host had contents that are not recorded' stdout || die "$(cat stdout)"

# Code that is not in the trace.
gpucapture --digest=launch -o lean -- gpuemu -o report -- "$examples/ddp" --steps 1 --hidden 16 >/dev/null
fails -3 replay 1 -o partial lean
grep -q 'record with --embed-images' stderr || die "$(cat stderr)"
[ ! -e partial ] || die "a failed execution left its output"

# A run that gpucapture did not record.
python3 "$SOURCE/bench/make_run.py" -o files --plan=tensor --ranks=2 --steps=1 >/dev/null
gputrace import -o imported files/*.json >/dev/null
fails -3 gpureplay imported
says 'not a recording of gpucapture'

# A host kernel can neither write files nor start programs.
status=0
ESCAPE=$work/escaped GPUEMU_PLUGINS=$examples/kernels.so:$BUILD/tests/e2e/libescape.so gpuemu -o report -- \
	gpureplay ddp1 >out 2>errors || status=$?
equal "$status" 1
has_line -E '^escape: write (EACCES|0), start EPERM$' <errors
grep -q 'write EACCES' errors || left_out "files: no landlock here"

# A trace of another user is executed only if it is trusted.
if [ "$(id -u)" = 0 ]; then
	cp -r ddp1 foreign
	chown -R 1234 foreign
	fails -3 replay 1 foreign
	grep -q 'belongs to another user' stderr || die "$(cat stderr)"
	replay 1 --trust foreign | has_line -x 'No differences.'
fi
