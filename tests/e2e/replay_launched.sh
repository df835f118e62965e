# SPDX-License-Identifier: Apache-2.0
# A recorded run is executed again by one gpureplay for each of its processes, which a launcher
# starts: by the variables of torchrun, srun and mpirun.
. "$(dirname "$0")/lib.sh"
need_capture
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # LeakSanitizer does not work in a confined worker
launch=$SOURCE/examples/launch.sh
ranks=$SOURCE/tests/capture/ranks.py
cd "$work"
gpucapture --digest=launch --payloads=0-9 --embed-images -o run -- gpuemu --gpus 3 -o report -- sh "$launch" 3 "$ranks" . >/dev/null

# As srun does; each process sees its own GPU only.
cat >slurm.sh <<'SH'
n=$1
shift
export SLURM_STEP_NUM_TASKS=$n SLURM_JOB_ID=1 SLURM_STEP_ID=0
pids=
for i in $(seq 0 $((n - 1))); do
	SLURM_PROCID=$i SLURM_LOCALID=$i CUDA_VISIBLE_DEVICES=$i "$@" & pids="$pids $!"
done
status=0
for pid in $pids; do wait $pid || status=$?; done
exit $status
SH

is_gone() {
	! kill -0 "$1" 2>/dev/null
}
stop_slurm() {
	local name pid
	for name in slurmd slurmctld munged; do
		pid=$(cat "$work/slurm/$name.pid" 2>/dev/null) || continue
		kill "$pid" 2>/dev/null || continue
		eventually is_gone "$pid" || true
	done
	rm -rf "$work/slurm"
}

# start_cluster: a cluster of this machine alone; its files are in the folder `slurm`.
start_cluster() {
	local at=$work/slurm host port=$((10000 + RANDOM % 20000))
	host=$(hostname -s)
	mkdir -p "$at/state" "$at/spool"
	head -c 128 /dev/urandom >"$at/key"
	chmod 600 "$at/key"
	cat >"$at/slurm.conf" <<CONF
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$at/socket
SlurmUser=root
StateSaveLocation=$at/state
SlurmdSpoolDir=$at/spool
SlurmctldPidFile=$at/slurmctld.pid
SlurmdPidFile=$at/slurmd.pid
SlurmctldLogFile=$at/slurmctld.log
SlurmdLogFile=$at/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc)
PartitionName=all Nodes=$host Default=YES
CONF
	export SLURM_CONF=$at/slurm.conf
	munged --force --key-file="$at/key" --socket="$at/socket" --pid-file="$at/munged.pid" \
		--log-file="$at/munged.log" --seed-file="$at/seed" 2>/dev/null && slurmctld -i && slurmd || return 1
	for _ in 1 2 3; do
		timeout 10 srun --immediate=2 true 2>/dev/null && return 0
	done
	return 1
}

# start_slurm: whether a cluster runs. Another program may use the ports that were chosen: then others are tried.
start_slurm() {
	command -v slurmctld slurmd munged srun >/dev/null && [ "$(id -u)" = 0 ] || return 1
	trap 'status=$?; set +e; stop_slurm; (exit $status); cleanup' EXIT
	for _ in 1 2 3; do
		start_cluster && return 0
		stop_slurm
	done
	return 1
}

# launched NAME COMMAND...: on three emulated GPUs.
launched() {
	local name=$1
	shift
	gpuemu --gpus 3 -o report -- "$@" gpureplay --json -o "$name" run
}

# same NAME: one report, of all ranks, and a trace beside which nothing remains.
same() {
	python3 - "$1.json" <<'PY'
import json, sys
got = json.load(open(sys.argv[1]))
assert got['same'] and [gpu['gpu'] for gpu in got['gpus']] == [0, 1, 2], got
assert all(gpu['digests'] > 0 and not gpu['digests_in_one_only'] for gpu in got['gpus']), got
PY
	gputrace verify "$1" >/dev/null
	gputrace diff --operations run "$1" | has_line 'the same'
	[ ! -e "$1.launched" ] || die "files of ranks remain: $(find "$1.launched")"
}

gpuemu --gpus 3 -o report -- gpureplay --json run >single.json
launched torchrun sh "$launch" 3 >torchrun.json
same torchrun
launched slurm sh slurm.sh 3 >slurm.json
same slurm
cmp single.json torchrun.json || die "another report: $(diff single.json torchrun.json)"

# fails_with LAUNCHER...: process 1 of three has no GPU. The others end, too, and nothing remains.
cat >second.sh <<'SH'
[ "${RANK:-${SLURM_PROCID:-${OMPI_COMM_WORLD_RANK:-}}}" = 1 ] && export LD_PRELOAD= GPUEMU_GPUS=0
exec gpureplay -o other run
SH
fails_with() {
	fails timeout 120 gpuemu --gpus 3 -o report -- "$@" sh second.sh
	grep -q 'cannot re-execute run: process 1 failed' stderr || die "$(cat stderr)"
	[ ! -e other ] && [ ! -e other.launched ] || die "a failed run left $(find other*)"
}
fails_with sh "$launch" 3
fails_with sh slurm.sh 3

