# SPDX-License-Identifier: Apache-2.0
# The CUDA examples run on 1, 2, 4 and 8 emulated GPUs, the loss falls, and the result equals that
# of one GPU.
. "$(dirname "$0")/lib.sh"
[ -x "$BUILD/tools/gpuemu" ] || skip "gpuemu was not built (no CUDA headers)"
[ -x "$BUILD/examples/ddp" ] || skip "the CUDA examples were not built (no nvcc, or a sanitizer)"

touch "$work/begun"
run() {
	n=$1 out=$2
	shift 2
	gpuemu --gpus "$n" --like V100 -- "$@" >"$out" 2>"$work/stderr" || die "$*: $(cat "$work/stderr")"
}

for n in 1 2 4 8; do
	run $n "$work/ddp.$n" "$SOURCE/examples/launch.sh" $n "$BUILD/examples/ddp" --steps 8
	run $n "$work/dataparallel.$n" "$BUILD/examples/dataparallel" --steps 8
	run $n "$work/pipeline.$n" "$BUILD/examples/pipeline" --steps 8
done

python3 - "$work" <<'PY'
import sys
def losses(name, n):
    return [float(line.split()[1]) for line in open(f'{sys.argv[1]}/{name}.{n}')]
for name in ('ddp', 'dataparallel', 'pipeline'):
    one = losses(name, 1)
    assert len(one) == 8 and one[-1] < 0.95 * one[0], (name, one)
    assert all(b < a for a, b in zip(one, one[1:])), (name, one)
    for n in (2, 4, 8):
        many = losses(name, n)
        assert len(many) == 8 and all(abs(a - b) < 1e-4 * a for a, b in zip(one, many)), (name, n, one, many)
assert losses('ddp', 1) == losses('dataparallel', 1) == losses('pipeline', 1)
PY

# Two GPUs compute concurrently, and a GPU computes while it copies.
virtual_only
run 2 "$work/overlap" "$BUILD/examples/overlap" --size 600 --count 20
python3 - "$work/overlap" <<'PY'
import sys
seconds = dict(line.strip().rsplit(': ', 1) for line in open(sys.argv[1]))
one, apart, at_once = (float(seconds[k]) for k in ('products on GPU 0', 'on both, waiting in between', 'on both, at once'))
assert at_once < 1.5 * one < apart * 0.85, seconds
for kind in ('pageable', 'page-locked'):
    parts = sum(map(float, seconds[f'copies to {kind} memory after the products'].split(' + ')))
    assert float(seconds[f'copies to {kind} memory while computing']) < parts, seconds
PY

# A rank that dies ends the others with an error, and does not prevent the next run.
cat >"$work/mortal.sh" <<SH
"$BUILD/examples/ddp" --steps 100000 >"$work/mortal.\$RANK" &
if [ "\$RANK" -eq 1 ]; then
	while [ ! -s "$work/mortal.0" ]; do sleep 0.05; done # until rank 0 prints steps
	kill -9 \$!
fi
wait \$!
SH
status=0
gpuemu --gpus 4 -- "$SOURCE/examples/launch.sh" 4 sh "$work/mortal.sh" >"$work/out" 2>&1 || status=$?
[ $status -ne 0 ] || die "a rank was lost, and the others ended well"
run 4 "$work/again" "$SOURCE/examples/launch.sh" 4 "$BUILD/examples/ddp" --steps 1
left_in_memory() { find /dev/shm -name '*gpuemu*' -newer "$work/begun" 2>/dev/null; }
prints_nothing left_in_memory
