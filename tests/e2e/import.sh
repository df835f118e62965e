# SPDX-License-Identifier: Apache-2.0
# Real profiler files become traces with every event and argument; importing their export gives the
# same again.
. "$(dirname "$0")/lib.sh"
need_traces torchrec-resnet18-2xV100
command -v python3 >/dev/null || skip "missing python3"

id_of() {
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$1"
}

# bound RUN: the allowed bytes a record: the present size (README, "stored") plus 2 %.
bound() {
	case $1 in
	torchrec-resnet18-2xV100) echo 2.26 ;;
	torchrec-dlrm-*-4xV100) echo 2.40 ;;
	nanogpt-H100-rank0of8) echo 5.38 ;;
	hta-cudagraphs-A100-rank0of16) echo 1.17 ;;
	hta-nccl-args-A100-rank0of2) echo 4.24 ;;
	tracelens-resnet-MI300X-rank0of8) echo 2.83 ;;
	*) echo 150 ;; # of a thousand records or fewer
	esac
}

# check_report FILE BOUND: every event that was read is accounted for, and the size is within BOUND.
check_report() {
	python3 - "$@" <<'PY'
import json, sys
report, bound = json.load(open(sys.argv[1])), float(sys.argv[2])
kept = sum(report['kept'].values())
assert report['skipped'] == 0 and report['read'] == kept + report['names'] + report['rebuilt'], report
assert 0 < report['bytes'] < kept * bound, f"{report['bytes'] / kept:.2f} bytes a record; at most {bound}"
print(f"{report['read']} events, {kept} records, {report['bytes'] / kept:.2f} bytes a record (at most {bound})")
PY
}

for run in "$traces"/*/; do
	name=$(basename "$run")
	echo "$name"
	gputrace import -o "$work/$name" --json "$run"rank-*.json.gz >"$work/report"
	gputrace export --format=chrome -o "$work/$name.files" "$work/$name"
	pairs=
	for file in "$run"rank-*.json.gz; do
		pairs="$pairs $file $work/$name.files/$(basename "$file" .gz)"
	done
	# shellcheck disable=SC2086
	python3 "$SOURCE/tests/e2e/same_events.py" $pairs || die "$name: differs from the profiler files"

	gputrace import -o "$work/again" --json "$work/$name.files"/*.json >"$work/report.again"
	equal "$(id_of "$work/report")" "$(id_of "$work/report.again")"
	gputrace export --format=chrome -o "$work/merged.json.gz" "$work/$name"
	gputrace import -o "$work/again" --force --json "$work/merged.json.gz" >"$work/report.again"
	equal "$(id_of "$work/report")" "$(id_of "$work/report.again")"
	rm -rf "$work/again" "$work/$name.files"
	allowed=$(bound "$name")
	check_report "$work/report" "$allowed"
done
