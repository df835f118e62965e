# SPDX-License-Identifier: Apache-2.0
# One rank of a recorded run is executed again on one emulated GPU, without the others: what it
# received is taken from the recording.
. "$(dirname "$0")/lib.sh"
need_capture
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # LeakSanitizer does not work in a confined worker
launch=$SOURCE/examples/launch.sh
examples=$programs/examples
cd "$work"

# recorded NAME GPUS OPTION... -- COMMAND...
recorded() {
	local name=$1 gpus=$2 options=()
	shift 2
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	rm -f unique-id handle
	gpucapture --embed-images -f -o "$name" "${options[@]}" -- gpuemu --gpus "$gpus" -o report "$@" >/dev/null
}

# alone ARGUMENT...: on one GPU.
alone() {
	local kernels=()
	[ ! -e "$examples/kernels.so" ] || kernels=(--kernels "$examples/kernels.so")
	gpuemu --gpus 1 -o report "${kernels[@]}" -- gpureplay "$@"
}

# each_rank NAME GPUS: each operation of each rank is executed, except those of NCCL.
each_rank() {
	local rank
	gputrace info --json "$1" >"$1.info"
	: >"$1.ranks"
	for ((rank = 0; rank < $2; rank++)); do
		alone --json --rank $rank "$1" >one || die "$1, rank $rank: $(cat one)"
		python3 -c 'import json; print(json.dumps(json.load(open("one"))))' >>"$1.ranks"
	done
	python3 - "$1.ranks" "$1.info" <<'PY'
import json, sys
ranks = [json.loads(line) for line in open(sys.argv[1])]
records = json.load(open(sys.argv[2]))['records']
assert all(r['same'] and r['copies_with_unknown_contents'] == 0 for r in ranks), ranks
assert [r['alone']['rank'] for r in ranks] == list(range(len(ranks))), ranks
gpus = [gpu for i, r in enumerate(ranks) for gpu in r['gpus'] if gpu['gpu'] == i]
assert sum(gpu['operations'] for gpu in gpus) == sum(records[kind] for kind in ('kernel', 'memcpy', 'memset')), gpus
assert all(gpu['digests'] > 0 and not gpu['digests_in_one_only'] for gpu in gpus), gpus
assert all(r['alone']['delivered'] > 0 and not r['alone']['sent_buffers_differing'] for r in ranks), ranks
PY
}

# Every kind of exchange: in groups, in place, with a root, in parts of a buffer.
for gpus in 2 3; do
	recorded ranks$gpus $gpus --digest=launch --payloads=0-9 -- sh "$launch" $gpus "$SOURCE/tests/capture/ranks.py" .
	each_rank ranks$gpus $gpus
	recorded comm $gpus --payloads=0-9 -- sh "$launch" $gpus "$SOURCE/tests/capture/ranks.py" .
	each_rank comm $gpus
done

# What NCCL does on its own streams and with its own memory is not repeated.
cat >internals.sh <<'SH'
LD_PRELOAD=$(echo "$LD_PRELOAD" | sed "s|libgpucapture.so:|&$1:|")
export LD_PRELOAD
shift
exec "$@"
SH
recorded internals 2 --digest=launch --payloads=0-9 -- sh internals.sh "$programs/tests/capture/libcapture_internals.so" \
	sh "$launch" 2 "$SOURCE/tests/capture/ranks.py" .
gputrace info --json internals >internals.info
python3 -c 'import json; n = json.load(open("internals.info"))["records"]["memset"]; assert n == 48, n'
for rank in 0 1; do
	alone --rank $rank internals | has_line -x 'No differences.'
done

# Communicators that are ready only after a while.
recorded split 2 --digest=launch --payloads=0-9 -- sh "$launch" 2 "$SOURCE/tests/capture/ranks.py" . split
each_rank split 2
gpuemu --gpus 2 -o report -- gpureplay split | has_line -x 'No differences.'

# Without what it received, or with memory of another process, nothing runs.
recorded bare 2 --digest=launch -- sh "$launch" 2 "$SOURCE/tests/capture/ranks.py" .
fails -3 gpureplay --rank 1 bare
grep -Exq 'gpureplay: cannot re-execute rank 1 of bare alone: ncclAllReduce \(correlation [0-9]+\) received data that is not recorded; record with --payloads' stderr ||
	die "$(cat stderr)"
