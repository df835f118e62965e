# SPDX-License-Identifier: Apache-2.0
# `gputrace diff` finds the first difference between two runs.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "missing python3"
cd "$work"

# run NAME ARGUMENT...: makes a trace of a synthetic run.
run() {
	name=$1
	shift
	python3 "$SOURCE/bench/make_run.py" -o "$name.files" "$@" >/dev/null
	gputrace import -o "$name" "$name.files"/*.json >/dev/null
}

run a --plan=tensor --ranks=2 --steps=2
run same --plan=tensor --ranks=2 --steps=2
run times --plan=tensor --ranks=2 --steps=2 --seed=2
run longer --plan=tensor --ranks=2 --steps=3
run wider --plan=tensor --ranks=4 --steps=2
run deeper --plan=tensor --ranks=2 --steps=2 --layers=17

gputrace diff a same | has_line -x 'a and same are the same'
gputrace diff a times | has_line 'execute the same calls and operations'
parts() {
	status=0
	line=$(gputrace diff a "$1") || status=$?
	equal "$status" 1
	case $line in "a and $1 differ"*"$2"*) ;; *) die "'$2' is not in: $line" ;; esac
}
parts longer 'iteration 3, stream 7, number 380: nothing in the first, memcpy '
parts wider ': 2 ranks in the first, 4 ranks in the second'
parts deeper 'at GPU 0, iteration 1, '
fails -1 gputrace diff --json a deeper
python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
assert not r["same"] and r["difference"]["iteration"] == 1, r' "$work/stdout"
fails -3 gputrace diff a nowhere
says 'cannot open nowhere'
fails -2 gputrace diff a
says 'missing argument; expected TRACE TRACE'

# Names of threads are escaped on a terminal.
for name in f g; do
	printf '{"traceEvents":[{"ph":"X","cat":"cuda_runtime","name":"%s","pid":1,"tid":"a\\u001b[31m","ts":1,"dur":1}]}' \
		$name >$name.json
	gputrace import -o $name $name.json >/dev/null
done
fails -1 gputrace diff f g
grep -qF 'thread a\x1b[31m' stdout || die "$(cat stdout)"

# Arguments named like a size may hold addresses, which differ between runs; queries are not compared.
# run_of NAME ADDRESS KERNEL QUERY...
run_of() {
	local name=$1 at=$2 kernel=$3 queries='' query
	shift 3
	for query; do
		queries=$queries'{"ph":"X","cat":"cuda_driver","name":"'$query'","pid":1,"tid":1,"ts":3,"dur":1},'
	done
	printf '{"traceEvents":[%s,%s%s,%s,%s]}' \
		'{"ph":"X","cat":"cuda_driver","name":"cuDeviceTotalMem_v2","pid":1,"tid":1,"ts":1,"dur":1,"args":{"bytes":'$at'}}' \
		"$queries" \
		'{"ph":"X","cat":"cuda_driver","name":"cuLaunchKernel","pid":1,"tid":1,"ts":5,"dur":1,"args":{"correlation":1}}' \
		'{"ph":"X","cat":"kernel","name":"'$kernel'","pid":0,"tid":7,"ts":6,"dur":1,"args":{"device":0,"stream":7,"correlation":1}}' \
		'{"ph":"X","cat":"cuda_driver","name":"cuCtxSynchronize","pid":1,"tid":1,"ts":8,"dur":1}' >"$name.json"
	gputrace import -o "$name" "$name.json" >/dev/null
}
run_of here 94812022513184 f cuStreamIsCapturing
run_of there 94879063891536 f cuStreamQuery cuStreamQuery cuStreamQuery
run_of other 94812022513184 g cuStreamIsCapturing
for option in '' --operations; do
	gputrace diff $option here there | has_line 'execute the same calls and operations'
	fails -1 gputrace diff $option here other
	has_line 'stream 7, .*kernel f.*kernel g' <stdout
done
