# SPDX-License-Identifier: Apache-2.0
# Programs on two simulated hosts that share only a folder: each has its own network, memory file
# system, name and clock, and the environment that srun sets. Then one host dies.
. "$(dirname "$0")/lib.sh"
need_capture
[ -x "$programs/examples/ddp" ] || skip "the CUDA examples were not built (no nvcc)"
command -v ip >/dev/null || skip "missing ip(8) to connect hosts"
net=gpucapture-$$
gone_net() { ip netns del "$net-0" 2>/dev/null; ip netns del "$net-1" 2>/dev/null; true; }
trap 'status=$?; gone_net; (exit $status) || false; cleanup' EXIT
{ ip netns add "$net-0" && ip netns add "$net-1" &&
	ip link add v0 netns "$net-0" type veth peer name v1 netns "$net-1" &&
	unshare --uts --time --ipc --mount --monotonic 1000 -- mount -t tmpfs none /dev/shm; } 2>"$work/why" ||
	skip "hosts cannot be made here: $(tail -n 1 "$work/why")"
for i in 0 1; do
	ip -n "$net-$i" addr add "10.77.0.$((i + 1))/24" dev v$i
	ip -n "$net-$i" link set v$i up
	ip -n "$net-$i" link set lo up
done
export TMPDIR="$work"

# host INDEX STEP OUT PROGRAM...: runs ranks 2 INDEX and 2 INDEX + 1 of four.
cat >"$work/host" <<'SH'
index=$1 out=$3
export SLURM_PROCID=$1 SLURM_STEP_NUM_TASKS=2 SLURM_JOB_ID=77 SLURM_STEP_ID=$2
shift 3
hostname node$index
mount -t tmpfs none /dev/shm
echo $$ >"$TMPDIR/pid$index"
exec gpucapture -o "$out" -- sh -c '
	RANK=$0 LOCAL_RANK=$0 "$@" & a=$!
	RANK=$(($0 + 1)) LOCAL_RANK=$(($0 + 1)) "$@" & b=$!
	wait $a && wait $b' $((2 * index)) "$@"
SH
cat >"$work/hosts" <<SH
export WORLD_SIZE=4 MASTER_ADDR=10.77.0.1 MASTER_PORT=29500
apart() {
	i=\$1 ahead=\$2
	shift 2
	exec ip netns exec "$net-\$i" unshare --uts --time --ipc --mount --monotonic \$ahead -- sh "$work/host" \$i "\$@"
}
(apart 1 100000 "\$@") & other=\$!
status=0
(apart 0 5000 "\$@") || status=\$?
wait \$other && exit \$status
SH
hosts() { gpuemu --gpus 4 -- sh "$work/hosts" "$@"; }
fact() { gputrace info --json "$1" | python3 -c "import json, sys; print(json.load(sys.stdin)['facts'].get('$2'))"; }

hosts 0 "$work/run" "$programs/examples/ddp" --steps 12 >"$work/out" 2>&1 || die "$(cat "$work/out")"
[ ! -e "$work/run.raw" ] || die "recordings were not removed: $(ls "$work/run.raw")"
gputrace verify "$work/run" >/dev/null
gputrace info "$work/run" >"$work/info"
grep -q "^4 GPUs, 12 iterations" "$work/info" || die "$(cat "$work/info")"
no_line missing "$work/info"
case $(fact "$work/run" hosts) in *node0*"[0, 1]"*node1*"[2, 3]"*collectives*) ;; *) die "$(fact "$work/run" hosts)" ;; esac

# Another step of the job, during which a host dies: the other host's recording and its iterations
# are complete.
: >"$work/out"
hosts 1 "$work/dies" "$programs/examples/ddp" --steps 1000000 >"$work/out" 2>"$work/err" &
all=$!
progressed() { [ "$(grep -c '^[0-9]' "$work/out")" -ge 50 ]; }
eventually progressed || die "the program did not start: $(cat "$work/err")"
host=$(readlink "/proc/$(cat "$work/pid1")/ns/uts")
for p in /proc/[0-9]*; do
	[ "$(readlink "$p/ns/uts" 2>/dev/null)" != "$host" ] || kill -9 "${p#/proc/}" 2>/dev/null || true
done
got=0
wait $all || got=$?
equal "$got" 137
[ ! -e "$work/dies" ] || die "a trace without all of its parts"
gputrace import -o "$work/one" "$work/dies.raw/part-0000.raw" >"$work/out"
gputrace verify "$work/one" >/dev/null
gputrace info "$work/one" >"$work/info"
grep -q "missing  .* 2 ranks of the largest" "$work/info" || die "$(cat "$work/info")"
[ "$(sed -n 's/^2 GPUs, \([0-9]*\) iterations.*/\1/p' "$work/info")" -ge 49 ] || die "$(head -n 1 "$work/info")"

# The dead host's raw recording in the shared folder is not lost.
gputrace import -o "$work/both" "$work/dies.raw" >"$work/joined"
gputrace verify "$work/both" >/dev/null
gputrace info "$work/both" >"$work/info"
grep -q "^4 GPUs, " "$work/info" || die "$(cat "$work/info")"
grep -q "missing  .* 2 processes killed or aborted.*: pid [0-9]* (rank 2).*, pid [0-9]* (rank 3)" "$work/info" || die "$(cat "$work/info")"
no_line -E "ranks of the largest|parts of the run" "$work/info"
