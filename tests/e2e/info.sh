# SPDX-License-Identifier: Apache-2.0
# `gputrace info` says what the recorder's files say: of runs that are made here, and of real ones.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "there is no python3"

# check NAME FILE...
check() {
	name=$1
	shift
	gputrace import -o "$work/$name" "$@" >/dev/null
	gputrace info --json "$work/$name" >"$work/$name.report"
	python3 "$SOURCE/tests/e2e/info_counts.py" "$work/$name.report" "$@" || die "$name"
	gputrace info "$work/$name" >"$work/$name.text"
	[ -s "$work/$name.text" ] || die "$name: no report"
}

for plan in ddp tensor; do
	for dialect in us ns; do
		python3 "$SOURCE/bench/make_run.py" --plan=$plan --dialect=$dialect -o "$work/made" \
			>/dev/null
		check "$plan-$dialect" "$work/made"/*.json
	done
done

gputrace info "$work/ddp-ns" --iteration 2 | head -1 | grep -q '^iteration 2, 4 GPUs, '
gputrace info "$work/ddp-ns" --gpu 3 | head -1 | grep -q '^GPU 3, 3 iterations, '
equal "$(gputrace info --json --iteration 2 --gpu 1 "$work/ddp-ns" |
	python3 -c 'import json, sys; r = json.load(sys.stdin); print([(i["iteration"], [g["gpu"] for g in i["gpus"]]) for i in r["iterations"]])')" \
	'[(2, [1])]'
equal "$(gputrace info --top 1 "$work/ddp-ns" | grep -c 'more; --top=')" 1
gputrace info --sizes "$work/ddp-ns" | grep -q '^  all .*100.0 %'
gputrace info --sizes --json "$work/ddp-ns" | python3 -c 'import json, sys
r = json.load(sys.stdin)
assert sum(row["bytes"] for row in r["sizes"]) == r["bytes"], r'
fails -2 gputrace info "$work/ddp-ns" --iteration 77
says 'has no iteration 77'
fails -2 gputrace info "$work/ddp-ns" --gpu 77
says 'has no GPU 77'
fails -2 gputrace info "$work/ddp-ns" --top none
says "--top wants a whole number"
fails -3 gputrace info "$work/made"
says 'cannot open'
fails -3 gputrace info "$work/nowhere"
says 'No such file or directory'

if [ ! -d "$traces" ]; then
	echo "skipped: ../shared/traces is not there; runs made here were checked"
	exit 77
fi
for run in "$traces"/*/; do
	check "$(basename "$run")" "$run"rank-*.json.gz
done
