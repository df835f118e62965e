# SPDX-License-Identifier: Apache-2.0
# Digests, device times and buffer contents that the capture library records on emulated GPUs.
. "$(dirname "$0")/lib.sh"
need_capture
contents=$SOURCE/tests/capture/contents.py
cd "$work"
virtual_only

# digests FILE: inputs and outputs of calls: operation, direction, buffer, digest, and the sums of
# pages.
digests() { { grep '^digest' "$1" || [ $? -eq 1 ]; } | sort -k2,2n -k3; }

record_rings none -g 0 -- "$contents"
no_line '^digest' none

# Digests equal those that the program prints.
record_rings copies -g 1 -- "$contents"
if ! grep -q '^digest' copies; then
	[ -x "$programs/examples/ddp" ] && die "no digests"
	skip "missing nvcc: the digest kernel was not built"
fi
grep '^want' copies | while read -r _ name bytes digest; do
	grep -q "^digest.*+$bytes of .* $digest\$\|^digest.*+$bytes of .* $digest " copies ||
		die "$name of $bytes bytes: no $digest among: $(digests copies)"
done
equal "$(grep -c '^digest' copies)" "$(grep -c '^want' copies)"
record_rings again -g 1 -- "$contents"
equal "$(digests again)" "$(digests copies)"

# One changed byte in the first buffer's second page changes the digest of that page, of that
# operation, and of copies of the buffer.
record_rings flipped -g 1 -- "$contents" 70000
digests copies >a
digests flipped >b
diff a b >changed || [ $? -eq 1 ]
equal "$(grep -c "^[<>]" changed)" 4
first=$(sed -n 's/^< //p' changed | sed -n 1p)
same=$(sed -n 's/^> //p' changed | sed -n 1p)
equal "$(cut -d' ' -f2-6 <<<"$first")" "$(cut -d' ' -f2-6 <<<"$same")"
case $first in *"out 0+200000 of"*) ;; *) die "the first difference is $first" ;; esac
for page in 1 2 3 4; do
	[ "$(cut -d' ' -f$((7 + page)) <<<"$first")" = "$(cut -d' ' -f$((7 + page)) <<<"$same")" ] ||
		echo $page
done >pages
equal "$(cat pages)" 2

# The same through a trace.
for byte in none same 70000; do
	[ $byte = 70000 ] && changed=70000 || changed=
	# shellcheck disable=SC2086 # may be none
	gpucapture --digest=comm -o trace.$byte -- gpuemu -o report -- "$contents" $changed >/dev/null
done
gputrace diff trace.none trace.same | has_line 'execute the same calls and operations'
status=0
line=$(gputrace diff trace.none trace.70000) || status=$?
equal "$status" 1
case $line in *": memcpy"*"wrote 200000 bytes at 0 "*"page 1 of 4"*) ;; *) die "$line" ;; esac

# Inputs and outputs of collectives, although the next collective overwrites the buffers.
record_rings exchanged -g 1 -- "$SOURCE/tests/capture/exchanged.py"
grep '^want' exchanged | cut -d' ' -f3 | sort >wanted
digests exchanged | cut -d' ' -f7 | sort >taken
cmp taken wanted || die "$(grep '^want' exchanged; digests exchanged)"

# The same with non-blocking communicators.
gpucapture --digest=comm -o progress -- gpuemu --gpus 2 -o report -- \
	"$SOURCE/tests/capture/exchanged.py" nonblocking >/dev/null
gputrace info --json progress | python3 -c 'import json, sys
made = [(c["kind"], c["count"]) for c in json.load(sys.stdin)["collectives"]]
assert made == [("broadcast", 6)], made'

# Contents are stored once each.
record_rings kept -g 1 -c 0-9 -- "$contents"
equal "$(digests kept)" "$(digests copies)"
equal "$(grep -c '^payload' kept)" "$(grep -c '^want' kept)"
[ "$(grep -c '^blob-' kept)" -le "$(grep '^want' kept | cut -d' ' -f3,4 | sort -u | wc -l)" ] ||
	die "contents were kept twice: $(grep '^blob-' kept)"

# A trace with contents: valid in both shapes, with one id; a wrong byte is detected.
gpucapture --digest=comm --embed-images --payloads=0-9 -o full -- gpuemu -o report -- "$contents" >/dev/null
[ -s full/blobs.chunks ] || die "no contents in the trace"
whole=$(gputrace verify full | grep '^id')
[ "$whole" != "$(gputrace verify trace.none | grep '^id')" ] || die "the id does not cover contents"
gputrace pack -o full.gputrace full
equal "$(gputrace verify full.gputrace | grep '^id')" "$whole"
gputrace unpack -o again.trace full.gputrace
diff -r full again.trace
printf '\377\0\377' | dd of=again.trace/blobs.chunks bs=1 seek=3000 conv=notrunc 2>/dev/null
fails -1 gputrace verify again.trace
grep -q 'blobs.chunks at byte .*(blob)' "$work/stdout" || die "verify: $(cat "$work/stdout")"
gpucapture --digest=comm --payloads=5-9 -o later -- gpuemu -o report -- "$contents" >/dev/null
[ ! -e later/blobs.chunks ] || die "contents of iterations that were not requested"

# Each copy has times if they are requested, and none otherwise.
record_rings timed -t -- "$contents"
grep '^call' timed | grep -E 'cuMemcpy' | cut -d' ' -f2 | sort >copied
grep '^times' timed | cut -d' ' -f2 | sort >times
equal "$(cat times)" "$(cat copied)"
no_line '^times' copies

