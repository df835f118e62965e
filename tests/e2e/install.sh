# SPDX-License-Identifier: Apache-2.0
# `meson install` installs everything that users need, and it works from any prefix.
. "$(dirname "$0")/lib.sh"
command -v meson >/dev/null || skip "missing meson"
meson install -C "$BUILD" --no-rebuild --quiet --destdir "$work/root" >"$work/log" 2>&1 || die "$(cat "$work/log")"
gputrace=$(find "$work/root" -path '*/bin/gputrace')
[ -x "$gputrace" ] || die "no bin/gputrace: $(find "$work/root")"
prefix=${gputrace%/bin/gputrace}
share=$prefix/share
cd "$work"

# All documents, manual pages, GPU models and the licence are installed.
for file in README.md CONTRIBUTING.md LICENSE; do
	cmp "$SOURCE/$file" "$share/doc/gpureplay/$file"
done
diff -r -x meson.build -x man -x completion "$SOURCE/doc" "$share/doc/gpureplay/doc"
for file in "$SOURCE"/data/gpus/*.gpu; do
	cmp "$file" "$share/gpureplay/gpus/${file##*/}"
done
for page in "$SOURCE"/doc/man/*.[1-8]; do
	program=${page##*/}
	program=${program%.*}
	[ ! -x "$prefix/bin/$program" ] || cmp "$page" "$share/man/man${page##*.}/${page##*/}"
done
for program in gputrace gpucapture gpureplay gputracefs gpuemu; do
	[ ! -x "$BUILD/tools/$program" ] || [ -x "$prefix/bin/$program" ] || die "$program was not installed"
	cmp "$SOURCE/doc/completion/gputrace" "$share/bash-completion/completions/$program"
done

# The experiments find their programs, the published figures and gpuemu in the prefix.
if [ -x "$prefix/bin/gpuemu" ]; then
	experiments=$share/gpureplay/tools/experiments
	fails -4 env GPUEMU_TORCH_PYTHON=/nowhere/python "$experiments" two-gpus
	says "experiments: /nowhere/python: missing one of the modules"
	python3 - "$experiments" "$prefix" <<'PY'
import importlib.machinery, importlib.util, sys
loader = importlib.machinery.SourceFileLoader('experiments', sys.argv[1])
experiments = importlib.util.module_from_spec(importlib.util.spec_from_loader('experiments', loader))
sys.dont_write_bytecode = True
loader.exec_module(experiments)
assert experiments.find_gpuemu() == sys.argv[2] + '/bin/gpuemu', experiments.find_gpuemu()
assert experiments.published('two-gpus', 's')['GPU 1'] == [0.506]
PY
	diff -r -x __pycache__ "$SOURCE/examples/pytorch" "$share/gpureplay/examples/pytorch"
fi

# The public headers compile on their own.
printf '#include <gputrace.h>\n#include <gpuemu.h>\nint main(void) { gputrace_mark_iteration(); return 0; }\n' >marks.c
cc -D_GNU_SOURCE -Wall -Werror -I "$prefix/include" marks.c -o marks -ldl
./marks

# The programs run without the build folder: they find their preloaded libraries in the prefix.
PATH=$prefix/bin:${PATH#*:}
[ "$(command -v gputrace)" = "$prefix/bin/gputrace" ] || die "gputrace is $(command -v gputrace)"
python3 "$SOURCE/bench/make_run.py" --plan=ddp --ranks 2 --steps 2 -o run
gputrace import -o run.gputrace run/rank-*.json >report
gpureplay --emulate run.gputrace | has_line 'step time'
need_capture
[ "$programs" = "$BUILD" ] || skip "recording: a sanitized program cannot be recorded"
sed 's/^name .*/name mine/' "$share/gpureplay/gpus/H100-SXM5.gpu" >mine.gpu
gpucapture -o recorded -- gpuemu --like ./mine.gpu -- "$SOURCE/tests/emugpu/driver.py" >out 2>err || die "$(cat err)"
gputrace info recorded | has_line mine
