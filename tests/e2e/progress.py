#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""progress.py stdout|stderr|both COMMAND...: runs COMMAND with these descriptors on a terminal of 40 columns, and prints
the terminal's output as a Python literal. Other output is dropped."""
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios


def main():
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 40, 0, 0))
    where = {name: slave if sys.argv[1] in (name, 'both') else subprocess.DEVNULL for name in ('stdout', 'stderr')}
    with subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, **where) as child:
        os.close(slave)
        seen = b''
        try:
            while piece := os.read(master, 4096):
                seen += piece
        except OSError:  # a terminal that nobody has open gives EIO
            pass
    print(repr(seen.decode()))
    return child.returncode


if __name__ == '__main__':
    sys.exit(main())
