"""Cost of a restart beyond the script's own start: saving, leaving, starting, taking up.

A script of two fits is restarted in its second. Counted are the seconds from the request at an
epoch's end to the first line of the new process, those of the fit that had finished, and those by
which the cut fit takes longer to its first epoch than in the process before.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

TARGET_S = 2.0
ROUNDS = 3
ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
    import sys, time

    def mark(what):
        with open(sys.argv[1], "a") as marks:
            print(time.time(), what, file=marks)

    mark("start")
    import numpy as np, keras
    from kmonitor_agent import MonitorCallback

    class Marks(keras.callbacks.Callback):
        def __init__(self, fit):
            super().__init__()
            self.of = fit
        def on_epoch_begin(self, epoch, logs=None):
            mark(f"begin {self.of} {epoch}")
        def on_epoch_end(self, epoch, logs=None):
            if (self.of, epoch) == (2, 0):
                monitor.request("restart")
                mark("asked")

    monitor = MonitorCallback("bench")
    x = np.random.default_rng(0).normal(size=(512, 64)).astype("float32")
    for fit in (1, 2):
        layers = [keras.Input((64,)), *(keras.layers.Dense(1024) for _ in range(4))]
        model = keras.Sequential([*layers, keras.layers.Dense(1)])
        model.compile("adam", "mse")
        mark(f"fit {fit}")
        model.fit(x, x[:, :1], epochs=3, verbose=0, callbacks=[Marks(fit), monitor])
        mark(f"over {fit}")
"""


def main() -> None:
    """Print the table."""
    rounds = [_round() for _ in range(ROUNDS)]
    names = (
        "saving, leaving, starting",
        "the fit that had finished",
        "taking up the one that was cut",
    )
    print("| seconds | median | worst |\n|---|---|---|")
    for place, name in enumerate(names):
        _print(name, [parts[place] for parts in rounds])
    _print(f"all of ours (target {TARGET_S:g} s)", [sum(parts) for parts in rounds])


def _print(name: str, values: list[float]) -> None:
    print(f"| {name} | {statistics.median(values):.2f} | {max(values):.2f} |")


def _round() -> tuple[float, float, float]:
    with tempfile.TemporaryDirectory() as folder:
        script, marks = Path(folder, "script.py"), Path(folder, "marks")
        script.write_text(textwrap.dedent(SCRIPT))
        environ = {
            **os.environ,
            "KMONITOR_HOME": str(Path(folder, "home")),
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "CUDA_VISIBLE_DEVICES": "-1",
            "PYTHONPATH": str(ROOT),
        }
        run = [sys.executable, "-m", "kmonitor.cli.main", "run", "--"]
        subprocess.run(
            [*run, sys.executable, str(script), str(marks)],
            env=environ,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        told = [line.split(" ", 1) for line in marks.read_text().splitlines()]
    cut = [what for _, what in told].index("asked") + 1
    first = {what: float(at) for at, what in told[:cut]}
    second = {what: float(at) for at, what in told[cut:]}
    usual_s = first["begin 2 0"] - first["fit 2"]
    return (
        second["start"] - first["asked"],
        second["over 1"] - second["fit 1"],
        second["begin 2 1"] - second["fit 2"] - usual_s,
    )


if __name__ == "__main__":
    main()
