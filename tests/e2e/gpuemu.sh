# SPDX-License-Identifier: Apache-2.0
# A program runs unchanged on emulated GPUs; gpuemu forwards its exit status and reports a summary.
. "$(dirname "$0")/lib.sh"
[ -x "$BUILD/tools/gpuemu" ] || skip "gpuemu was not built (no CUDA headers)"

# Exit status and signals.
status=0
gpuemu -- sh -c 'exit 5' || status=$?
equal "$status" 5
status=0
gpuemu -- sh -c 'kill -9 $$' || status=$?
equal "$status" 137
fails -127 gpuemu -- "$work/absent"
says "cannot run $work/absent"
hands_on_signals gpuemu --

# Invalid options.
fails -2 gpuemu --gpus 0 true
fails -2 gpuemu --like T800 true
says "T800: no such model; there are A100"
printf 'name odd\nsms many\n' >"$work/odd.gpu"
fails -3 gpuemu --like "$work/odd.gpu" true
says "many"
fails -3 gpuemu --timing "$work" true
"$BUILD/bench/make_trace" "$work/cut" 2 3 200
truncate -s -3000 "$work/cut/rank-00001.chunks"
fails -3 gpuemu --timing "$work/cut" true
says "cut: rank-00001.chunks: truncated at byte"
fails -2 gpuemu -o "$work/absent/report" touch "$work/ran"
says "No such file or directory; its directory must exist"
[ ! -e "$work/ran" ] || die "the program ran although its report cannot be written"
fails -3 gpuemu --kernels "$work/odd.gpu" true
fails -2 gpuemu

# A program that uses the driver API, on any number of GPUs of each model.
program=$SOURCE/tests/emugpu/driver.py
gpuemu --gpus 8 --like V100 --host-speed 1e15 --json -o "$work/report" -- "$program" 2>"$work/told"
python3 - "$work/report" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
assert report['processes'] == 1 and report['virtual_ns'] > 0, report
(gpu,) = report['gpus']
assert gpu['gpu'] == 0 and gpu['kernels'] >= 12 and gpu['busy_ns'] > 0, gpu
PY

# Warnings about a run's results are printed once, at the end.
summary() {
	[ "$(grep -c '^gpuemu: ' "$work/told")" -eq "$1" ] || die "not $1 lines: $(cat "$work/told")"
}
gpuemu --host-speed 1e15 -- "$program" 2>"$work/told"
grep -q '^gpuemu: 1 launch of 1 kernel had no host kernel; results that depend on them are undefined (nothing)$' "$work/told" ||
	die "not told of a kernel: $(cat "$work/told")"
summary 2
grep -q '^gpuemu: not supported: ' "$work/told" || die "not told of functions: $(cat "$work/told")"
gpuemu --host-speed 1e15 -- "$SOURCE/tests/emugpu/cudnn.py" 2>"$work/told"
grep -q '^gpuemu: 3 launches of 3 kernels exceeded what their host kernels compute; .*gpuemu_conv_fprop.*GPUEMU_COMPUTE=all' "$work/told" ||
	die "not told of large convolutions: $(cat "$work/told")"
summary 1
gpuemu --json -o "$work/report" -- "$SOURCE/tests/emugpu/counts.py" counted
python3 - "$work/report" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
assert report['refused'] == [{'library': 'libcuda.so.1', 'name': 'cuGraphicsUnmapResources', 'calls': 2}], report
PY

# A message size computed by a kernel without a host kernel: the message names the kernel.
gpuemu --gpus 2 -- "$SOURCE/tests/emugpu/arbitrary.py" 2>"$work/told"
grep -q '^gpuemu: ncclSend.*rank 0 sends 64 bytes to rank 1, which expects 0.*count_items.*--kernels' "$work/told" ||
	die "no reason given it failed: $(cat "$work/told")"
grep -q 'the program read 1 such result (count_items)$' "$work/told" || die "not told of reads: $(cat "$work/told")"
summary 2

# A hint if most of the time goes into products.
gpuemu -- "$SOURCE/tests/emugpu/products.py" 2>"$work/told"
grep -q '^gpuemu: cuBLAS computed for .* s; .*GPUEMU_COMPUTE=0' "$work/told" || die "no hint: $(cat "$work/told")"

# The speed of this machine.
GPUEMU_HOST_SPEED= gpuemu --host-speed auto -- python3 -c 'import os; assert 0.05 < float(os.environ["GPUEMU_HOST_SPEED"]) < 20'
fails -2 gpuemu --host-speed fast -- true

# Totals include processes however they end; abnormal ends are listed.
ended() {
	status=0
	want=$1
	shift
	gpuemu --json -o "$work/report" -- "$@" || status=$?
	equal "$status" "$want"
}
check_ends() {
	python3 - "$work/report" "$1" "$2" <<'PY'
import json, sys
report, ends, processes = json.load(open(sys.argv[1])), json.loads(sys.argv[2]), int(sys.argv[3])
assert report['processes'] == processes and report['virtual_ns'] > 0 and report['real_ns'] > 0, report
(gpu,) = report['gpus']
assert gpu['kernels'] == 5 * processes and gpu['processes'] == processes, report
assert [{k: v for k, v in e.items() if k != 'pid'} for e in report['not_exited']] == ends, report
assert all(e['pid'] > 1 for e in report['not_exited']), report
PY
}
ender=$SOURCE/tests/emugpu/ended.py
ended 0 "$ender" exit
check_ends '[]' 1
ended 0 "$ender" _exit
check_ends '[]' 1
ended 137 "$ender" 9
check_ends '[{"name": "python3", "signal": 9, "running": false}]' 1
ended 0 "$ender" child 15
check_ends '[{"name": "python3", "signal": 15, "running": false}]' 1
ended 3 sh -c '"$0" 6; "$0" exit; exit 3' "$ender"
check_ends '[{"name": "python3", "signal": 6, "running": false}]' 2
fails -137 gpuemu -- "$ender" 9
grep -q '^gpuemu: killed by signal 9 (Killed): python3 (process [0-9]*)$' "$work/stderr" || die "$(cat "$work/stderr")"

# An interrupted run, as by Ctrl-C. (Background commands of this shell ignore SIGINT.)
python3 - "$work/report" "$ender" <<'PY'
import signal, subprocess, sys
report, ender = sys.argv[1:]
run = subprocess.Popen(['gpuemu', '--json', '-o', report, '--', ender, 'wait'], stdout=subprocess.PIPE)
assert run.stdout.readline() == b'waiting\n'
run.send_signal(signal.SIGINT)
assert run.wait(60) == -signal.SIGINT, run.returncode
PY
check_ends '[{"name": "python3", "signal": 2, "running": false}]' 1

# A paced run takes at least its virtual time.
python3 - "$program" <<'PY'
import json, subprocess, sys, tempfile, time
with tempfile.NamedTemporaryFile() as out:
    start = time.monotonic()
    subprocess.run(['gpuemu', '--json', '-o', out.name, '--pace', '--', sys.argv[1]], check=True, stderr=subprocess.DEVNULL)
    real, virtual = time.monotonic() - start, json.load(open(out.name))['virtual_ns'] / 1e9
assert 0 < virtual <= real / 0.9, (real, virtual)
PY
