#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program whose standard error is a terminal, and prints what it shows there.  on_terminal.py OUTPUT COMMAND...

Standard output goes to the file OUTPUT; the exit status is the program's.
"""
import os
import pty
import subprocess
import sys
import termios


def main():
    master, slave = pty.openpty()
    modes = termios.tcgetattr(slave)
    modes[1] &= ~termios.OPOST
    termios.tcsetattr(slave, termios.TCSANOW, modes)
    with open(sys.argv[1], "wb") as output:
        process = subprocess.Popen(sys.argv[2:], stdout=output, stderr=slave)
    os.close(slave)
    while True:
        try:
            shown = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not shown:
            break
        sys.stdout.buffer.write(shown)
    return process.wait()


sys.exit(main())
