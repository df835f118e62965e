# SPDX-License-Identifier: Apache-2.0
# Programs on two simulated hosts, recorded by a gpucapture on each: the parts are joined into one
# trace on one clock, aligned within the stated error; missing ranks are reported. A host is a UTS
# namespace with its own name and a time namespace with another CLOCK_MONOTONIC.
. "$(dirname "$0")/lib.sh"
need_capture
[ -x "$programs/examples/ddp" ] || skip "the CUDA examples were not built (no nvcc)"
unshare --uts --time --monotonic 1000 true 2>/dev/null || skip "namespaces cannot be made here"
split=$BUILD/tests/e2e/split
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

# The last host to end joins the parts and removes them.
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
says "it holds an earlier recording"
unset SLURM_PROCID SLURM_STEP_NUM_TASKS

# Clocks that differ by seconds and drift, and end times with noise.
"$split" "$work/run" "$work/a" 0 1 0 0 2000 alpha 5000000000
"$split" "$work/run" "$work/b" 2 3 -77123456789 800 2000 beta 82123456789
gputrace join --json -o "$work/joined" "$work/b" "$work/a" >"$work/joined.report"
write_reports "$work/joined"

# Hosts without common collectives are aligned by CLOCK_REALTIME.
for i in 0 1; do
	RANK=0 WORLD_SIZE=1 gpucapture -o "$work/alone$i" -- gpuemu --gpus 1 -- \
		"$SOURCE/examples/launch.sh" 1 "$programs/examples/ddp" --steps 3 >/dev/null
done
refuses 3 'not known to be of the same run' gputrace join -o "$work/strangers" "$work/alone0" "$work/alone1"
"$split" "$work/alone0" "$work/x" 0 0 0 0 0 alpha 1000 0 2 job
"$split" "$work/alone1" "$work/y" 0 0 50000000 0 0 beta -49999000 1 2 job
gputrace join -o "$work/strangers" "$work/x" "$work/y" >/dev/null
write_reports "$work/strangers"

python3 - "$work" <<'PY'
import json, sys

work = sys.argv[1]
def info(name): return json.load(open(f'{work}/{name}.json', encoding='utf-8'))
def emulated(name): return json.load(open(f'{work}/{name}.emulated', encoding='utf-8'))

for name in ('run', 'late.one', 'joined'):
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

whole, joined = info('run'), info('joined')
for kind in ('call', 'kernel', 'memcpy', 'collective', 'sync'):
    assert whole['records'][kind] == joined['records'][kind], (kind, whole['records'], joined['records'])
other = joined['facts']['hosts'][1]
assert abs(other['drift_ppm'] - 800) < 100, other
clocks = joined['facts']['clocks']
assert 0 < clocks['p50_ns'] <= 2000, clocks
assert clocks['p95_ns'] <= whole['facts']['clocks']['p95_ns'] + 6000, (clocks, whole['facts']['clocks'])
assert json.load(open(f'{work}/joined.report', encoding='utf-8'))['p95_ns'] == clocks['p95_ns']
for a, b in zip(whole['ranks'], joined['ranks']):
    assert abs(a['start_ns'] - b['start_ns']) < 20000, (a, b)

strangers = info('strangers')
assert [h['clock'] for h in strangers['facts']['hosts']] == ['reference', 'realtime'], strangers['facts']
assert strangers['facts']['hosts'][1]['ahead_ns'] == 50000000, strangers['facts']
assert strangers['facts']['clocks']['collectives'] == 0, strangers['facts']
PY
