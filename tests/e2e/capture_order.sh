# SPDX-License-Identifier: Apache-2.0
# Calls of several threads are in the order in which they returned, also where the emulated clock
# does not tell it: waits of one thread find the records of another.
. "$(dirname "$0")/lib.sh"
need_capture
program=$programs/tests/capture/capture_order
[ -x "$program" ] || skip "this build has no CUDA headers"
cd "$work"

gpucapture -o run -- gpuemu -o report -- "$program" 2>err || die "$(cat err)"
gputrace export -f tsv -o tables run
python3 - tables <<'PY'
import csv, pathlib, sys

def rows(table, name):
    return [r | dict(a.split('=', 1) for a in r['args'].split(';') if '=' in a)
            for p in sorted(pathlib.Path(sys.argv[1]).glob(f'**/gpu0/{table}')) if 'gpus' not in p.parts
            for r in csv.DictReader(open(p), delimiter='\t', quoting=csv.QUOTE_NONE) if r['name'] == name]

records = {r['hEvent.id']: r for r in rows('calls', 'cuEventRecord')}
waits = {r['hEvent.id']: r for r in rows('calls', 'cuStreamWaitEvent')}
syncs = {r['wait_on_cuda_event_id']: r for r in rows('syncs', 'Stream Wait Event')}
assert len(records) == len(waits) == len(syncs) == 10, (len(records), len(waits), len(syncs))
before = -1
for event, wait in sorted(waits.items(), key=lambda item: int(item[1]['order'])):
    assert syncs[event]['wait_on_cuda_event_record_corr_id'] == records[event]['correlation'], event
    order = int(records[event].get('order', 0)) # none: before the first call of the other thread
    assert (order > before or order == 0) and order < int(wait['order']), (records[event], wait)
    before = order
PY
