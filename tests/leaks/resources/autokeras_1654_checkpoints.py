"""A search writes a checkpoint an epoch until the disk is full.

Taken over: a separate file for each epoch. Changed: a disk of 64 MiB in memory, a checkpoint of
1.8 MB.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import keras

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/autokeras#1654",
    also=("keras-team/keras-tuner#401", "open-mmlab/mmdetection#4308"),
    kind="resources",
    unit="epoch",
    grows=("written",),
    expected="leak",
    named=("disk",),
    cause="each epoch's checkpoint stays",
    remedy="one file name for all",
    units=22,
    metric="disk",
)

with tempfile.TemporaryDirectory() as name:
    mounted = subprocess.run(
        ["/bin/mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", name], check=False
    )
    if mounted.returncode:
        sys.exit(corpus.EXIT_SKIPPED)  # root alone may
    try:
        corpus.WRITES.append(Path(name))
        pattern = "model.keras" if corpus.FIXED else "model-{epoch}.keras"
        saves = keras.callbacks.ModelCheckpoint(f"{name}/{pattern}")
        corpus.epochs_of(LEAK, saves, width=20_000)
    finally:
        subprocess.run(["/bin/umount", name], check=False)
