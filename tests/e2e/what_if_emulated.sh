# SPDX-License-Identifier: Apache-2.0
# Emulated GPUs are exact truth: a program is recorded on one GPU model and predicted on another one,
# on which it then runs. The first step is left out: ranks that come before the file with NCCL's id
# sleep in it, by chance. gap_ns is part of all operations that gpucapture records: there is none here.
. "$(dirname "$0")/lib.sh"
shopt -s extglob
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
for change in ['gap_ns*0.001', *changes]:
    pattern, factor = change.rsplit('*', 1)
    found = [key for key in values if re.fullmatch(pattern, key)]
    assert found, change
    for key in found:
        values[key] = f'{float(values[key]) * float(factor):.12g}\n'
with open(to, 'w', encoding='utf-8') as f:
    f.writelines(f'{key} {value}' for key, value in values.items())
PYTHON
}

rates=('fp[0-9]+' tf32 int8 memory_bytes_per_s clock_khz)
model base
model slow "${rates[@]/%/*0.5}" 'kernel_ns*2'
model fast "${rates[@]/%/*2}" 'kernel_ns*0.5'
model host 'call_[a-z]+_ns*2'
model narrow '(nvlink|switch)_bytes_per_s*0.5'
model wide '(nvlink|switch)_bytes_per_s*2'
model copy 'pcie_bytes_per_s*0.8' 'copy_ns*1.25'
# The shortest kernel takes less time than the call that launches it: on an idle stream, the event
# behind it comes after its end.
model short 'kernel_ns*0.5'
model short-slow "${rates[@]/%/*0.5}"
model short-copy 'kernel_ns*0.5' 'pcie_bytes_per_s*0.8' 'copy_ns*1.25'

# check NAME GPUS 'MODEL CHANGED:SPEC...' COMMAND...: records the program on each model, and
# compares predictions from the first one.
check() {
	local name=$1 gpus=$2 changes=$3 m what_if=()
	shift 3
	for m in ${changes//:*([^ ])/}; do
		gpucapture -o "$work/$name.$m" -- gpuemu --gpus "$gpus" --like "$work/$m.gpu" -- "$@" >"$work/out" 2>&1 ||
			die "$(cat "$work/out")"
		gpureplay --emulate --json "$work/$name.$m" >"$work/$name.$m.json"
	done
	for m in ${changes#* }; do
		what_if+=(--what-if "${m#*:}")
	done
	gpureplay --emulate --json "${what_if[@]}" "$work/$name.${changes%% *}" >"$work/predicted.json"
	python3 - "$work/$name" "$work/predicted.json" $changes <<'PYTHON'
import json
import sys


def steps(report, run):
    return {(i['iteration'], g['gpu']): g[run]['step_ns'] for i in report['iterations'][1:] for g in i['gpus']}


def read(name):
    return json.load(open(name, encoding='utf-8'))


name, predictions, base, *changes = sys.argv[1:]
predictions, bad = read(predictions), []
predictions = predictions if isinstance(predictions, list) else [predictions]
for prediction, change in zip(predictions, changes, strict=True):
    model = change.split(':')[0]
    predicted, true = steps(prediction, 'predicted'), steps(read(f'{name}.{model}.json'), 'recorded')
    before = steps(read(f'{name}.{base}.json'), 'recorded')
    assert predicted.keys() == true.keys() == before.keys() and len(true) >= 6, true
    error = sum(abs(predicted[k] / true[k] - 1) for k in true) / len(true)
    changed = sum(true.values()) / sum(before.values()) - 1
    print(f'{name.rsplit("/")[-1]} {change}: the step changes by {100 * changed:.1f} %, predicted with an error of {100 * error:.2f} %')
    if error > 0.01 or abs(changed) < 0.01:
        bad.append(change)
assert not bad, bad
PYTHON
}

check ddp 4 'base slow:gpu=0.5x fast:gpu=2x host:host=0.5x,launch=0.5x narrow:network.bandwidth=0.5x wide:network.bandwidth=2x' \
	sh "$SOURCE/examples/launch.sh" 4 "$programs/examples/ddp" --steps 6 --batch 1024 --hidden 2048
# One thread, several GPUs: what each waits for on the other, and the thread's waits for both.
check pipeline 2 'base slow:gpu=0.5x fast:gpu=2x copy:copy=0.8x' \
	"$programs/examples/pipeline" --steps 4 --batch 512 --hidden 1024 --parts 2
check pipeline 2 'short short-slow:gpu=0.5x short-copy:copy=0.8x' \
	"$programs/examples/pipeline" --steps 4 --batch 512 --hidden 1024 --parts 2
# The host polls the last event of a step.
check pipeline-poll 2 'base slow:gpu=0.5x fast:gpu=2x' \
	"$programs/examples/pipeline" --steps 4 --batch 512 --hidden 1024 --parts 2 --poll 1
check overlap 2 'base slow:gpu=0.5x fast:gpu=2x host:host=0.5x,launch=0.5x' \
	"$programs/examples/overlap" --size 1000 --count 10
# A thread for each GPU.
check dataparallel-3 3 'base slow:gpu=0.5x fast:gpu=2x' "$programs/examples/dataparallel" --steps 4 --batch 768 --hidden 512
# Sends and receives have no latency fitted to several sizes.
check dataparallel 4 'base slow:gpu=0.5x fast:gpu=2x narrow:network.bandwidth=0.5x wide:network.bandwidth=2x' \
	"$programs/examples/dataparallel" --steps 4 --batch 1024 --hidden 1024

# Another number of ranks: as many samples for each. Links of NVLink with a reducing switch, and PCIe.
check_ranks() { # MODEL [OPTION...]
	local n model=$1
	shift
	for n in 4 8; do
		gpucapture -f -o "$work/ranks$n" -- gpuemu --gpus $n --like "$model" -- \
			sh "$SOURCE/examples/launch.sh" $n "$programs/examples/ddp" --steps 4 --batch $((64 * n)) "$@" >"$work/out" 2>&1 ||
			die "$(cat "$work/out")"
	done
	gpureplay --emulate --json --what-if ranks.dp=8 "$work/ranks4" >"$work/more.json"
	gpureplay --emulate --json --what-if ranks.dp=4 "$work/ranks8" >"$work/fewer.json"
	python3 - "$model" "$work/more.json" "$work/fewer.json" <<'PYTHON'
import json
import sys


def mean(report, run):
    steps = [g[run]['step_ns'] for i in report['iterations'][1:] for g in i['gpus'] if g[run]]
    return sum(steps) / len(steps)


more, fewer = (json.load(open(name, encoding='utf-8')) for name in sys.argv[2:])
for of, other in (more, fewer), (fewer, more):
    true, before = mean(other, 'recorded'), mean(of, 'recorded')
    error = mean(of, 'predicted') / true - 1
    print(f'{sys.argv[1]} {of["what_if"]}: the step changes by {100 * (true / before - 1):.1f} %, predicted with an error of {100 * error:.2f} %')
    assert abs(error) < 0.01 < abs(true / before - 1), of['what_if']
PYTHON
}
check_ranks H100 --hidden 2048
check_ranks V100-PCIE-32GB --hidden 512
