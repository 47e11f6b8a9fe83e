"""A training of the demo as a process of its own, and what it tells."""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kmonitor.base.errors import Expected
from kmonitor.demo.reports import AnyTold, FoldDone, from_line
from kmonitor_agent.wire.local.plain_files import open_own, read_own

if TYPE_CHECKING:
    from queue import Queue

_STOP_S = 10.0
_ERROR_LINES = 12


class DemoProcess:
    """One training process; its own reader thread posts what it tells into `reports`.

    Attributes:
        name: "kmonitor" or "plain".
        folds: The models that it has told of so far; complete after `wait`.
    """

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        reports: "Queue[tuple[DemoProcess, AnyTold | None]]",
        *,
        log: Path,
    ) -> None:
        """Start the process.

        Args:
            name: What to call it.
            arguments: Of `kmonitor.demo.training`.
            reports: Gets each report, and None when the process has no more to tell.
            log: File that gets what it writes to standard error.
        """
        self.name = name
        self.folds: list[FoldDone] = []
        self._log = log
        self._reports = reports
        command = [sys.executable, "-m", "kmonitor.demo.training", *arguments]
        with open_own(log, "wb") as errors:
            self._process = subprocess.Popen(  # noqa: S603 - our own module, no shell
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=_environment(),
            )
        self._reader = threading.Thread(target=self._read, name=f"kmonitor-demo-{name}")
        self._reader.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def wait(self) -> None:
        """Until the process has ended by itself.

        Raises:
            Expected: It failed; with the end of what it wrote.
        """
        status = self._process.wait()
        self._reader.join()
        if status == 0:
            return
        lines = read_own(self._log).decode("utf-8", "replace").splitlines()[-_ERROR_LINES:]
        raise Expected(
            f"The demo's training ({self.name}) ended with status {status}.",
            "\n".join(["It said last:", *lines]),
        )

    def stop(self) -> None:
        """End the process if it still runs; never raises for one that has ended."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=_STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._reader.join()

    def _read(self) -> None:
        output = self._process.stdout
        if output is not None:
            with output:
                for line in output:
                    self._take(from_line(line))
        self._reports.put((self, None))

    def _take(self, told: AnyTold | None) -> None:
        if isinstance(told, FoldDone):
            self.folds.append(told)
        if told is not None:
            self._reports.put((self, told))


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        "KERAS_BACKEND": "tensorflow",
        # Two processes share a GPU where there is one; TensorFlow would take all of it at once.
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        "TF_CPP_MIN_LOG_LEVEL": os.environ.get("TF_CPP_MIN_LOG_LEVEL", "3"),
        "PYTHONUNBUFFERED": "1",
    }
