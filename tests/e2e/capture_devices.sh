# SPDX-License-Identifier: Apache-2.0
# Each GPU of a process is a rank with its own operations, whichever threads use it; two processes
# on one GPU are two ranks.
. "$(dirname "$0")/lib.sh"
need_capture
devices=$SOURCE/tests/capture/devices.py
cd "$work"

# record NAME COMMAND...: makes the trace NAME and the report NAME.json.
record() {
	name=$1
	shift
	gpucapture -o "$name" -- gpuemu --gpus 4 -o report -- "$@" >out 2>err || die "$name: $(cat err)"
	gputrace verify "$name" >/dev/null
	gputrace info --json "$name" >"$name.json"
}

cat >check.py <<'PY'
import json, sys
info = json.load(open(sys.argv[1] + '.json'))
assert info['gpus'] == 4 and [r['rank'] for r in info['ranks']] == [0, 1, 2, 3], info['ranks']
assert {r['facts']['shared_process'] for r in info['ranks']} == {1}, info['ranks']
found = {(c['kind'], c['dtype'], c['bytes']): c for c in info['collectives']}
assert set(found) == {('all_reduce', 'Float', 16384), ('all_gather', 'Int', 65536)}, found
for c in found.values():
    assert (c['ranks'], c['count'], c['operations']) == (4, 12, 48), c
steps = [i for i in info['iterations'] if len(i['gpus']) == 4]
assert len(steps) == 12, info['iterations']
PY

# One thread drives four GPUs, like nccl-tests -g 4.
for how in all ranks null; do
	record $how "$devices" $how 4 12
	python3 check.py $how
	gputrace info $how >info
	grep -q '^4 GPUs, 12 iterations' info || die "$how: $(cat info)"
	grep -q 'GPUs  *4 x ' info || die "$how: $(cat info)"
	# Every rank has the operations of its GPU and the calls that launched them.
	gputrace export -f tsv -o $how.tsv $how
	for gpu in 0 1 2 3; do
		rows=$(cat $how.tsv/iterations/*/gpu$gpu/kernels | grep -c "	work	") || die "$how: no kernels on GPU $gpu"
		equal "$rows" 12
		cut -f 1 $how.tsv/iterations/*/gpu$gpu/calls >calls
		grep -q . calls || die "$how: no calls for GPU $gpu"
	done
	gpureplay --emulate --json $how >emulated
	python3 - <<'PY'
import json
report = json.load(open('emulated'))
assert not report['broken'] and report['mean_abs_error'] < 0.01, report
gpus = {g['gpu'] for i in report['iterations'] for g in i['gpus']}
assert gpus == {0, 1, 2, 3}, gpus
PY
done

# A GPU without kernels and communicators is a rank as well.
record alone "$devices" alone 3 5
python3 -c "
import json
info = json.load(open('alone.json'))
assert info['gpus'] == 3 and len(info['ranks']) == 3 and info['records']['memset'] == 15, info['ranks']"

# Digests cover memory of devices that only contexts of the program can access.
gpucapture --digest=launch --payloads=0-9 --embed-images -o peers -- gpuemu --gpus 3 -o report -- "$devices" peers 3 2
confined gpuemu --gpus 3 -o report -- gpureplay peers | has_line -x 'No differences.'
mkdir folder
fails -2 confined gpuemu --gpus 3 -o report -- gpureplay -f -o folder peers
says 'cannot write folder: it exists already; choose another'
no_line -e --force stderr

# A launch by `extra`, whose buffer is too large to be one of parameters: they are not recorded, and not executed.
cat >extra.py <<'PY'
import ctypes, sys
sys.path.insert(0, sys.argv[1])
from cuda import cu, load_kernel, new_stream, use_device
use_device(0)
buffer = ctypes.create_string_buffer(70000)
size = ctypes.c_size_t(len(buffer))
extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(buffer), 2, ctypes.addressof(size), None)
cu.cuLaunchKernel(load_kernel('work(.param .u64 a)'), 1, 1, 1, 1, 1, 1, 0, new_stream(), None, extra)
cu.cuCtxSynchronize()
PY
gpucapture --replayable -o extra -- gpuemu -o report -- python3 extra.py "$SOURCE/tests/capture"
gputrace info --json extra | has_line -E '"capture.launches_without_parameters": *1'
fails -3 confined gpuemu -o report -- gpureplay extra
says 'cuLaunchKernel: the parameters of the kernel are not recorded'

# Processes without a launcher and communicators have the order of their GPUs.
for order in '0 1 2' '2 1 0'; do
	record "order${order%% *}" sh -c 'for gpu; do "$0" only $gpu $((3 + gpu)); done' "$devices" $order
done
gputrace diff order0 order2 >out || die "$(cat out)"

# On one GPU, they have the order in which they were started.
for time in first second; do
	record $time sh -c 'for n in 1 2 3 4 5 6 7 8; do "$0" only 0 $n & done; wait' "$devices"
done
gputrace diff first second >out || die "$(cat out)"

# Two processes on GPU 0, and a third on GPU 1.
cat >three.sh <<'SH'
"$1" alone 1 5 & first=$!
"$1" alone 1 5 & second=$!
CUDA_VISIBLE_DEVICES=1 "$1" alone 1 5
wait $first && wait $second
SH
record shared sh three.sh "$devices"
gputrace info shared >info
grep -q '^2 GPUs, 3 ranks, ' info || die "$(cat info)"
grep -q 'GPUs  *2 x ' info || die "$(cat info)"
python3 - <<'PY'
import json
info = json.load(open('shared.json'))
assert info['gpus'] == 2 and len(info['ranks']) == 3, info
assert not any('shared_process' in r['facts'] for r in info['ranks']), info['ranks']
on = sorted([r['rank'] for r in info['ranks'] if r['first_rank_on_gpu'] == first] for first in {r['first_rank_on_gpu'] for r in info['ranks']})
assert sorted(map(len, on)) == [1, 2], on
PY
gputrace export -f svg -o timeline.svg shared
grep -q '>2 GPUs · 3 ranks · ' timeline.svg || die "the picture has another number of GPUs"
