"""Memory that is left shrinks beside a training that is flat: another process takes it.

Taken over: the training's own memory against the host's total says nothing. Changed: a process
that is no child of the training takes 60 MiB more an epoch.
"""

import subprocess
import sys
from typing import Any

import keras

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="giampaolo/psutil#2100",
    kind="resources",
    unit="epoch",
    grows=(),
    expected="none",
    cause="another process takes what is left",
    remedy="nothing in the training",
    units=20,
    fixed="",
)

TAKES = """
import sys
kept = []
while sys.stdin.readline():
    kept.append(bytearray(b"x") * (60 << 20))
"""


class Beside(keras.callbacks.Callback):
    """The shell ends at once, so that the process is no one's child; it ends with its input."""

    def __init__(self) -> None:
        super().__init__()
        command = ["/bin/sh", "-c", 'exec 3<&0; "$0" -c "$1" <&3 & exit', sys.executable, TAKES]
        self.shell = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)
        self.shell.wait()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if self.shell.stdin is not None:
            self.shell.stdin.write("\n")
            self.shell.stdin.flush()


corpus.epochs_of(LEAK, Beside())
