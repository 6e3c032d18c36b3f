# SPDX-License-Identifier: Apache-2.0
"""Processes that never outlive the benchmark: started in order, waited for with a limit, killed whatever happens."""
import os
import signal
import subprocess
import sys
import time


class BenchError(Exception):
    """A measurement that did not happen or is not valid; the text says why."""


class AbsentError(BenchError):
    """Something that a measurement needs is not on this machine: it is not run, which is no failure."""


started = []


def start(command, **options):
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, **{**pipes, **options})
    started.append(process)
    return process


def finish(process, limit_s):
    """Output of a process that must succeed within the limit."""
    try:
        out, err = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise BenchError(f"{name_of(process)}: not done after {limit_s:.0f} s") from None
    started.remove(process)
    if process.returncode != 0:
        raise BenchError(f"{name_of(process)}: exit status {process.returncode}: {last_line(err) or last_line(out)}")
    return out


def stop(process, limit_s=5):
    """Ends a daemon in the way that it offers."""
    process.send_signal(signal.SIGTERM)
    return finish(process, limit_s)


def kill_all():
    for process in started:
        if process.poll() is None:
            process.kill()
    for process in started:
        process.communicate()
    started.clear()


def run(command, **options):
    """A short command that must succeed; its output."""
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, **options)
    if result.returncode != 0:
        raise BenchError(f"`{' '.join(command)}`: {last_line(result.stderr) or last_line(result.stdout)}")
    return result.stdout


def name_of(process):
    return next((os.path.basename(word) for word in process.args if "/" in word), process.args[0])


def last_line(text):
    lines = (text or "").strip().splitlines()
    return lines[-1] if lines else ""


def say(text):
    """A line of progress."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
