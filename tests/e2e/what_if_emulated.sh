# SPDX-License-Identifier: Apache-2.0
# Emulated GPUs are exact truth: a program is recorded on one GPU model and predicted on another one,
# on which it then runs. The first step is left out: ranks that come before the file with NCCL's id
# sleep in it, by chance. gap_ns is part of the kernels that gpucapture records.
. "$(dirname "$0")/lib.sh"
need_capture
[ -x "$programs/examples/ddp" ] || skip "examples/ddp was not built"
virtual_only

# model NAME KEY*FACTOR...: an H100 with some values multiplied; a KEY is a regular expression.
model() {
	python3 - "$SOURCE/data/gpus" "$work/$1.gpu" "${@:2}" <<'PYTHON'
import re
import sys

folder, to, *changes = sys.argv[1:]
values = {}
for name in 'common', 'H100-SXM5':
    for line in open(f'{folder}/{name}.gpu', encoding='utf-8'):
        if line.strip() and not line.startswith(('#', 'alias')):
            key, value = line.split(None, 1)
            values[key] = value
for change in changes:
    pattern, factor = change.rsplit('*', 1)
    found = [key for key in values if re.fullmatch(pattern, key)]
    assert found, change
    for key in found:
        values[key] = f'{float(values[key]) * float(factor):.12g}\n'
with open(to, 'w', encoding='utf-8') as f:
    f.writelines(f'{key} {value}' for key, value in values.items())
PYTHON
}

model base
model gpu 'fp[0-9]+*0.5' 'tf32*0.5' 'int8*0.5' 'memory_bytes_per_s*0.5' 'clock_khz*0.5' 'kernel_ns*2' 'gap_ns*2'
model host 'call_[a-z]+_ns*2'
model network '(nvlink|switch)_bytes_per_s*0.9'
ddp="sh $SOURCE/examples/launch.sh 4 $programs/examples/ddp --steps 6 --batch 1024 --hidden 2048"
for m in base gpu host network; do
	gpucapture -o "$work/$m" -- gpuemu --gpus 4 --like "$work/$m.gpu" -- $ddp >"$work/out" 2>&1 || die "$(cat "$work/out")"
	gpureplay --emulate --json "$work/$m" >"$work/$m.json"
done
gpureplay --emulate --force --json --what-if gpu=0.5x --what-if host=0.5x,launch=0.5x \
	--what-if network.bandwidth=0.9x "$work/base" >"$work/predicted.json"
python3 - "$work" <<'PYTHON'
import json
import sys


def steps(report, run):
    return {(i['iteration'], g['gpu']): g[run]['step_ns'] for i in report['iterations'][1:] for g in i['gpus']}


def read(name):
    return json.load(open(f'{sys.argv[1]}/{name}.json', encoding='utf-8'))


bad = []
for prediction, name in zip(read('predicted'), ['gpu', 'host', 'network'], strict=True):
    predicted, true, before = steps(prediction, 'predicted'), steps(read(name), 'recorded'), steps(read('base'), 'recorded')
    assert predicted.keys() == true.keys() == before.keys() and len(true) == 20, true
    error = sum(abs(predicted[k] / true[k] - 1) for k in true) / len(true)
    change = sum(true.values()) / sum(before.values()) - 1
    print(f'{name}: the step changes by {100 * change:.1f} %, predicted with an error of {100 * error:.2f} %')
    if error > 0.01 or abs(change) < 0.01:
        bad.append(name)
assert not bad, bad
PYTHON
