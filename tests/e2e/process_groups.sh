# SPDX-License-Identifier: Apache-2.0
# Collectives are matched by the process groups and numbers that PyTorch recorded.
. "$(dirname "$0")/lib.sh"

# make NAME OPTION...: a run with two kinds of groups, imported, and its tables.
make() {
	name=$1
	shift
	python3 "$SOURCE/bench/make_run.py" --plan=grid --ranks 4 --steps 2 --skew 3000 "$@" -o "$work/run-$name"
	gputrace import -o "$work/$name" "$work/run-$name"/rank-*.json >"$work/imported"
	gputrace export -f tsv -o "$work/tables-$name" "$work/$name"
}

# The profiler lost a collective: the order of the others does not show which one.
make lost --lost 1:3 --numbered
python3 - "$work/tables-lost" <<'PYTHON'
import csv
import glob
import sys

n = 0
for name in glob.glob(sys.argv[1] + '/iterations/*/gpu*/collectives'):
    with open(name, encoding='utf-8') as f:
        for row in csv.DictReader(f, delimiter='\t', quoting=csv.QUOTE_NONE):
            assert f';Seq={row["sequence"]};' in f';{row["args"]};', row
            n += 1
assert n == 2 * 4 * 36 - 1, n
PYTHON
gpureplay --emulate --json "$work/lost" >"$work/json"
has_line '"mean_abs_error": 0\.000' <"$work/json"
