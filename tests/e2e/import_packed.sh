# SPDX-License-Identifier: Apache-2.0
# Compressed profiler files give the same trace as plain ones: gzip and zstd, in several members or frames, whatever the
# name, and from a pipe. A file that is cut short or damaged is refused.
. "$(dirname "$0")/lib.sh"
command -v zstd >/dev/null || skip "missing zstd"
cd "$work"

event='{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":TS,"dur":1,"args":{"correlation":TS}}'
{
	printf '{"distributedInfo":{"rank":0,"world_size":1},"traceEvents":['
	seq 1 20000 | sed "s/.*/$event,/" | awk '{ gsub(/TS/, NR); print }' | sed '$s/,$//'
	printf ']}'
} >plain.json
size=$(stat -c %s plain.json)
half=$((size / 2))

gzip -c plain.json >whole.json.gz
zstd -q -c plain.json >whole.json.zst
zstd -q -19 --long=20 --check -c plain.json >long.json.zst
{ head -c $half plain.json | gzip; tail -c +$((half + 1)) plain.json | gzip; } >members.json.gz
{ head -c $half plain.json | zstd -q; tail -c +$((half + 1)) plain.json | zstd -q; } >frames.json.zst
cp whole.json.zst other-name.json

id() { sed -n 's/^  id //p' "$1"; }
gputrace import -o plain plain.json >report.plain
has_line '1 rank, 20,000 records' <report.plain
for file in whole.json.gz members.json.gz whole.json.zst long.json.zst frames.json.zst other-name.json; do
	gputrace import -f -o packed "$file" >report
	equal "$(id report)" "$(id report.plain)"
done
gputrace import -f -o packed - <frames.json.zst >report
equal "$(id report)" "$(id report.plain)"

for name in gz zst; do
	head -c 300 "whole.json.$name" >"cut.json.$name"
done
refuses 3 'cut.json.gz: the gzip file is truncated at byte 300' gputrace import -o out cut.json.gz
refuses 3 'cut.json.zst: the zstd file is truncated at byte 300' gputrace import -o out cut.json.zst
{ head -c 300 whole.json.zst; head -c 300 /dev/zero; tail -c +601 whole.json.zst; } >damaged.json.zst
refuses 3 'damaged.json.zst: the zstd data is damaged' gputrace import -o out damaged.json.zst
