# SPDX-License-Identifier: Apache-2.0
# A program that polls: repeated queries with the same answer become one call with a count; other
# calls are recorded individually.
. "$(dirname "$0")/lib.sh"
need_capture
program=$SOURCE/tests/capture/polls.py

gpucapture -o "$work/trace" -- gpuemu -- "$program" >"$work/out" 2>"$work/told" || die "$(cat "$work/told")"
gputrace verify "$work/trace" >/dev/null
gputrace export -f tsv -o "$work/tables" "$work/trace"
find "$work/tables" -name calls -exec cat {} + >"$work/calls"
python3 - "$work/calls" "$(cat "$work/out")" <<'PY'
import collections, re, sys
rows, queries, latest = collections.Counter(), 0, {}
with open(sys.argv[1]) as table:
    for line in table:
        fields = line.rstrip('\n').split('\t')
        if not fields[0].isdigit():
            continue
        number, start, duration, process, thread, name, _, correlation, args = fields
        rows[name] += 1
        repeated = int(dict(a.split('=', 1) for a in args.split(';')).get('repeated', 1))
        if name in ('cuStreamQuery', 'cuEventQuery'):
            queries += repeated
        elif repeated > 1:
            sys.exit(f'other calls are left out: {line}')
        assert int(start) >= latest.get(thread, 0), line
        latest[thread] = int(start) + int(duration)
print(dict(rows), queries)
# For each thread: the first query of each kind, the omitted ones, and the one that returns ready.
# Queries of the current context while polling count as omitted.
assert rows['cuStreamQuery'] <= 5 and rows['cuEventQuery'] <= 5, rows
assert rows['cuCtxGetCurrent'] >= 12, rows
made, polls_of_context = int(sys.argv[2]), 2 * 499
assert queries == made + polls_of_context, (queries, made)
PY