# The same by the real launchers.
if command -v mpirun >/dev/null; then
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	launched mpirun mpirun --oversubscribe -np 3 >mpirun.json
	same mpirun
	fails_with mpirun --oversubscribe -np 3
else
	left_out "missing mpirun (openmpi-bin)"
fi
if [ -n "${GPUEMU_TORCH_PYTHON:-}" ]; then
	torchrun="$GPUEMU_TORCH_PYTHON -m torch.distributed.run --standalone --no-python --nproc-per-node 3"
	launched torch $torchrun >torch.json 2>told || die "$(cat told)"
	same torch
	fails_with $torchrun
else
	left_out "torchrun: set GPUEMU_TORCH_PYTHON"
fi
if start_slurm; then
	launched srun srun --overcommit --ntasks 3 >srun.json
	same srun
	fails_with srun --overcommit --ntasks 3
else
	left_out "missing slurmctld, slurmd or munged, or they do not start here"
fi

# Files of a killed run with the same process ids, session and values are ignored.
mkdir -p again.launched/0123456789abcdef
for i in 1 2; do
	printf 01234567 >again.launched/join-$i
	: >again.launched/0123456789abcdef/here-$i
done
printf 0123456701234567012345670123456701234567 >again.launched/go
launched again sh "$launch" 3 >again.json
same again

# A process that cannot begin says why; here none can.
mkdir elsewhere
cp "$(command -v gpureplay)" elsewhere
fails -3 gpuemu --gpus 3 -o report -- sh "$launch" 3 elsewhere/gpureplay -o other run
equal "$(grep -c 'cannot find gpucapture' stderr)" 3

# A killed process ends the others in seconds; they name it. Process 2 never executes anything, so
# that the others wait.
printf '#!/bin/sh\nexec sleep 300\n' >elsewhere/gpucapture
chmod +x elsewhere/gpucapture
cat >killed.sh <<'SH'
[ "$RANK" != 2 ] || exec elsewhere/gpureplay -o other run
[ "$RANK" = "$VICTIM" ] || exec gpureplay -o other run
gpureplay -o other run &
echo $! >victim
wait $!
SH
has_guard() {
	[ -s victim ] && [ "$(pgrep -cP "$(cat victim)")" = 2 ] && child=$(pgrep -P "$(cat victim)" gpucapture)
}
for victim in 0 1; do
	rm -f victim stderr
	VICTIM=$victim fails timeout 120 gpuemu --gpus 3 -o report -- sh "$launch" 3 sh killed.sh &
	eventually has_guard
	began=$SECONDS
	kill -KILL "$(cat victim)"
	wait $! || die "the others succeeded"
	[ $((SECONDS - began)) -lt 60 ] || die "the others ended after $((SECONDS - began)) s"
	grep -q "cannot re-execute run: process $victim (rank $victim) was killed" stderr || die "$(cat stderr)"
	eventually is_gone "$child"
	[ ! -e other ] && [ ! -e other.launched ] || die "a killed run left $(find other*)"
done
rm elsewhere/gpucapture

# The same without a launcher.
fails -4 env FAULT="kill 1 0 0" GPUEMU_PLUGINS="$BUILD/tests/e2e/libfault.so" \
	timeout 60 gpuemu --gpus 3 -o report -- gpureplay run
grep -qx 'gpureplay: cannot re-execute run: process 1 (rank 1) was killed by signal 9' stderr || die "$(cat stderr)"

# Wrong uses end with one line, of the first process.
one_line() {
	local status=$1
	shift
	fails -"$status" gpuemu --gpus 3 -o report -- sh "$launch" "$@"
	equal "$(wc -l <stderr)" 1
}
one_line 2 2 gpureplay -o other run
says 'started as 2 processes; run has 3'
one_line 2 3 gpureplay run
says 'missing -o OUT'
one_line 2 3 gpureplay --repeat 2 -o other run
says '--repeat'
fails -2 gpuemu --gpus 3 -o report -- sh "$launch" 3 gpureplay -o again run
says 'again'
one=$(RANK=1 WORLD_SIZE=3 gpuemu --gpus 1 -o report -- gpureplay --rank 1 run | grep -c '^Rank 1 ran alone')
equal "$one" 1

[ -x "$programs/examples/ddp" ] || { left_out "the examples were not built (no nvcc)"; exit; }
examples=$programs/examples
gpucapture --digest=launch --payloads=0-1000 --embed-images -o ddp -- \
	gpuemu --gpus 2 -o report -- sh "$launch" 2 "$examples/ddp" --steps 3 --hidden 64 >/dev/null
gpuemu --gpus 2 -o report --kernels "$examples/kernels.so" -- sh "$launch" 2 gpureplay -o ddp.again ddp | has_line -x 'No differences.'
fails -1 env FAULT="kernel 1 5 0" GPUEMU_PLUGINS="$examples/kernels.so:$BUILD/tests/e2e/libfault.so" \
	gpuemu --gpus 2 -o report -- sh "$launch" 2 gpureplay -f --json -o ddp.again ddp
python3 - stdout <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))['difference']
assert (d['kind'], d['gpu']) == ('written', 1) and 'relu_back' in d['first'], d
PY
