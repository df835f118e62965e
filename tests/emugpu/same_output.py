#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""same_output.py PROGRAM...: all programs print the same. Skipped (77) with a single program."""
import subprocess
import sys


def main():
    if len(sys.argv) < 3:
        print('one program only: nothing to compare it with')
        return 77
    first, *others = (subprocess.run([p], capture_output=True, text=True, check=True).stdout for p in sys.argv[1:])
    for other in others:
        if other != first:
            print(f'{first}differs from\n{other}')
            return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
