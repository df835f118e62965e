# SPDX-License-Identifier: Apache-2.0
# Contents of all live memory at the beginning and the end of a range of iterations, by page: each
# page is stored once, over time and over GPUs.
. "$(dirname "$0")/lib.sh"
need_capture
program=$SOURCE/tests/capture/keyframes.py
cd "$work"

fails -2 gpucapture --keyframe=2 -o bad true
says "missing --payloads"
fails -2 gpucapture --payloads=1-2 --keyframe=0 -o bad true
says "invalid value '0'"

cat >check.py <<'PY'
import csv, pathlib, sys

trace, moments = pathlib.Path(sys.argv[1]), sys.argv[2].split()

def rows(pattern):
    return [r for p in sorted(trace.glob(pattern))
            for r in csv.DictReader(open(p), delimiter='\t', quoting=csv.QUOTE_NONE)]

PAGE = 65536

# The contents of a buffer after that many iterations.
def wanted(bytes, over, host):
    b = bytearray([238] * bytes)
    for k in range(over):
        at = k if host else k * PAGE
        b[at:at + (1 if host else 4096)] = bytearray([k + 1]) * (1 if host else 4096)
    return b

kind = {a['allocation']: a for a in rows('gpus/*/allocations')}
found, names = {}, set()
for row in rows('contents/index'):
    if not row['access'].startswith('live'):
        continue
    key = (row['access'], row['iteration'], row['allocation'])
    page = (trace / 'contents' / row['content']).read_bytes()
    assert len(page) == int(row['length_bytes']) <= PAGE
    assert int(row['gpu'].removeprefix('gpu')) == (int(kind[row['allocation']]['device'].replace('-', '0')))
    found.setdefault(key, {})[int(row['offset_bytes'])] = page
    names.add(row['content'])
assert {k[2] for k in found} == {'1', '2', '3'}, found.keys()
assert sorted({f'{k[0]}:{k[1]}' for k in found}) == sorted(moments), found.keys()
for (access, iteration, allocation), pages in found.items():
    host = kind[allocation]['kind'] == 'host'
    want = wanted(int(kind[allocation]['bytes']), int(iteration) + (access == 'live_after'), host)
    got = b''.join(pages[at] for at in sorted(pages))
    assert got == want, (access, iteration, allocation, [i for i in range(len(want)) if got[i:i+1] != want[i:i+1]][:5])
# Pages that differ: untouched, filled in part by each iteration, the short last one, and the host's.
print(len(names))
PY

record() {
	out=$1
	shift
	gpucapture "$@" -o "$out" -- gpuemu --gpus 2 -o report -- "$program" 2>err || die "$(cat err)"
	gputrace verify "$out" >/dev/null
	gputrace export -f tsv -o "tables.$out" "$out"
}

record two --payloads=1-2
[ "$(wc -l <tables.two/contents/index)" -gt 1 ] || skip "missing nvcc: the digest kernel was not built"
equal "$(python3 check.py tables.two "live:1 live_after:2")" 7
record every --payloads=0-2 --keyframe=1
equal "$(python3 check.py tables.every "live:0 live:1 live:2 live_after:2")" 9

gputrace info two | has_line "^  digests   comm, "

# The process ends within the range.
record rest --payloads=2-9
has_line live_after <tables.rest/contents/index

# Contents of a window.
record window --payloads=1-1 --iterations=1-1
equal "$(python3 check.py tables.window "live:1 live_after:1")" 6

# A thread for each GPU: none waits for a collective while others need it to launch their part.
if [ -x "$programs/examples/dataparallel" ]; then
	timeout 120 gpucapture --payloads=2-3 -o threads -- gpuemu --gpus 4 -o report -- \
		"$programs/examples/dataparallel" --steps 6 >out
	gputrace verify threads >/dev/null
fi

# A device that waits for the calling thread is not waited for: iteration 1 has no keyframe.
timeout 100 gpucapture --digest=launch --payloads=0-9 --keyframe=1 -o waits -- \
	gpuemu --gpus 2 -o report -- "$program" waits || die "the program did not end"
gputrace export --format=tsv -o waits.tables waits >/dev/null
equal "$(awk '$4 == "live" {print $2}' waits.tables/contents/index | sort -u | xargs)" "0 2"

# Nor before a window, where operations are not timed.
timeout 100 gpucapture --digest=launch --payloads=1-2 --iterations=1-2 -o untimed -- \
	gpuemu --gpus 2 -o report -- "$program" waits || die "the program did not end"
gputrace export --format=tsv -o untimed.tables untimed >/dev/null
equal "$(awk '$4 == "live" {print $2}' untimed.tables/contents/index | sort -u | xargs)" 2

# Digests of all memory are left out there, too.
timeout 100 gpucapture --digest=step -o step -- gpuemu --gpus 2 -o report -- "$program" waits ||
	die "the program did not end"
