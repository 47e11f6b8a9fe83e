"""What a restart costs beyond the script's own start: saving, leaving, starting, taking up.

A script of two fits is restarted in its second; the seconds from the request's safe point to the
first epoch in the new process are compared with those from the script's start to its first epoch.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

TARGET_S = 2.0
ROUNDS = 5
ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
    import sys, time
    from pathlib import Path
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

    def mark(what):
        with open(sys.argv[1], "a") as marks:
            print(time.time(), what, file=marks)

    mark("start")
    monitor = MonitorCallback("bench")
    x = np.random.default_rng(0).normal(size=(512, 64)).astype("float32")
    for fit in (1, 2):
        layers = [keras.Input((64,)), *(keras.layers.Dense(1024) for _ in range(8))]
        model = keras.Sequential([*layers, keras.layers.Dense(1)])
        model.compile("adam", "mse")
        model.fit(x, x[:, :1], epochs=3, verbose=0, callbacks=[Marks(fit), monitor])
"""


def main() -> None:
    """Print the table."""
    rounds = [_round() for _ in range(ROUNDS)]
    rows = {
        "the script's own start, plain, to its first epoch": [plain for plain, _ in rounds],
        "restart: from the request to the next epoch": [restart for _, restart in rounds],
        f"ours: the difference (target {TARGET_S:g} s)": [after - own for own, after in rounds],
    }
    print("| seconds | median | worst |\n|---|---|---|")
    for name, values in rows.items():
        print(f"| {name} | {statistics.median(values):.2f} | {max(values):.2f} |")


def _round() -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.py")
        script.write_text(textwrap.dedent(SCRIPT))
        environ = {
            **os.environ,
            "KMONITOR_HOME": str(Path(folder, "home")),
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "CUDA_VISIBLE_DEVICES": "-1",
            "PYTHONPATH": str(ROOT),
        }
        plain = _plain_s(script, Path(folder, "plain"), environ)
        marks = Path(folder, "marks")
        run = [sys.executable, "-m", "kmonitor.cli.main", "run", "--"]
        subprocess.run(
            [*run, sys.executable, str(script), str(marks)],
            env=environ,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        return plain, _marked(marks, "begin 2 1") - _marked(marks, "asked")


def _plain_s(script: Path, marks: Path, environ: dict[str, str]) -> float:
    began = time.time()
    subprocess.run(
        [sys.executable, str(script), str(marks)],
        env=environ,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return _marked(marks, "begin 1 0") - began


def _marked(marks: Path, what: str) -> float:
    return next(
        float(line.split(" ", 1)[0])
        for line in marks.read_text().splitlines()
        if line.endswith(what)
    )


if __name__ == "__main__":
    main()
