# SPDX-License-Identifier: Apache-2.0
# A program runs on emulated GPUs as it is; gpuemu hands on its exit status and says what was done.
. "$(dirname "$0")/lib.sh"
[ -x "$BUILD/tools/gpuemu" ] || skip "gpuemu was not built (no CUDA headers)"

# The program's status, and signals.
status=0
gpuemu -- sh -c 'exit 5' || status=$?
equal "$status" 5
status=0
gpuemu -- sh -c 'kill -9 $$' || status=$?
equal "$status" 137
fails -127 gpuemu -- "$work/absent"
says "cannot run $work/absent"
hands_on_signals gpuemu --

# What is asked for wrongly.
fails -2 gpuemu --gpus 0 true
fails -2 gpuemu --like T800 true
says "T800: no such model; there are A100"
printf 'name odd\nsms many\n' >"$work/odd.gpu"
fails -3 gpuemu --like "$work/odd.gpu" true
says "many"
fails -3 gpuemu --timing "$work" true
fails -2 gpuemu

# A driver program, on any number of GPUs of a kind.
program=$BUILD/tests/emugpu/emugpu_driver
gpuemu --gpus 8 --like V100 --json -o "$work/report" -- "$program" 2>"$work/told"
python3 - "$work/report" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
assert report['processes'] == 1 and report['virtual_ns'] > 0, report
(gpu,) = report['gpus']
assert gpu['gpu'] == 0 and gpu['kernels'] >= 12 and gpu['busy_ns'] > 0, gpu
PY
grep -q "no code is registered for the kernel nothing" "$work/told" || die "was not told"

# A paced run takes at least as long as it says.
python3 - "$program" <<'PY'
import json, subprocess, sys, tempfile, time
with tempfile.NamedTemporaryFile() as out:
    start = time.monotonic()
    subprocess.run(['gpuemu', '--json', '-o', out.name, '--pace', '--', sys.argv[1]], check=True, stderr=subprocess.DEVNULL)
    real, virtual = time.monotonic() - start, json.load(open(out.name))['virtual_ns'] / 1e9
assert 0 < virtual <= real / 0.9, (real, virtual)
PY