# Digests between two operations do not count into the second one's time.
for level in 0 1; do
	record_rings behind$level -g $level -t -- "$SOURCE/tests/capture/times.py"
	grep '^times' behind$level | sort -k2,2n | sed -n '3s/.*+//p' >took$level
done
apart=$(($(cat took1) - $(cat took0)))
[ ${apart#-} -lt 500 ] || die "a copy takes $(cat took0) ns, and with digests $(cat took1)"

# Copies on the legacy stream and on a blocking stream in turns: each starts after the other's end.
record_rings legacy -t -- "$SOURCE/tests/capture/times.py" legacy
grep '^times' legacy | sort -k2,2n | sed 's/.*+//' >took
equal "$(wc -l <took)" 8
last=$(tail -n 1 took)
awk -v one="$last" '$1 < 0.98 * one || $1 > 1.02 * one { print; bad = 1 } END { exit bad }' took ||
	die "of copies that take $last ns alone"

# A device clock that is faster or slower than the host's is tracked: each operation lies between
# the host times before and after it, within the stated error.
for ppm in 0 100 -100 idle; do
	export GPUEMU_EVENT_PPM=$ppm
	idle=
	# The same after hours without operations; there the driver's float milliseconds would be
	# off by half of one.
	[ $ppm != idle ] || { GPUEMU_EVENT_PPM=0 idle=10000; }
	# shellcheck disable=SC2086 # may be none
	record_rings drift -t -- "$SOURCE/tests/capture/times.py" $((${idle:+-30} + 60)) $idle
	residual=$(sed -n 's/^fact device_times .*"residual_ns":[^0-9]*20\([0-9]*\),.*/\1/p' drift)
	[ "$residual" -lt 100000 ] || die "$ppm ppm: $(grep '^fact device_times' drift)"
	grep '^between' drift >saw
	grep '^times' drift | sort -k2,2n | paste -d' ' saw - | tr -d + >both
	equal "$(wc -l <both)" 60
	awk -v most="$residual" '$2 - $6 > most || $6 + $7 - $3 > most { print; bad = 1 } END { exit bad }' both ||
		die "$ppm ppm, $residual ns"
done
unset GPUEMU_EVENT_PPM

# All live buffers at the begin of an iteration: given by NVTX ranges named like iterations that are
# not nested, until the program marks an iteration.
steps=$programs/tests/capture/capture_steps
if [ ! -x "$steps" ]; then
	left_out "ranges of NVTX: missing NVTX headers"
else
	# is NAME WANTED...: the numbers of the lines of `want` that have digests.
	is() {
		name=$1
		shift
		digests "$name" | cut -d' ' -f7 >taken
		grep -a '^want' "$name" | cut -d' ' -f2 >all
		for line; do sed -n "${line}p" all; done >wanted
		cmp taken wanted || die "$name: $(grep -aE '^want|^range|^digest' "$name")"
	}
	record_rings steps -g 2 -- "$steps" train_step_0 layer3 Batch12 ProfilerStep#4,op_id=9 step iteration7of iter7
	is steps 1 4 5 7 10 12 13
	record_rings marked -g 2 -- "$steps" step0 mark step1 mark
	is marked 1 3 7
	record_rings unasked -g 1 -- "$steps" step0
	is unasked
fi

# Iterations found after the run have no such digests, and the trace says so.
if [ -x "$programs/examples/ddp" ]; then # otherwise the test ends below as skipped
	gpucapture --digest=step -o found -- gpuemu -o report -- "$SOURCE/examples/launch.sh" 1 "$programs/examples/ddp" --steps 6 >/dev/null
	gputrace info found | has_line 'missing .* iterations without digests at their ends'
fi
[ ! -x "$steps" ] || {
	gpucapture --digest=step -o said -- gpuemu -o report -- "$steps" step0 step1 >/dev/null
	gputrace info said >info
	no_line missing info
}

# Calls captured into a graph get neither digests nor times; each launch has times. A failed capture
# ends, too.
graph=$programs/tests/emugpu/emugpu_graph
if [ -x "$graph" ]; then
	for level in 0 1; do
		record_rings graphs -g $level -t -- "$graph"
		grep -aE '^call [0-9]* cu(StreamBegin|StreamEnd|GraphLaunch|LaunchKernel|Mem(cpy|set)[^ ]*Async|Memcpy)' graphs |
			awk '$3 ~ /Begin/ { inside = 1 } !inside && $7 == 0 { print $2 } $3 ~ /End/ { inside = 0 }' | sort >ran
		grep -a '^times' graphs | cut -d' ' -f2 | sort >times
		cmp ran times || die "level $level: $(diff ran times)"
	done
fi

# A program with kernels and collectives: two runs have equal digests at every level.
[ -x "$programs/examples/ddp" ] || skip "kernels and collectives: the CUDA examples were not built (no nvcc)"
for level in 1 3; do
	record_rings first -g $level -t -- "$programs/examples/ddp" --steps 2
	record_rings second -g $level -t -- "$programs/examples/ddp" --steps 2
	equal "$(digests first)" "$(digests second)"
	[ "$(grep -c '^digest' first)" -ge $((level * 13)) ] || die "few digests at level $level"
	equal "$(grep '^call' first | grep -cE ' cu(Launch|Memcpy|Memset)')" "$(grep -c '^times' first)"
done
