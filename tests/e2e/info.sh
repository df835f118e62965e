# SPDX-License-Identifier: Apache-2.0
# `gputrace info` agrees with the profiler files of synthetic and of real runs.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "missing python3"

# differ FILE N: its table of kernels has N lines with different names.
differ() {
	local time='[0-9.]+ [a-z]+' share='[0-9.]+ %' count='[0-9,]+'
	sed -n '/^Kernels/,/^$/p' "$1" | sed '1,2d;/^$/d' |
		sed -E "s/^ +$time +$share +$count +$time +$time  //" >"$work/names"
	equal "$(wc -l <"$work/names")" "$2"
	sort "$work/names" | uniq -d >"$work/twice"
	[ ! -s "$work/twice" ] || die "$1: shown twice: $(cat "$work/twice")"
}

# check NAME FILE...: compares the report with the files.
check() {
	name=$1
	shift
	gputrace import -o "$work/$name" "$@" >/dev/null
	gputrace info --json "$work/$name" >"$work/$name.report"
	python3 "$SOURCE/tests/e2e/info_counts.py" "$work/$name.report" "$@" || die "$name"
	echo "$name"
	python3 "$SOURCE/tests/e2e/info_busy.py" "$work/$name.report" "$@" || die "$name"
	python3 "$SOURCE/tests/e2e/info_parts.py" "$work/$name" || die "$name"
	gputrace info --top 100000 "$work/$name" >"$work/$name.text"
	[ -s "$work/$name.text" ] || die "$name: no report"
	differ "$work/$name.text" "$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["kernels"]))' "$work/$name.report")"
}

for plan in ddp tensor; do
	for dialect in us ns; do
		python3 "$SOURCE/bench/make_run.py" --plan=$plan --dialect=$dialect -o "$work/made" \
			>/dev/null
		check "$plan-$dialect" "$work/made"/*.json
	done
done

# The host launches iterations before the GPUs have finished the previous one.
python3 "$SOURCE/bench/make_run.py" --plan=ddp --dialect=ns --steps 6 --ahead -o "$work/made" >/dev/null
check ahead "$work/made"/*.json

gputrace info "$work/ddp-ns" --iteration 2 | sed -n 1p | has_line '^iteration 2, 4 GPUs, '
gputrace info "$work/ddp-ns" --gpu 3 | sed -n 1p | has_line '^GPU 3, 3 iterations, '
equal "$(gputrace info --json --iteration 2 --gpu 1 "$work/ddp-ns" |
	python3 -c 'import json, sys; r = json.load(sys.stdin); print([(i["iteration"], [g["gpu"] for g in i["gpus"]]) for i in r["iterations"]])')" \
	'[(2, [1])]'
equal "$(gputrace info --top 1 "$work/ddp-ns" | grep -c 'more; --top=')" 1
gputrace info --sizes "$work/ddp-ns" | has_line '^  all .*100.0 %'
gputrace info --sizes --json "$work/ddp-ns" | python3 -c 'import json, sys
r = json.load(sys.stdin)
assert sum(row["bytes"] for row in r["sizes"]) == r["bytes"], r'
fails -2 gputrace info "$work/ddp-ns" --iteration 77
says 'has no iteration 77'
fails -2 gputrace info "$work/ddp-ns" --gpu 77
says 'has no GPU 77'
fails -2 gputrace info "$work/ddp-ns" --top none
says "--top: invalid value"
fails -3 gputrace info "$work/made"
says 'cannot open'
fails -3 gputrace info "$work/nowhere"
says 'No such file or directory'

[ -d "$traces" ] || skip "../shared/traces is not there; runs made here were checked"
for run in "$traces"/*/; do
	check "$(basename "$run")" "$run"rank-*.json.gz
done
