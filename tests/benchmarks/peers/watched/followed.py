"""Result of following kmonitor's advice, tried in the peers' environment; prints one line.

Arguments: `hang`, or `oversize batch` and the batch that was advised.
"""

import os
import re
import sys
import time
from pathlib import Path
from typing import Any

from kmonitor_agent import MonitorCallback, run_folds

TIMEOUT_S = 25.0
"""Given by the user, as for any job: less than the hang would last."""


def train_fold(_fold: Any) -> None:
    """The training that hangs, for longer."""
    from tests.benchmarks.peers.watched import training  # noqa: PLC0415 - Keras' in this process only

    training.fit(training.Hangs(epoch=3, hang_s=10 * TIMEOUT_S))([MonitorCallback()], {})


def hang() -> str:
    """The end that `run_folds` gave it, and where its output says that it waited."""
    study = run_folds(train_fold, 1, timeout_s=TIMEOUT_S, retries=0, study=Path("study"))
    (result,) = study.results
    text = result.output.read_text(errors="replace")
    where = re.search(r"training\.py.*line \d+ in on_train_batch_begin", text)
    told = "its stacks name where it waits" if where else "no stack names where it waits"
    return f"run_folds(timeout_s={TIMEOUT_S:g}): {result.cause}: {result.why}; {told}"


def oversize(batch: int) -> str:
    """The same model with the advised batch beneath the same bound; killed, it prints nothing."""
    from tests.benchmarks.peers.watched import training  # noqa: PLC0415

    training.fit(epochs=1)([], {})
    Path("bound").write_text(f"{os.getpid()} {training.BOUND_BYTES['oversize batch']}")
    time.sleep(training.EPOCH_S)
    training.train_pictures(batch)
    return f"batch {batch} beneath the same bound: trained, not killed"


if __name__ == "__main__":
    asked = sys.argv[1]
    sys.stdout.write((hang() if asked == "hang" else oversize(int(sys.argv[2]))) + "\n")
