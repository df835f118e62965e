# SPDX-License-Identifier: Apache-2.0
# Invalid input gives one line and the right exit status, and leaves no output.
. "$(dirname "$0")/lib.sh"
cd "$work"

event='{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":TS,"dur":1,"args":{"correlation":1}}'
file() {
	printf '{"distributedInfo":{"rank":%s,"world_size":%s},"traceEvents":[%s]}' "$1" "$2" \
		"$(printf '%s' "$event" | sed "s/TS/$3/")" >"$4"
}

file 0 2 1 rank-0.json
file 1 2 1 rank-1.json
gputrace import -o good rank-0.json rank-1.json >report
has_line '2 ranks, 2 records' <report

: >empty.json
refuses 3 'empty.json: the file is empty' gputrace import -o out empty.json
printf '{"traceEvents":[%s' "$event" >broken.json
refuses 3 'not JSON' gputrace import -o out broken.json
printf '{"traceEvents":[{"name":"a"b"}]}' >quote.json
refuses 3 'at byte 2' gputrace import -o out quote.json
printf '{"a":1}' >other.json
refuses 3 'not a profiler trace' gputrace import -o out other.json
seq 1 20000 | sed "s/.*/$event,/; s/TS/&/" | { printf '{"traceEvents":['; cat; } | gzip >whole.json.gz
head -c 700 whole.json.gz >cut.json.gz
refuses 3 'cut.json.gz: the gzip file is truncated at byte 700' gputrace import -o out cut.json.gz
refuses 3 'cannot import nowhere.json: No such file' gputrace import -o out nowhere.json
# More GPUs than a process can have.
call='{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9000,"tid":1,"ts":I,"dur":1,"args":{"correlation":I}}'
kernel='{"ph":"X","cat":"kernel","name":"k","pid":I,"tid":7,"ts":I,"dur":1,"args":{"correlation":I}}'
on_gpus() {
	echo '{"traceEvents":['
	seq "$1" | awk -v pair="$call,$kernel" '{ text = pair; gsub(/I/, NR, text); print (NR > 1 ? "," : "") text }'
	echo ']}'
}
on_gpus 64 >gpus.json
gputrace import -o gpus gpus.json | has_line '64 ranks'
on_gpus 65 >more.json
refuses 3 'more.json: too many GPUs for one file; import one file for each rank' gputrace import -o out more.json
# Files of two processes merged into one: a correlation id may stand for a call of either.
printf '{"traceEvents":[%s,%s,%s,%s]}' "$call" "$kernel" "$call" "$kernel" |
	sed 's/"pid":I/"pid":1/g; s/I/7/g; s/9000/9001/' >merged.json
refuses 3 'merged.json: files of several processes were merged into this file; import one file for each process' \
	gputrace import -o out merged.json
file 0 2 1 again.json
refuses 3 'duplicate rank 0; rank-0.json has it, too' gputrace import -o out rank-0.json again.json
file 1 4 1 world.json
refuses 3 'it is of another run: its world_size is 4' gputrace import -o out rank-0.json world.json
file 1 2 90000000 later.json
refuses 3 'it is of another run: it begins' gputrace import -o out rank-0.json later.json

# Exit statuses for invalid command lines.
fails -2 gputrace import rank-0.json
fails -2 gputrace import -o out
fails -2 gputrace import -o good rank-0.json
says 'it exists already'
mkdir precious
fails -2 gputrace import --force -o precious rank-0.json
[ -d precious ] || die 'a folder that is no trace was replaced'
gputrace import --force -o good rank-0.json >report
has_line '1 rank of a run of 2, 1 record' <report

# Input from a pipe.
gzip -c rank-0.json | gputrace import -o piped - >report
gputrace import -o piped2 rank-0.json >report2
equal "$(grep ' id ' report)" "$(grep ' id ' report2)"

# A named pipe is opened once: its writer would get SIGPIPE between two readers.
if command -v strace >/dev/null; then
	mkfifo once
	cat rank-0.json >once &
	ASAN_OPTIONS=detect_leaks=0 strace -f -e trace=openat -o opened gputrace import -o piped3 once >/dev/null
	wait $!
	equal "$(grep -c '"once"' opened)" 1
else
	left_out 'opens of a named pipe: no strace'
fi

# Interrupted: no output is left. The pipe stays open, so that the import has not finished.
mkfifo pipe
gputrace import -o interrupted pipe 2>/dev/null &
pid=$!
exec 3>pipe
{ printf '{"traceEvents":['; seq 1 20000 | sed "s/.*/$event,/; s/TS/1/"; } >&3
kill -TERM $pid
seq 1 20000 | sed "s/.*/$event,/; s/TS/1/" >&3 2>/dev/null || true
exec 3>&-
got=0
wait $pid || got=$?
equal $got 143
prints_nothing find . -name 'interrupted*'

# Invalid JSON that is read nevertheless: counted, and written as valid JSON.
gputrace import -o lax "$SOURCE/tests/fuzz/corpus/kineto/lax.json" >report
has_line ' 5 values are invalid in JSON' <report
has_line ' 3 trailing commas were ignored' <report
has_line 'skipped .* 1  ph X, cat kernel: its time is not a number' <report
gputrace export -o lax.json lax
python3 -c "import json; json.load(open('lax.json'))"
gputrace import -o lax2 lax.json >/dev/null
gputrace diff lax lax2 >/dev/null
printf '[{"ph":"X","cat":"cpu_op","name":"a\377\303b","pid":1,"tid":1,"ts":1,"dur":2}]' >bytes.json
gputrace import -o bytes bytes.json >/dev/null
gputrace export -o bytes2.json bytes
python3 -c "import json; json.load(open('bytes2.json', encoding='utf-8', errors='strict'))"
