# SPDX-License-Identifier: Apache-2.0
# A window of iterations has a prologue: the calls that made what its calls name, and no others.
. "$(dirname "$0")/lib.sh"
need_capture
[ -x "$programs/examples/ddp" ] || skip "this build has no examples"
cd "$work"

cat >check.py <<'PY'
import csv, json, pathlib, sys

# The argument that returns the new object, by the argument that uses it.
MAKERS = {'hStream': 'phStream', 'hEvent': 'phEvent', 'hmod': 'module', 'f': 'hfunc', 'comm': 'comm', 'ctx': 'pctx',
          'dptr': 'dptr', 'dstDevice': 'dptr', 'srcDevice': 'dptr', 'hGraphExec': 'phGraphExec', 'hGraph': 'phGraph'}
BRIEF = {'cuLaunchKernel', 'cuMemcpyHtoDAsync_v2', 'cuMemcpyDtoHAsync_v2', 'cuEventRecord', 'cuStreamWaitEvent',
         'cuStreamSynchronize', 'cuEventQuery', 'ncclAllReduce', 'cuGraphLaunch'}
trace, first, last = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])

def calls(folder, gpu):
    for p in sorted((trace / folder).glob(f'**/gpu{gpu}/calls')):
        for r in csv.DictReader(open(p), delimiter='\t', quoting=csv.QUOTE_NONE):
            yield r['name'], dict(a.split('=', 1) for a in r['args'].split(';') if '=' in a)

assert sorted(int(p.name) for p in (trace / 'iterations').iterdir()) == list(range(first, last + 1))
gpus, made = range(len(list((trace / 'gpus').iterdir()))), set()
for gpu in gpus: # that may be of one process
    for name, args in list(calls('before', gpu)) + list(calls('iterations', gpu)):
        for key, maker in MAKERS.items():
            if f'{maker}.out' in args and f'{maker}.id' in args:
                made.add((maker, args[f'{maker}.id']))
            for number in json.loads(args.get(f'{maker}.out.id', '[]')):
                made.add((maker, str(number)))
for gpu in gpus:
    before, inside, used = list(calls('before', gpu)), list(calls('iterations', gpu)), 0
    for name, args in inside:
        for key, maker in MAKERS.items():
            number = args.get(f'{key}.id')
            if number is None or f'{key}.out' in args or (key == 'hStream' and int(args[key]) <= 2):
                continue
            assert (maker, number) in made, (gpu, name, key, number)
            used += 1
    assert used > 20, used
    extra = [n for n, a in before if n in BRIEF]
    assert len(extra) <= int(sys.argv[4]), (gpu, extra)
PY

for example in ddp dataparallel; do
	gpucapture --iterations 3-4 -o "run.$example" -- gpuemu --gpus 2 -o report -- \
		"$programs/examples/$example" --steps 8 >out 2>err || die "$(cat err)"
	gputrace verify "run.$example" >/dev/null
	gputrace export -f tsv -o "tables.$example" "run.$example"
	python3 check.py "tables.$example" 3 4 2 # calls that loaded code
	gpureplay --emulate -o "emulated.$example" "run.$example" >/dev/null
done

# In segments; of which those before the window have some of the prologue.
ends=$programs/tests/capture/capture_ends
gpucapture --iterations 150-151 -o long -- gpuemu -o report -- "$ends" 270000
gputrace verify long >/dev/null
gputrace info --json long | python3 -c '
import json, sys
info = json.load(sys.stdin)
assert sorted({i["iteration"] for i in info["iterations"]}) == [150, 151], info["iterations"]
assert info["records"]["call"] < 3000, info["records"]'
gputrace export -f tsv -o tables.long long
has_line cuMemAlloc <tables.long/before/gpu0/calls
no_line cuMemset tables.long/before/gpu0/calls

# Without an iteration in the window all of the run is kept.
gpucapture --iterations 300-400 -o none -- gpuemu --gpus 2 -o report -- "$programs/examples/dataparallel" --steps 8 >out
gputrace verify none >/dev/null
gputrace info none | has_line "8 iterations"
