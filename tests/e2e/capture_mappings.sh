# SPDX-License-Identifier: Apache-2.0
# A buffer over several mappings is digested and kept whole; all memory has one numbering.
. "$(dirname "$0")/lib.sh"
need_capture
program=$SOURCE/tests/capture/mappings.py
cd "$work"

record() {
	out=$1
	shift
	gpucapture --payloads=0-9 -o "$out" -- gpuemu -o report -- "$program" "$@" 2>err || die "$(cat err)"
}
record run
gputrace export -f tsv -o tables run
[ -n "$(find tables -name digests -path '*/gpu0/*' -exec tail -qn +2 {} +)" ] ||
	skip "missing nvcc: the digest kernel was not built"
python3 - tables <<'PY'
import csv, pathlib, sys

def rows(pattern):
    return [r for p in sorted(pathlib.Path(sys.argv[1]).glob(pattern))
            for r in csv.DictReader(open(p), delimiter='\t', quoting=csv.QUOTE_NONE)]

UNIT = 2 << 20
memory = rows('gpus/gpu0/allocations')
assert [m['allocation'] for m in memory] == ['1', '2', '3', '4', '5'], memory
assert [m['kind'] for m in memory] == ['device', 'reservation'] + 3 * ['mapping'], memory
assert [int(m['bytes']) for m in memory] == [1000, 4 * UNIT] + 3 * [UNIT], memory
start = int(memory[1]['address'])
assert [int(m['address']) for m in memory[2:]] == [start, start + UNIT, start + 2 * UNIT]
assert [m['handle'] for m in memory[2:]] == ['1', '2', '3']
calls = {c['correlation']: c['name'] for c in rows('**/gpu0/calls')}
assert [calls[m['made']] for m in memory] == ['cuMemAlloc_v2', 'cuMemAddressReserve'] + 3 * ['cuMemMap']
assert [calls[m['ended']] for m in memory] == ['cuMemFree_v2', 'cuMemAddressFree'] + 3 * ['cuMemUnmap']

want = [('3', 4096, UNIT - 4096), ('4', 0, UNIT), ('5', 0, UNIT), ('3', UNIT - 500, 500), ('4', 0, 500)]
for table in [d for d in rows('iterations/*/gpu0/digests')], rows('contents/index'):
    got = [(d['allocation'], int(d['offset_bytes']), int(d['length_bytes'])) for d in table]
    assert sorted(got) == sorted(want + want[3:]), got
PY

# A byte behind the first mapping.
record changed 5000000
status=0
line=$(gputrace diff run changed) || status=$?
equal "$status" 1
case $line in *"wrote 2097152 bytes at 0 of allocation 5"*) ;; *) die "$line" ;; esac
