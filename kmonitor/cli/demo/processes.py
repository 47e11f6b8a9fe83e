"""The demo's processes: hub, the two trainings, the window; started, followed and ended."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Queue
from types import TracebackType
from typing import Self, get_args

from kmonitor.base.errors import UserError
from kmonitor.cli.common.terminal import print_text
from kmonitor.cli.demo.evidence import DemoEvidence, evidence_in_events
from kmonitor.connect.hub_client import HubClient
from kmonitor.connect.local_hub import ensure_hub
from kmonitor.demo.reports import AnyDemoReport, Began, FoldDone, LimitTaken, from_line
from kmonitor.export.events import decode_row
from kmonitor.ui.text.formats import bytes_text, count_text, seconds_text, with_plain_spaces
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.private_files import make_own_folder, open_own, read_own
from kmonitor_agent.wire.messages.unions import ENDED_STATES, RunState

_DRAWING_S = 120.0
_STORED_S = 20.0
_POLL_S = 0.2


class DemoScene:
    """All processes of the demo. Main thread only; leaving the context ends them all.

    Args:
        folders: Folders of files and sockets.
        arguments: Arguments of `kmonitor.demo.training`, for both trainings.

    Attributes:
        run: Run id of the monitored training; empty until the training reports it.
        window: Process of the window, None until it is opened.
    """

    def __init__(self, folders: Folders, arguments: Sequence[str]) -> None:
        self.run = ""
        self._folders = folders
        self._arguments = list(arguments)
        self._reports: Queue[tuple[DemoProcess, AnyDemoReport | None]] = Queue()
        self._trainings: dict[str, DemoProcess] = {}
        self.window: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for training in self._trainings.values():
            training.stop()
        if self.window is not None and self.window.poll() is None:
            self.window.terminate()
            self.window.wait()

    @property
    def monitored(self) -> list[FoldDone]:
        """Models of the training with kmonitor so far."""
        return self._trainings["kmonitor"].folds

    @property
    def plain(self) -> list[FoldDone] | None:
        """Models of the training without kmonitor so far; None when it was not requested."""
        return self._trainings["plain"].folds if "plain" in self._trainings else None

    def start(self, *, plain: bool) -> None:
        """Start hub and trainings, and wait for the run id of the monitored one."""
        ensure_hub(self._folders)
        make_own_folder(self._folders.logs)
        self._start_training("kmonitor", self._arguments)
        if plain:
            self._start_training("plain", [*self._arguments, "--plain"])
        while not self.run:
            if not self._next_report():
                self._trainings["kmonitor"].wait()
                raise UserError("The demo's training run ended before its first epoch.")

    def open_window(self) -> None:
        """Open the window with the demo's run selected, once the hub knows the run."""
        with HubClient(folders=self._folders) as client:
            self._wait_for(client, get_args(RunState), "begin")
        self.window = subprocess.Popen(self._window_command())  # noqa: S603 - our own program

    def watch(self) -> None:
        """Print the reports of the trainings until both have ended.

        Raises:
            UserError: A training failed.
        """
        running = len(self._trainings)
        while running:
            running -= not self._next_report()
        for training in self._trainings.values():
            training.wait()

    def stored_evidence(self) -> DemoEvidence:
        """Evidence in the monitored run's stored events, once the hub knows its end."""
        with HubClient(folders=self._folders) as client:
            # Events arrive in order: a hub that knows the end has stored all before it.
            self._wait_for(client, ENDED_STATES, "end")
            events = [decode_row(row) for row in client.all_rows(self.run)]
            verdicts = client.verdicts(self.run)
        return evidence_in_events([event for event in events if event is not None], verdicts)

    def draw_window(self, screenshot: Path) -> None:
        """Draw the real window into a file, without a screen.

        Raises:
            UserError: Drawing failed.
        """
        command = [*self._window_command(), f"--screenshot={screenshot}"]
        environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
        try:
            drawn = subprocess.run(  # noqa: S603 - our own program
                command, env=environment, timeout=_DRAWING_S, check=False
            )
        except subprocess.TimeoutExpired as exc:
            raise UserError(f"The window was not drawn within {_DRAWING_S:g} s.") from exc
        if drawn.returncode != 0 or not screenshot.is_file():
            raise UserError(f"The window could not be drawn (status {drawn.returncode}).")
        print_text(f"Screenshot of the window: {screenshot.absolute()}")

    def wait_for_window(self) -> None:
        """Wait until the user closes the window, if one was opened, or presses Ctrl+C."""
        if self.window is not None and self.window.poll() is None:
            print_text("The window stays open; close it, or press Ctrl+C here, to end the demo.")
            # All is printed by then, and Ctrl+C was offered: no failure of `make run`.
            with suppress(KeyboardInterrupt):
                self.window.wait()

    def _start_training(self, name: str, arguments: list[str]) -> None:
        log = self._folders.logs / f"demo-{name}.log"
        self._trainings[name] = DemoProcess(name, arguments, self._reports, log=log)

    def _wait_for(self, client: HubClient, states: Collection[RunState], what: str) -> None:
        end_s = time.monotonic() + _STORED_S
        while time.monotonic() < end_s:
            if any(run.run == self.run and run.state in states for run in client.runs()):
                return
            time.sleep(_POLL_S)
        raise UserError(
            f"The hub did not receive the training run's {what} within {_STORED_S:g} s.",
            "Check its data with: kmonitor show last",
        )

    def _next_report(self) -> bool:
        """Take one report; False after the last report of a training."""
        training, report = self._reports.get()
        match report:
            case None:
                return False
            case Began():
                self.run = self.run or report.run
                print_text(f"{training.name:<9} {report.folds} models on {report.images} images")
            case FoldDone():
                print_text(f"{training.name:<9} {_fold_text(report)}")
            case LimitTaken():
                print_text(f"{training.name:<9} {_limit_text(report)}")
        return True

    def _window_command(self) -> list[str]:
        return [sys.executable, "-m", "kmonitor", f"--run={self.run}"]


