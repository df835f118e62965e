#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a C file with the text of a file: `embed.py OUT IN NAME`."""
import pathlib
import sys

out, source, name = sys.argv[1:]
data = pathlib.Path(source).read_bytes() + b'\0'
rows = (', '.join(map(str, data[i:i + 20])) for i in range(0, len(data), 20))
pathlib.Path(out).write_text(f'extern const char {name}[];\nconst char {name}[] = {{\n' + ',\n'.join(rows) + '\n};\n')
