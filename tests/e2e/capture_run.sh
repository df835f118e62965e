# SPDX-License-Identifier: Apache-2.0
# A recorded run is an ordinary trace: info, verify, mount, export. If the program or gpucapture is
# killed, what was recorded until then is kept.
. "$(dirname "$0")/lib.sh"
need_capture
[ -x "$programs/examples/ddp" ] || skip "the CUDA examples were not built (no nvcc)"
export TMPDIR="$work"

record() {
	out=$1
	shift
	gpucapture -o "$work/$out" "$@" >"$work/$out.out" 2>"$work/$out.err" ||
		die "$*: $(cat "$work/$out.err")"
	gputrace verify "$work/$out" >/dev/null
	gputrace info --json "$work/$out" >"$work/$out.json"
}
launch=$SOURCE/examples/launch.sh

# Four processes with one rank each, numbered by NCCL.
record ddp --json -- gpuemu --gpus 4 --like V100 -- "$launch" 4 "$programs/examples/ddp" --steps 8
python3 - "$work" <<'PY'
import json, sys
info = json.load(open(f'{sys.argv[1]}/ddp.json'))
records = info['records']
assert info['gpus'] == 4, info['gpus']
assert records['collective'] == 4 * 8 * 5, records
assert records['kernel'] > 4 * 8 * 20 and records['memcpy'] > 4 * 8 * 2 and records['call'] > 4 * 8 * 100, records
assert len([i for i in info['iterations'] if i['iteration'] >= 0]) in (7, 8), info['iterations']
PY
gputrace export --format=chrome -o "$work/ddp.chrome" "$work/ddp"
# The driver tells registers and static shared memory of each kernel.
gputrace export -f tsv -o "$work/ddp.tsv" "$work/ddp"
awk -F '\t' 'FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ n++; known += $at["registers"] > 0 } END { exit !(n > 0 && known == n) }' \
	"$work"/ddp.tsv/iterations/*/gpu*/kernels || die "kernels without registers"
python3 -c 'import json, sys; [json.load(open(f)) for f in sys.argv[1:]]' "$work"/ddp.chrome/*

# One process with a thread for each GPU: a rank for each.
record threads -- gpuemu --gpus 2 --like V100 -- "$programs/examples/dataparallel" --steps 8
python3 - "$work/threads.json" <<'PY'
import json, sys
info = json.load(open(sys.argv[1]))
assert info['gpus'] == 2 and info['records']['collective'] > 0, info
PY

# One thread for both GPUs: a rank for each, with the same iterations.
record pipeline --iterations 2-4 -- gpuemu --gpus 2 --like V100 -- "$programs/examples/pipeline" --steps 8
python3 - "$work/pipeline.json" <<'PY'
import json, sys
info = json.load(open(sys.argv[1]))
assert info['gpus'] == 2 and all(len(i['gpus']) == 2 for i in info['iterations']), info['iterations']
assert {i['iteration'] for i in info['iterations'] if i['iteration'] >= 0} == {2, 3, 4}, info['iterations']
PY

if ! can_mount; then
	left_out "the mount: $why_not"
else
	mkdir "$work/mnt"
	gputracefs "$work/ddp" "$work/mnt"
	ls "$work/mnt/iterations" | has_line 000003
	has_line ncclAllReduce <"$work"/mnt/iterations/000003/gpu2/calls
	equal "$(tail -n +2 "$work/mnt/iterations/000003/gpu0/collectives" | wc -l)" 5
	umount "$work/mnt" || fusermount3 -u "$work/mnt"
fi

# Without device times there are only calls, as requested: nothing counts as missing.
record untimed --json --device-times=off -- gpuemu -- "$launch" 1 "$programs/examples/ddp" --steps 2
has_line '"without_times": 0' <"$work/untimed.err"
gputrace info "$work/untimed" >"$work/untimed.info"
has_line "times  .*not recorded (--device-times=off): calls only" <"$work/untimed.info"
no_line missing "$work/untimed.info"
gputrace export --format=tsv -o "$work/untimed.tsv" "$work/untimed"
prints_nothing cat "$work/untimed.tsv/errors"

# The program is killed: everything until then is recorded.
: >"$work/mortal.out"
cat >"$work/mortal.sh" <<SH
"$programs/examples/ddp" --steps 100000 >>"$work/mortal.out" &
while [ "\$(wc -l <"$work/mortal.out")" -lt 20 ]; do sleep 0.05; done
kill -9 \$!
wait \$!
SH
status=0
gpucapture -o "$work/mortal" -- gpuemu -- "$launch" 1 sh "$work/mortal.sh" 2>"$work/mortal.err" || status=$?
[ $status -ne 0 ] || die "a killed program ended with 0"
has_line "^gpucapture: ddp (pid [0-9]*): killed by SIGKILL [ia].* \(cu\|nccl\).*; .*/mortal contains [0-9,]* calls and [0-9,]* operations of it" \
	<"$work/mortal.err"
gputrace verify "$work/mortal" >/dev/null
gputrace info "$work/mortal" | has_line "^  calls  .* begun, .* recorded, .* here"
gputrace info "$work/mortal" | has_line "missing  .* 1 process killed or aborted.*: pid [0-9]* (rank 0) killed by SIGKILL [ia].* \(cu\|nccl\)"
gputrace info --json "$work/mortal" | has_line '"gpus": 1'

# A program outlives its parent: everything is recorded.
cat >"$work/daemon.sh" <<SH
: >"$work/daemon.out"
"$programs/examples/ddp" --steps 100000 >>"$work/daemon.out" &
echo \$! >"$work/daemon.pid"
while [ "\$(wc -l <"$work/daemon.out")" -lt 20 ]; do sleep 0.05; done
SH
record daemon -- gpuemu -- "$launch" 1 sh "$work/daemon.sh"
kill -9 "$(cat "$work/daemon.pid")"
gputrace info "$work/daemon" | has_line "missing  .* 1 process still running.*: pid $(cat "$work/daemon.pid") (rank 0)\$"

# gpucapture is killed: the trace appears when the program has ended.
cat >"$work/orphan.sh" <<SH
"$programs/examples/ddp" --steps 20
: >"$work/orphan.began"
while [ ! -e "$work/orphan.go" ]; do sleep 0.05; done
SH
gpucapture -o "$work/orphan" -- gpuemu -- "$launch" 1 sh "$work/orphan.sh" >"$work/orphan.out" 2>&1 &
pid=$!
eventually test -e "$work/orphan.began" || die "it did not start"
kill -9 $pid
wait $pid 2>/dev/null || true
: >"$work/orphan.go"
eventually test -e "$work/orphan" || die "no trace of a program that outlived gpucapture"
gputrace verify "$work/orphan" >/dev/null
