"""A training process that does nothing but emit, to be killed, forked and left hanging."""

import subprocess
import sys
from pathlib import Path

from tests.support.waiting import DEADLINE_S

PRELUDE = """
import os, sys, threading, time, zlib
from tests.support.links import LinkUnderTest, epoch, sample
from kmonitor_agent.link.timing import Timing
from kmonitor_agent.wire.local.folders import find_folders

test = LinkUnderTest(find_folders(), run="run1", timing=Timing())
link = test.link
link.start()
STEP = bytes(200_000)

def spooled(n):
    while link.status().last_seq < n:
        threading.Event().wait(0.005)
"""

_QUIET_FORK = ("-W", "ignore:This process:DeprecationWarning")
"""Python 3.12 and later warn of a fork beside threads, on which these tests insist."""

ROOT = Path(__file__).parents[2]


def start_agent(script: str) -> "subprocess.Popen[str]":
    """Start a process that has a started `link` and runs a script; KMONITOR_HOME is inherited."""
    return subprocess.Popen(
        [sys.executable, *_QUIET_FORK, "-c", PRELUDE + script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def run_agent(script: str, timeout_s: float = DEADLINE_S) -> "subprocess.CompletedProcess[str]":
    """Run such a process to its end."""
    with start_agent(script) as process:
        out, err = process.communicate(timeout=timeout_s)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)
