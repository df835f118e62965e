# SPDX-License-Identifier: Apache-2.0
# What is recorded of the driver is what CUPTI saw of it. Without device times and digests, so that the recorder itself
# calls nothing.
. "$SOURCE/tests/gpu/lib.sh"
oracle=$BUILD/tests/gpu/libcupti_counts.so
[ -e "$oracle" ] || skip "the oracle was not built (no CUPTI)"

CUDA_INJECTION64_PATH=$oracle CUPTI_COUNTS=$work/counts gpucapture -o "$work/run" --device-times=off -- \
	"$python" "$train" >"$work/out"
gputrace export --format=tsv -o "$work/tables" "$work/run"
"$python" - "$work" <<'PY'
import collections
import csv
import pathlib
import sys

csv.field_size_limit(1 << 30)
work = pathlib.Path(sys.argv[1])
recorded, seen = collections.Counter(), collections.Counter()
for path in work.glob('tables/**/gpu0/calls'):
    if 'gpus' not in path.parts:
        for row in csv.DictReader(open(path), delimiter='\t', quoting=csv.QUOTE_NONE):
            recorded[row['name']] += row['category'] == 'cuda_driver'
for line in open(work / 'counts'):
    name, calls = line.split()
    seen[name] += int(calls)
assert sum(seen.values()) > 1000, seen
wrong = {n: (recorded[n], seen[n]) for n in sorted(recorded | seen) if recorded[n] != seen[n]}
print(sum(seen.values()), 'calls of', len(seen), 'functions;', len(wrong), 'differ (recorded, seen):', wrong)
assert not wrong
PY
