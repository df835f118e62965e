#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# launch.sh N PROGRAM...: starts N processes of the program, with the environment that torchrun
# sets.
set -eu
n=$1
shift
# A port below the range that the system assigns automatically.
port=$((20000 + $$ % 12000))
while grep -q ":$(printf %04X $port) " /proc/net/tcp /proc/net/tcp6 2>/dev/null; do port=$((port + 1)); done
WORLD_SIZE=$n MASTER_ADDR=127.0.0.1 MASTER_PORT=${MASTER_PORT:-$port}
export WORLD_SIZE MASTER_ADDR MASTER_PORT
pids=
rank=0
while [ $rank -lt $n ]; do
	RANK=$rank LOCAL_RANK=$rank "$@" &
	pids="$pids $!"
	rank=$((rank + 1))
done
status=0
for pid in $pids; do
	wait $pid || status=$?
done
exit $status
