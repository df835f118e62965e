# SPDX-License-Identifier: Apache-2.0
"""Reads what a C header declares, from the text that the compiler's preprocessor gives. Nothing is executed."""
import re
import subprocess
import sys


def preprocess(headers, cc, include, defines=(), extra=()):
    """The text of `headers` after preprocessing."""
    source = ''.join(f'#include <{h}>\n' for h in headers)
    command = [*cc, '-E', '-P', '-x', 'c', *extra, *(f'-D{d}' for d in defines), *(f'-I{i}' for i in include), '-']
    run = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f'{" ".join(command)}: {run.stderr.strip()}')
    return run.stdout


def closing(text, at):
    """Where the parenthesis that opens at `at` closes."""
    depth = 0
    for i in range(at, len(text)):
        depth += {'(': 1, ')': -1}.get(text[i], 0)
        if depth == 0:
            return i
    return -1


def without_attributes(text):
    """`text` without __attribute__((...))."""
    kept, at = [], 0
    for found in re.finditer(r'__attribute__\s*\(', text):
        if found.start() >= at:
            kept.append(text[at:found.start()])
            at = closing(text, found.end() - 1) + 1
    return ' '.join([*kept, text[at:]])


def statements(text):
    """The declarations of a preprocessed header: split at ; outside of braces, bodies of functions left out."""
    start = depth = 0
    for i, c in enumerate(text):
        if c == '{':
            depth += 1
        elif c == '}':
            depth -= 1
            head = text[start:i]
            if depth == 0 and re.search(r'\)\s*\{', head) and not re.match(r'\s*typedef', head):
                start = i + 1
        elif c == ';' and depth == 0:
            yield ' '.join(text[start:i].split())
            start = i + 1


def split_parameters(text):
    """The parameters between the parentheses of a declaration."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += {'(': 1, ')': -1}.get(c, 0)
        if c == ',' and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return [] if parts in ([''], ['void']) else parts


def prototypes(text, names):
    """{name: (return type, [parameter, ...])} of the functions that a preprocessed header declares."""
    found = {}
    for s in statements(without_attributes(text)):
        match = re.match(rf'(?:extern )?((?:const )?\w[\w ]*?[ *]+)\b({names})\s*\(', s)
        if not match or s.startswith('typedef') or closing(s, match.end() - 1) != len(s) - 1:
            continue
        found[match[2]] = (match[1].strip(), split_parameters(s[match.end():-1]))
    return found


def argument(parameter):
    """The name of a parameter, which may be an array or a pointer to a function."""
    pointer = re.search(r'\(\s*\w*\s*\*\s*(\w+)\s*\)', parameter)
    return pointer[1] if pointer else re.search(r'(\w+)\s*(\[\w*\])*$', parameter)[1]
