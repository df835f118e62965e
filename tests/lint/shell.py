#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds assertions in shell tests that cannot fail, because bash ignores the status of the command that fails.

tests/e2e/lib.sh sets errexit, pipefail and failglob. These rules cover what is left:

- a substitution in the arguments of echo, printf, export or local, or in [ -z "$(...)" ], hides a failure;
- `! command` and `command && die` pass when the command could not be run, or its file is missing (`! command` as the
  last line of a function is its result, and allowed);
- `| grep -q` and `| head` end a pipeline early, so that the command before them dies of SIGPIPE;
- `exit 0` ends a test before it has tested everything; a bare `wait` succeeds whatever the background commands did.
"""
import pathlib
import re
import sys

HERE_DOCUMENT = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?")

# (pattern, the replacement and the reason, a line that the pattern must find)
RULES = [
    (r'(^|[;&|{(]|\b(then|do|else))\s*(echo|printf|export|local|readonly)\b[^|;]*"?\$\((?!\()',
     'assign the output of $(...) first: its failure is ignored here', 'echo "$name: $(python3 -c "assert False")"'),
    (r'\[ -z "\$\(', 'use prints_nothing: [ -z "$(...)" ] holds when the command fails', '[ -z "$(ls left)" ] || die "left"'),
    (r'\bequal "\$\(.*\)" (""|\'\')', 'use prints_nothing: the output is also empty when the command fails',
     'equal "$(cat errors)" ""'),
    (r'^\s*! grep\b', 'use no_line: `! grep` holds when the file is missing', '! grep -q missing info || die "missing"'),
    (r'^\s*! (?!command -v )', 'errexit ignores `! command`, and it passes when the command could not be run; use fails',
     '! cmp a b || die "the same"'),
    (r'&& (die|exit 1)\b', 'use fails or no_line: this also passes when the command could not be run',
     'cat removed && die "it was read"'),
    (r'\|\s*grep\s+-\w*q', 'use has_line: grep -q breaks the pipe', 'gputrace info run | grep -xq "2 GPUs"'),
    (r'\|\s*head\b', "use sed -n '1,Np': head breaks the pipe", 'ls | head -n 1'),
    (r'(^|\s)exit 0\b', 'use skip or left_out: the rest of the test is not run', '[ -x ddp ] || exit 0'),
    (r'^\s*wait\s*(#.*)?$', 'use wait_for PID...: a bare wait succeeds always', 'wait'),
]
# A condition on files or variables, which cannot fail otherwise.
CONDITION = re.compile(r'^\s*\[ [^(]*\] && die\b')


def code_lines(text):
    """Yields (number, line) without comments and here-documents."""
    end = None
    for number, line in enumerate(text.splitlines(), 1):
        if end:
            end = None if line.strip() == end else end
            continue
        if not line.lstrip().startswith('#'):
            yield number, line
        found = HERE_DOCUMENT.search(line)
        if found and '<<<' not in line:
            end = found[1]


def complaints(name, text):
    lines = list(code_lines(text))
    for i, (number, line) in enumerate(lines):
        returned = i + 1 < len(lines) and lines[i + 1][1].startswith('}')
        for pattern, why, _ in RULES:
            if not re.search(pattern, line) or CONDITION.search(line):
                continue
            if pattern.startswith(r'^\s*! ') and returned:
                continue
            yield f'{name}:{number}: {why}'


def main():
    top = pathlib.Path(sys.argv[1]).resolve()
    scripts = sorted(p for p in (top / 'tests').rglob('*.sh'))
    found = [] if scripts else ['no test scripts found']
    found += [f'the rule {why!r} does not find: {bad}' for pattern, why, bad in RULES if not re.search(pattern, bad)]
    for path in scripts:
        found += complaints(path.relative_to(top).as_posix(), path.read_text(encoding='utf-8'))
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
