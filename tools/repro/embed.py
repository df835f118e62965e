#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a C file with the text of a file, with those that it includes from its folder: `embed.py OUT IN NAME`."""
import pathlib
import re
import sys

out, source, name = sys.argv[1:]


def included(match):
    text = (pathlib.Path(source).parent / match[1]).read_text()
    return text.split('*/', 2)[2].lstrip()  # without its licence and its heading


text = re.sub(r'#include "tools/repro/(.*)"\n', included, pathlib.Path(source).read_text())
data = text.encode() + b'\0'
rows = (', '.join(map(str, data[i:i + 20])) for i in range(0, len(data), 20))
pathlib.Path(out).write_text(f'extern const char {name}[];\nconst char {name}[] = {{\n' + ',\n'.join(rows) + '\n};\n')
