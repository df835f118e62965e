# SPDX-License-Identifier: Apache-2.0
# Programs on two simulated hosts, recorded by a gpucapture on each: both recordings make one
# trace on one clock, aligned within the stated error; missing ranks are reported. A host is a UTS
# namespace with its own name and a time namespace with another CLOCK_MONOTONIC.
. "$(dirname "$0")/lib.sh"
need_capture
[ -x "$programs/examples/ddp" ] || skip "the CUDA examples were not built (no nvcc)"
unshare --uts --time --monotonic 1000 true 2>/dev/null || skip "namespaces cannot be made here"
export TMPDIR="$work"
virtual_only

# hosts PARTS OUT PROGRAM...: runs ranks 0 and 1 of four on host 0, the others on host 1.
cat >"$work/host" <<'SH'
index=$RANK parts=$1 out=$2
shift 2
export WORLD_SIZE=4
hostname "$([ $index = 0 ] && echo alpha || echo beta)"
export SLURM_PROCID=$index SLURM_STEP_NUM_TASKS=$parts
exec gpucapture -o "$out" -- sh -c '
	RANK=$0 LOCAL_RANK=$0 "$@" & a=$!
	RANK=$(($0 + 1)) LOCAL_RANK=$(($0 + 1)) "$@" & b=$!
	wait $a && wait $b' $((2 * index)) "$@"
SH
hosts() {
	gpuemu --gpus 4 --like H100 -- "$SOURCE/examples/launch.sh" 2 sh -c \
		'exec unshare --uts --time --monotonic $((100000 * RANK)) -- sh "$@"' - "$work/host" "$@" >"$work/out" 2>&1 ||
		die "$(cat "$work/out")"
}

# write_reports TRACE: writes the reports that the following checks read.
write_reports() {
	gputrace verify "$1" >/dev/null || die "$1 is damaged"
	gputrace info --json "$1" >"$1.json"
	gpureplay --emulate --json "$1" >"$1.emulated"
}

# The last host to end makes the trace and removes the recordings.
hosts 2 "$work/run" "$programs/examples/ddp" --steps 24 --hidden 512 --batch 512
[ ! -e "$work/run.raw" ] || die "recordings were not removed: $(ls "$work/run.raw")"
write_reports "$work/run"

# If a raw recording is missing, the others are kept and can be imported by hand.
hosts 3 "$work/late" "$programs/examples/ddp" --steps 24 --hidden 512 --batch 512
[ ! -e "$work/late" ] || die "a trace without all of its parts"
gputrace import -o "$work/late" "$work/late.raw" >"$work/out"
gputrace info "$work/late" | has_line "missing  .* 1 part of the run"
write_reports "$work/late"

# One part is a trace, too, and reports the missing ranks.
gputrace import -o "$work/half" "$work/late.raw/part-0001.raw" >"$work/out"
write_reports "$work/half"
gputrace info "$work/half" | has_line "missing  .* 2 ranks of the largest"

# A part is not recorded twice, nor if the trace exists already.
export SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=3
fails -2 gpucapture -o "$work/late" -- true
mv "$work/late" "$work/late.one"
mv "$work/late.json" "$work/late.one.json"
mv "$work/late.emulated" "$work/late.one.emulated"
fails -2 gpucapture -o "$work/late" -- true
says "it contains an earlier recording"
unset SLURM_PROCID SLURM_STEP_NUM_TASKS

# Hosts without common collectives: recordings of different runs are refused; of one run of a launcher, they make one trace.
for i in 0 1; do
	RANK=0 WORLD_SIZE=1 gpucapture --raw -o "$work/alone$i" -- gpuemu --gpus 1 -- \
		"$SOURCE/examples/launch.sh" 1 "$programs/examples/ddp" --steps 3 >/dev/null
	RANK=$i WORLD_SIZE=1 SLURM_PROCID=$i SLURM_STEP_NUM_TASKS=2 SLURM_JOB_ID=9 \
		gpucapture --raw -o "$work/tied$i" -- gpuemu --gpus 1 -- \
		"$SOURCE/examples/launch.sh" 1 "$programs/examples/ddp" --steps 3 >/dev/null
done
refuses 3 'not known to be of the same run' gputrace import -o "$work/strangers" "$work/alone0.raw" "$work/alone1.raw"
refuses 3 'the same recording as' gputrace import -o "$work/strangers" "$work/alone0.raw" "$work/alone0.raw"
gputrace import -o "$work/strangers" "$work/tied0.raw" "$work/tied1.raw" >/dev/null
write_reports "$work/strangers"

python3 - "$work" <<'PY'
import json, sys

work = sys.argv[1]
def info(name): return json.load(open(f'{work}/{name}.json', encoding='utf-8'))
def emulated(name): return json.load(open(f'{work}/{name}.emulated', encoding='utf-8'))

for name in ('run', 'late.one'):
    i, e = info(name), emulated(name)
    facts = i['facts']
    assert i['gpus'] == 4 and [r['rank'] for r in i['ranks']] == [0, 1, 2, 3], name
    assert [h['ranks'] for h in facts['hosts']] == [[0, 1], [2, 3]], facts['hosts']
    assert [h['host'] for h in facts['hosts']] == ['alpha', 'beta'], facts['hosts']
    assert facts['hosts'][1]['clock'] == 'collectives', facts['hosts']
    assert facts['clocks']['collectives'] == 24 * 4, facts['clocks']
    assert facts['clocks']['out_of_order'] == 0, facts['clocks']
    assert e['broken'] == 0, e
    assert e['mean_abs_error'] < 0.02, e['mean_abs_error']
    assert 'missing_ranks' not in facts, facts
assert info('late.one')['facts']['missing_parts'] == ['part 2 of 3']

strangers = info('strangers')
assert [h['clock'] for h in strangers['facts']['hosts']] == ['reference', 'unknown'], strangers['facts']
assert strangers['facts']['clocks']['collectives'] == 0, strangers['facts']
PY