recorded ipc 2 --digest=launch --payloads=0-9 -- sh "$launch" 2 "$SOURCE/tests/capture/ranks.py" . ipc
fails -3 gpureplay --rank 1 ipc
grep -Exq 'gpureplay: cannot re-execute rank 1 of ipc alone: cuIpcOpenMemHandle_v2 \(correlation [0-9]+\) uses memory or events of another process' stderr ||
	die "$(cat stderr)"
alone --rank 0 ipc | has_line -x 'No differences.'
recorded graph 2 --digest=launch --payloads=0-9 -- "$SOURCE/tests/capture/collectives.py" processes 2 2
fails -3 gpureplay --rank 1 graph
says 'is in a graph, so its data is unknown'
fails -2 gpureplay --rank 2 ranks2
says 'ranks2 has no rank 2'
fails -2 gpureplay --rank one ranks2
fails -2 gpureplay --emulate --rank 1 ranks2

# The report says what was not executed.
alone --rank 1 -o again ranks2 >report.txt
has_line -E '^Rank 1 ran alone: [0-9]+ collectives and receives were not executed; the [0-9]+ bytes that they received were copied from the recording\.$' <report.txt
has_line -x 'No differences.' <report.txt
gputrace info again | has_line '^1 GPU, '

[ -x "$examples/ddp" ] || { left_out "the examples were not built (no nvcc)"; exit; }
for gpus in 2 4; do
	recorded ddp$gpus $gpus --replayable -- sh "$launch" $gpus "$examples/ddp" --steps 3 --hidden 64
	each_rank ddp$gpus $gpus
done
recorded window 4 --digest=launch --payloads=2-3 --iterations=2-3 -- sh "$launch" 4 "$examples/ddp" --steps 5 --hidden 32 --marks 1
each_rank window 4
recorded comm 2 --payloads=0-1000 -- sh "$launch" 2 "$examples/ddp" --steps 3 --hidden 64
each_rank comm 2

# One process with several GPUs.
recorded several 2 --digest=launch --payloads=0-1000 -- "$examples/dataparallel" --steps 1 --hidden 16
fails -3 gpureplay --rank 1 several
says 'its process drives several GPUs'

# A changed byte of what a copy brought, and of what the rank received.
gputrace export --format=tsv -o tables ddp4
number_of() {
	awk -F'\t' -v call="$1" '$6 == call {print $1; exit}' tables/"$2"/gpu3/calls
}
"$SOURCE/tests/e2e/flip.py" ddp4 faulty 3 "$(awk -F'\t' '$1 == 3 && $4 == "written" {print $3; exit}' tables/contents/index)" 5
fails -1 alone --json --rank 3 faulty
python3 - stdout <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))['difference']
assert (d['kind'], d['gpu']) == ('written', 3) and 'HtoD' in d['first'], d
PY
rm -r faulty
"$SOURCE/tests/e2e/flip.py" ddp4 faulty 3 "$(number_of ncclAllReduce iterations/000001)" 5
fails -1 alone --json --rank 3 faulty
python3 - stdout <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))['difference']
assert (d['kind'], d['gpu'], d['iteration']) == ('read', 3, 1), d
PY
alone --rank 2 faulty | has_line -x 'No differences.'

# A kernel that computes something else: what the rank sends differs, at any level of digests.
for name in ddp2 comm; do
	fails -1 env FAULT="kernel 0 5 0" GPUEMU_PLUGINS="$examples/kernels.so:$BUILD/tests/e2e/libfault.so" \
		gpuemu -o report -- gpureplay --rank 1 $name
	grep -q '^First difference: ' stdout || die "$(cat stdout)"
done
grep -Eq '^Of [0-9]+ buffers that it sent, [1-9][0-9]* differ' stdout || die "$(cat stdout)"

# A recording that was cut off is executed up to there.
gpucapture --raw --digest=launch --payloads=0-1000 --embed-images -o whole -- \
	gpuemu --gpus 2 -o report -- sh "$launch" 2 "$examples/ddp" --steps 100 --hidden 32 >/dev/null
truncate -s $(($(stat -c %s whole.raw/part-0000.raw) * 7 / 10)) whole.raw/part-0000.raw
gputrace import -o cut whole.raw >/dev/null 2>&1
alone --json --rank 1 cut >cut.json || die "$(cat cut.json)"
python3 - cut.json <<'PY'
import json, sys
got = json.load(open(sys.argv[1]))
assert got['same'] and got['cut_off'] and got['gpus'][1]['digests'] > 0, got
PY
