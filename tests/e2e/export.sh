# SPDX-License-Identifier: Apache-2.0
# Exports are valid, written completely or not at all, and give the same trace when they are
# imported.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "missing python3"
cd "$work"

id_of() {
	gputrace info --json "$1" | grep -o '"id": "[0-9a-f]\{64\}"'
}

python3 "$SOURCE/bench/make_run.py" --plan=pipeline --ranks=4 --dialect=ns -o made >/dev/null
gputrace import -o trace made/*.json >/dev/null

# one file for each rank, or one for all, compressed or not, or on standard output
gputrace export --format=chrome -o files trace
equal "$(ls files)" "$(ls made)"
gputrace export -o merged.json.gz trace
gputrace export trace >merged.json
gzip -dc merged.json.gz | cmp - merged.json
for file in files/*.json merged.json; do
	python3 -m json.tool "$file" >/dev/null || die "$file is not JSON"
done
gputrace import -o again files/*.json >/dev/null
equal "$(id_of trace)" "$(id_of again)"
gputrace import -o again.merged merged.json.gz >/dev/null
equal "$(id_of trace)" "$(id_of again.merged)"
gputrace diff trace again.merged | has_line 'are the same'

# ranks whose times have different origins are aligned
python3 - <<'END'
import json
for rank, base in ((0, 1700000000000000000), (1, 1700000003000000000)):
    event = {'ph': 'X', 'cat': 'kernel', 'name': 'k', 'pid': 0, 'tid': 7, 'ts': 5000000.001 - rank * 3000000, 'dur': 1,
             'args': {'correlation': 1}}
    json.dump({'distributedInfo': {'rank': rank, 'world_size': 2}, 'baseTimeNanoseconds': base,
               'traceEvents': [event]}, open(f'apart-{rank}.json', 'w'))
END
gputrace import -o apart apart-*.json >/dev/null
gputrace export apart >apart.json
equal "$(grep '"cat":"kernel"' apart.json | grep -o '"ts":[^,]*' | sort -u)" '"ts":5000000.001'
gputrace import -o apart.again apart.json >/dev/null
equal "$(id_of apart)" "$(id_of apart.again)"

# parts of a trace
equal "$(gputrace export --iteration 2 --gpu 1 trace | grep -c 'ProfilerStep#')" 1

# the picture
for part in "" "--iteration 2" "--gpu 1" "--iteration 2 --gpu 1"; do
	# shellcheck disable=SC2086
	gputrace export --format=svg $part -o picture.svg trace
	python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' picture.svg ||
		die "picture of '$part' is not XML"
done

# the tables, with the columns that doc/mount.md lists
gputrace export --format=tsv -o tables trace
python3 - "$SOURCE/doc/mount.md" <<'END'
import glob
import re
import sys

text = open(sys.argv[1], encoding='utf-8').read().split('| table | columns |\n|---|---|\n')[1].split('\n\n')[0]
rows = re.findall(r'^\| (.*) \| (.*) \|$', text.replace('\\', ''), re.M)
assert len(rows) > 10, rows
for names, columns in rows:
    for name in names.split(', '):
        table = glob.glob('tables/' + (name if '/' in name else f'iterations/*/gpu*/{name}'))[0]
        header = open(table, encoding='utf-8').readline().split()
        assert header == columns.split(), f'{name} has the columns {header}, in doc/mount.md {columns}'
END

# output appears completely or not at all
ls -A >"$work.before"
fails -2 gputrace export -o files trace
says 'it exists already'
fails -2 gputrace export --format=otf2 trace
says "--format: invalid value 'otf2'; expected chrome, svg or tsv"
fails -3 gputrace export -o none.json made
says 'cannot open made'
if [ -w /dev/full ]; then
	fails -4 sh -c 'exec gputrace export trace >/dev/full'
	says 'No space left'
fi
fails -4 sh -c 'ulimit -f 1; exec gputrace export -o none.json trace'
says 'File too large'
rm -f stdout stderr
ls -A >"$work.after"
equal "$(cat "$work.before")" "$(cat "$work.after")"
rm -f "$work.before" "$work.after"
