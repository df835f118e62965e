# SPDX-License-Identifier: Apache-2.0
# Real files become traces that say the same: every event, argument for argument, and again when
# what was exported is imported.
. "$(dirname "$0")/lib.sh"
need_traces torchrec-resnet18-2xV100
command -v python3 >/dev/null || skip "there is no python3"

id_of() {
	grep -o '"id": *"[0-9a-f]*"' "$1" | head -1
}

# Bytes a record that a run may take.
bound() {
	case $1 in
	torchrec-*) echo 2.2 ;;
	nanogpt-*) echo 5.2 ;;
	*) echo 100 ;;
	esac
}

for run in "$traces"/*/; do
	name=$(basename "$run")
	gputrace import -o "$work/$name" --json "$run"rank-*.json.gz >"$work/report"
	sized "$work/$name"
	gputrace export --format=chrome -o "$work/$name.files" "$work/$name"
	pairs=
	for file in "$run"rank-*.json.gz; do
		pairs="$pairs $file $work/$name.files/$(basename "$file" .gz)"
	done
	# shellcheck disable=SC2086
	python3 "$SOURCE/tests/e2e/same_events.py" $pairs || die "$name: not what was recorded"

	gputrace import -o "$work/again" --json "$work/$name.files"/*.json >"$work/report.again"
	equal "$(id_of "$work/report")" "$(id_of "$work/report.again")"
	gputrace export --format=chrome -o "$work/merged.json.gz" "$work/$name"
	gputrace import -o "$work/again" --force --json "$work/merged.json.gz" >"$work/report.again"
	equal "$(id_of "$work/report")" "$(id_of "$work/report.again")"
	rm -rf "$work/again" "$work/$name.files"
	echo "$name: $(python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
kept = sum(r["kept"].values())
assert r["read"] == kept + r["names"] + r["implied"] + r["skipped"] and r["skipped"] == 0, r
assert r["bytes"] < kept * float(sys.argv[2]), r
print(r["read"], "events,", kept, "records,", r["bytes"], "bytes")' "$work/report" "$(bound "$name")")"
done
