# SPDX-License-Identifier: Apache-2.0
"""What the scripts under torchrun share (script_ends.py, script_restart.py)."""
import sys


def say(text):
    """A line in one write: ranks share one pipe. print() writes the text and the end of the line apart where Python's output is unbuffered
    (PYTHONUNBUFFERED), so that the lines of two ranks may run into one."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
