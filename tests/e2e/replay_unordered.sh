# SPDX-License-Identifier: Apache-2.0
# gpureplay --repeat tells operations that differ from themselves from those that are exact, compares
# what lies behind them, and keeps them in the executed trace.
. "$(dirname "$0")/lib.sh"
need_capture
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # LeakSanitizer does not work in a confined worker
program=$programs/tests/e2e/replay_unordered
[ -x "$program" ] || skip "the program was not built (no nvcc)"
cd "$work"

gpucapture --digest=launch --embed-images -o run -- gpuemu -o report -- "$program"
replay() {
	gpuemu -o report --kernels "$program.so" -- gpureplay "$@"
}

# Executed once, nothing tells it from a fault.
fails -1 replay run
grep -q 'First difference: .*kernel stamp.* wrote 8 bytes' stdout || die "$(cat stdout)"

replay --repeat 3 -o again run >text
has_line -x 'No differences, except in outputs of unordered operations and in operations that read them.' <text
has_line -x 'Executed 3 times: 3 operations are unordered: same inputs, different outputs' <text
has_line -x '  3 kernel stamp.*' <text
gputrace verify again >/dev/null
gputrace info again | has_line -x '  unordered 3 of kernel stamp.* (3 executions)'
replay --json --repeat 2 run >json
gputrace info --json again >info
python3 - json info <<'PY'
import json, sys
replayed, info = (json.load(open(name)) for name in sys.argv[1:])
assert replayed['same'] and 'difference' not in replayed, replayed
assert [g['differing_unordered'] for g in replayed['gpus']] == [3], replayed
repeated = replayed['repeated']
assert repeated['executions'] == 2 and not repeated['same'] and 'difference' not in repeated, repeated
assert [(u['kind'], u['operations']) for u in repeated['unordered']] == [('kernel', 3)], repeated
assert 'stamp' in repeated['unordered'][0]['name'], repeated
facts = [f for f in json.dumps(info).split('"replay.unordered"')]
assert len(facts) == 3, info
PY

# A fault behind it is found.
export WRONG_COUNT=1
fails -1 replay --repeat 2 run
grep -q 'First difference: .*kernel count.* wrote 8 bytes' stdout || die "$(cat stdout)"
