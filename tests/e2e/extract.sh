# SPDX-License-Identifier: Apache-2.0
# A launch is extracted from a recording, runs as a program of its own, and in gpureplay.
. "$(dirname "$0")/lib.sh"
need_capture
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # LeakSanitizer does not work in a confined process
examples=$programs/examples
[ -x "$examples/ddp" ] || skip "the examples were not built (no nvcc)"
cd "$work"

# recorded NAME OPTION...
recorded() {
	local name=$1
	shift
	gpucapture "$@" -o "$name" -- gpuemu --gpus 2 -o report -- \
		sh "$SOURCE/examples/launch.sh" 2 "$examples/ddp" --steps 2 --hidden 64 >/dev/null
	gputrace export --format=tsv -o "$name.tables" "$name"
}

# number NAME KERNEL: of the first such launch in iteration 1 on GPU 1.
number() {
	awk -F '\t' -v kernel="$2" 'index($6, kernel) == 1 && !found { print $1; found = 1 }' \
		"$1.tables/iterations/000001/gpu1/kernels"
}

# emulated COMMAND...: with the host kernels of the examples.
emulated() {
	gpuemu -o report --kernels "$examples/kernels.so" -- "$@"
}

recorded run --digest=launch --payloads=0-1000 --embed-images
for kernel in bias_relu relu_back difference gpuemu_gemm; do
	op=$(number run $kernel)
	gputrace extract --gpu 1 --op "$op" -o $kernel run | has_line "^$kernel: kernel .*$kernel.*, [23] buffers of "
	emulated gpureplay $kernel | has_line 'bytes of outputs are the same$'
done
"${CC:-cc}" -Wall -Wextra -Werror -o repro bias_relu/repro.c -ldl
emulated ./repro --repeat=3 bias_relu >out
has_line 'bias_relu.*: [0-9]* bytes of outputs are the same$' <out
has_line '^3 launches: minimum [0-9.]* us, mean' <out
emulated gpureplay --json --repeat=5 bias_relu | python3 -c 'import json, sys
r = json.load(sys.stdin)
assert r["same"] and r["inputs_recorded"] and r["launches"] == 5 and r["least_us"] > 0, r
assert r["checked_bytes"] > 16640, r'

# Another input has another output: both say so.
file=$(sed -n 's/^input 1 0 //p' bias_relu/launch)
printf '\377\377\377' | dd of="bias_relu/$file" bs=1 seek=5000 conv=notrunc 2>/dev/null
fails -1 emulated ./repro bias_relu
grep -qE '[1-4] of [0-9]* bytes differ; memory-[0-9]*.bin differs first at byte 500[0-3] of 32768' stdout || die "$(cat stdout)"
fails -1 emulated gpureplay --json bias_relu
python3 -c 'import json, sys; assert not json.load(open(sys.argv[1]))["same"]' stdout

# A host kernel cannot start programs.
fails -1 env ESCAPE="$work/escaped" gpuemu -o report --kernels "$BUILD/tests/e2e/libescape.so" -- gpureplay bias_relu
has_line -E '^escape: write (EACCES|0), start EPERM$' <stderr

# Without contents it runs with others, and says so.
recorded bare --embed-images
op=$(number bare bias_relu)
gputrace extract --gpu 1 --op "$op" -o seeded bare | has_line 'inputs were not recorded'
emulated gpureplay seeded | has_line 'inputs were not recorded: ran on other data, outputs not checked'
gputrace extract --json --gpu 1 --op "$op" -o again bare | python3 -c 'import json, sys
r = json.load(sys.stdin)
assert not r["inputs_recorded"] and r["buffers"] == 2, r'
equal "$(cat again/launch)" "$(cat seeded/launch)"

# PyTorch's kernels on lists of tensors have hundreds of buffers, with contents before and after.
cp -r again many
awk '/^pointer/ { for (i = 0; i < 1500; i++) print }' again/launch >>many/launch
emulated gpureplay many | has_line 'inputs were not recorded'

# Every launch of a kernel can be extracted, also cooperative launches and clusters; not those in graphs.
memory=$programs/tests/e2e/replay_memory
gpucapture --digest=launch --payloads=0-1000 --embed-images -o launches -- gpuemu -o report -- "$memory" >/dev/null
gputrace export --format=tsv -o launches.tables launches
cut -f 1,6 launches.tables/iterations/*/gpu0/kernels | sed '1d; /Host function$/d; /CUDA graph$/d' >ops
has_line axpy <ops
while read -r number name; do
	gputrace extract --op "$number" -o "op-$number" launches >"op-$number.out"
	case $name in follow*) continue ;; esac # it uses addresses in memory
	gpuemu -o report --kernels "$memory.so" -- gpureplay "op-$number" >>"op-$number.out"
done <ops
equal "$(grep -l '^cooperative 1$' op-*/launch | wc -l)" 1
equal "$(grep -l '^cluster 2 1 1$' op-*/launch | wc -l)" 1
equal "$(cat op-*.out | grep -c 'bytes of outputs are the same$')" $(($(wc -l <ops) - 1)) # all but `follow`
gpucapture --digest=launch --embed-images -o graphs -- gpuemu -o report -- "$memory" >/dev/null
gputrace export --format=tsv -o graphs.tables graphs
number=$(awk -F '\t' '$6 == "CUDA graph" { print $1; exit }' graphs.tables/iterations/*/gpu0/kernels)
fails -3 gputrace extract --op "$number" -o none graphs
says 'a graph; expected the launch of one kernel'

# A signal ends it, also while it waits for whoever reads its report.
python3 - "$op" <<'END'
import fcntl, os, signal, subprocess, sys, time
read, write = os.pipe()
filled = os.write(write, b'x' * fcntl.fcntl(write, fcntl.F_GETPIPE_SZ))
p = subprocess.Popen(['gputrace', 'extract', '--gpu', '1', '--op', sys.argv[1], '-o', 'signalled', 'bare'], stdout=write)
while not os.path.exists('signalled'):
    time.sleep(0.01)
p.send_signal(signal.SIGINT)
os.read(read, filled)
assert p.wait() == -signal.SIGINT, p.returncode
END

# Launches that cannot be extracted, and folders that cannot be run.
rm -f stdout stderr # left by `fails`
refuses 3 'is not a kernel launch' gputrace extract --op 0 -o none run
refuses 2 'no operation 99999999' gputrace extract --op 99999999 -o none run
refuses 2 'has no GPU 7' gputrace extract --gpu 7 --op 1 -o none run
refuses 2 'missing --op N' gputrace extract -o none run
refuses 2 'exists already' gputrace extract --op "$op" -o again run
recorded lean --digest=launch
op=$(number lean bias_relu)
refuses 3 'record with --embed-images' gputrace extract --gpu 1 --op "$op" -o none lean
echo 'parameter' >>seeded/launch
fails -3 emulated gpureplay seeded
grep -q 'cannot run seeded: .*invalid at' stderr || die "$(cat stderr)"
if [ "$(id -u)" = 0 ]; then
	chown -R 1234 again
	fails -3 emulated gpureplay again
	grep -q 'belongs to another user' stderr || die "$(cat stderr)"
	emulated gpureplay --trust again | has_line 'inputs were not recorded'
fi