def _fold_text(fold: FoldDone) -> str:
    return with_plain_spaces(
        f"model {fold.fold}: {count_text(fold.operations)} operations, "
        f"{fold.functions} functions, RAM {bytes_text(fold.ram_bytes)}, "
        f"accuracy {fold.accuracy:.3f}, {seconds_text(fold.seconds)}"
    )


def _limit_text(limit: LimitTaken) -> str:
    return with_plain_spaces(
        f"each model adds {count_text(limit.growth)} operations: "
        f"from now on, reload above {count_text(limit.operations)}"
    )


_STOP_S = 10.0
_ERROR_LINES = 12


class DemoProcess:
    """One training process, with a reader thread that posts the reports into `reports`.

    Attributes:
        name: "kmonitor" or "plain".
        folds: Models reported so far; complete after `wait`.
    """

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        reports: "Queue[tuple[DemoProcess, AnyDemoReport | None]]",
        *,
        log: Path,
    ) -> None:
        """Start the process.

        Args:
            name: "kmonitor" or "plain".
            arguments: Arguments of `kmonitor.demo.training`.
            reports: Queue that gets each report, and None after the last.
            log: File for the standard error of the process.
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
        return self._process.pid

    def wait(self) -> None:
        """Wait until the process has ended by itself.

        Raises:
            UserError: The process failed; with the end of its output.
        """
        status = self._process.wait()
        self._reader.join()
        if status == 0:
            return
        lines = read_own(self._log).decode("utf-8", "replace").splitlines()[-_ERROR_LINES:]
        raise UserError(
            f"The demo's training process ({self.name}) exited with status {status}.",
            "\n".join(["Last output:", *lines]),
        )

    def stop(self) -> None:
        """End the process if it is still running; never raises for an ended one."""
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
                    self._store_report(from_line(line))
        self._reports.put((self, None))

    def _store_report(self, report: AnyDemoReport | None) -> None:
        if isinstance(report, FoldDone):
            self.folds.append(report)
        if report is not None:
            self._reports.put((self, report))


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        "KERAS_BACKEND": "tensorflow",
        # Two processes share a GPU where there is one; TensorFlow would take all of it at once.
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        "TF_CPP_MIN_LOG_LEVEL": os.environ.get("TF_CPP_MIN_LOG_LEVEL", "3"),
        "PYTHONUNBUFFERED": "1",
    }
