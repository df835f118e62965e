# SPDX-License-Identifier: Apache-2.0
# A file larger than the memory limit, and an iteration larger than a slice.
. "$(dirname "$0")/lib.sh"
cd "$work"

awk 'BEGIN {
	printf "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#7\","
	printf "\"pid\":1,\"tid\":2,\"ts\":0,\"dur\":3000000}"
	for (i = 0; i < 1200000; i++)
		printf ",{\"ph\":\"X\",\"cat\":\"c\",\"name\":\"n\",\"pid\":1,\"tid\":2,\"ts\":%d,\"dur\":1}", i * 7919 % 3000000
	print "]}"
}' | gputrace import -o step - >report
grep -q '1,200,001 ranges' report || die "$(cat report)"
gputrace verify step
gputrace info --json step >info
tr -d ' \n' <info | has_line '"iterations":\[{"iteration":7,"gpus":\[{"gpu":0,"start_ns":0,"duration_ns":3000000000'
gputrace export --format=chrome step | gputrace import -o again - >report.again
equal "$(grep ' id ' report)" "$(grep ' id ' report.again)"

limit=160000
(ulimit -v $limit && gputrace --version) >/dev/null 2>&1 ||
	skip "this gputrace does not run in $limit KiB (a sanitizer?)"
"$BUILD/bench/import/generate" 400000000 |
	(ulimit -v $limit && gputrace import -o large -) >report
grep -q ' bytes of JSON' report
gputrace verify large
