# SPDX-License-Identifier: Apache-2.0
# Every program and command has --help; an invalid command line gives one line and status 2.
. "$(dirname "$0")/lib.sh"

gputrace --help >"$work/help"
commands=$(sed -n '/^Commands:/,/^$/s/^  \([a-z]\{1,\}\) .*/\1/p' "$work/help")
for command in info verify import export diff pack unpack; do
	has_line -x "$command" <<<"$commands"
done

gputrace --version | has_line '^gputrace [0-9]'
fails -2 gputrace
says 'no command given'
fails -2 gputrace nonsense
says 'unknown command: nonsense'
fails -2 gputrace --nonsense
says 'unknown option: --nonsense'
fails -2 gputrace info --json=no nowhere
says 'info: unexpected value: --json=no'
fails -2 gputrace info --iteration=last nowhere
says "--iteration: invalid value 'last'; expected a whole number"
small=$SOURCE/tests/fuzz/corpus/kineto/us.json
gputrace import --level=22 -o "$work/small" "$small" >"$work/report"
fails -2 gputrace import --level=23 -o "$work/large" "$small"
says "--level: invalid value '23'; expected a whole number from 1 to 22"
for command in $commands; do
	gputrace "$command" --help | has_line "^usage: gputrace $command "
	fails -2 gputrace "$command" --nonsense
	says 'unknown option: --nonsense'
	fails -2 gputrace "$command"
	says "$command: missing argument; expected "
done

# The manual pages document the options of the programs; each page has a program and a SEE ALSO
# section.
for page in "$SOURCE"/doc/man/*.[1-8]; do
	name=${page##*/} program=${page##*/}
	program=${program%.*}
	[ -x "$BUILD/tools/$program" ] || continue
	grep -qiE "^\.(TH|Dt) $program ${name##*.}( |$)" "$page" || die "$name does not begin with its name"
	for section in NAME SYNOPSIS DESCRIPTION 'EXIT STATUS' 'SEE ALSO'; do
		grep -qE "^\.S[Hh] \"?$section\"?$" "$page" || die "$name has no $section"
	done
	sed 's/\\-/-/g; s/Fl -/--/g' "$page" >"$work/manual"
	"$program" --help >"$work/help"
	[ "$program" != gputrace ] || for command in $commands; do
		gputrace "$command" --help >>"$work/help"
		grep -q "^\.SS.*$command" "$work/manual" || die "$name does not document $command"
	done
	grep -oE -- '--[a-z][a-z-]*|^ +-[a-zA-Z]\b' "$work/help" | tr -d ' ' | sort -u >"$work/options"
	[ -s "$work/options" ] || die "$program --help lists no option"
	while read -r option; do
		grep -qF -- "$option" "$work/manual" || die "$name does not document $option"
	done <"$work/options"
done
for program in gputrace gpucapture gpuemu gpureplay gputracefs; do
	[ ! -x "$BUILD/tools/$program" ] || exists "$SOURCE/doc/man/$program.[1-8]" || die "$program has no manual page"
done

# The commands in documents have options that exist.
(cd "$SOURCE" && cat README.md doc/*.md doc/*/*.md) >"$work/documents"
python3 - "$work/documents" <<'PY'
import re, shutil, subprocess, sys

def usage(command):
    return subprocess.run([*command.split(), '--help'], check=True, capture_output=True, text=True).stdout

seen = 0
for match in re.finditer(r'\b(gputrace [a-z]+|gpucapture|gpuemu|gpureplay|gputracefs)((?: +[^\s`|]+)*)', open(sys.argv[1]).read()):
    command, rest = match.groups()
    options = re.findall(r'(?:^|\s)(--?[a-z][a-z-]*)', re.split(' -- | gpu[a-z]+ ', rest)[0])
    if options and shutil.which(command.split()[0]):
        known = re.findall(r'(?<![\w-])--?[a-z][a-z-]*', usage(command))
        assert set(options) <= set(known), match.group()
        seen += 1
assert seen > 40, seen
PY

# complete WORD...: prints the completions of the last word

complete() {
	bash -c '. "$SOURCE/doc/completion/gputrace"
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		"_$1" "$1" "${@: -1}" "" && printf "%s\n" "${COMPREPLY[@]}"' - "$@" | sort | tr '\n' ' '
}
equal "$(complete gputrace exp)" 'export '
equal "$(complete gputrace '' | wc -w)" "$(($(printf '%s\n' "$commands" | wc -l) + 2))"
equal "$(complete gputrace info --it)" '--iteration= '
equal "$(complete gputrace export --format =)" 'chrome svg tsv '
equal "$(complete gputrace export --format = s)" 'svg '
equal "$(complete gpureplay --em)" '--emulate '
equal "$(complete gpucapture --digest = c)" 'comm '
equal "$(complete gpucapture -o run --device-t)" '--device-times= '
equal "$(complete gpucapture -o run --digest = comm -- gputrac | grep -c gputrace)" 1
if [ -x "$BUILD/tools/gpuemu" ]; then
	equal "$(complete gpuemu --gp)" '--gpus= '
	equal "$(complete gpuemu --gpus = 2 -- gputrac | grep -c gputrace)" 1
fi
