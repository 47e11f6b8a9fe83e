"""Runs of one hub, polled on a separate thread; reconnects when the route to the hub is lost."""

import threading
from collections import deque
from collections.abc import Callable, Collection
from typing import Final

from kmonitor.base.errors import UserError
from kmonitor.cli.common.hub_access import ROUTE_LOST, HubRoute
from kmonitor.connect.host_errors import HostError
from kmonitor.connect.hub_client import HubClient
from kmonitor.connect.remote_hub import ConnectCancelled
from kmonitor_agent.wire.local.private_files import NotPrivate
from kmonitor_agent.wire.messages.unions import RunSummary

POLL_S: Final = 1.0
_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 10.0
_JOIN_S: Final = 3.0

Job = Callable[[HubClient], None]


class HubPoller:
    """Owns the thread `kmonitor-poll`; its results may be read from any thread.

    Attributes:
        host: Name of the hub's own host; empty before its first reply.
        trouble: Reason why the hub is not reached now; empty: it is reached.
        failure: Permanent error that ended the thread; None: none.
        is_loaded: True if the runs were read at least once.
    """

    def __init__(self, route: HubRoute, on_change: Callable[[], None]) -> None:
        """Args: `on_change`: Called on the polling thread after changes."""
        self.route = route
        self.host = ""
        self.trouble = ""
        self.failure: UserError | None = None
        self.is_loaded = False
        self._on_change = on_change
        self._runs: dict[str, RunSummary] = {}
        self._jobs: deque[Job] = deque()
        self._hub = ""
        self._change = 0
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._main, name="kmonitor-poll", daemon=True)

    @property
    def runs(self) -> Collection[RunSummary]:
        """Latest known runs of the hub."""
        return list(self._runs.values())

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread and close the route."""
        self._stop.set()
        self._wake.set()
        self._thread.join(_JOIN_S)

    def submit(self, job: Job, *, is_urgent: bool = True) -> None:
        """Let the thread run a job with its client, once the hub is reached.

        Args:
            is_urgent: Run the job at once; else at the next poll of the runs.
        """
        self._jobs.append(job)
        if is_urgent:
            self._wake.set()

    def _main(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while not self._stop.is_set():
            if self.is_loaded and self.route.is_stopped:
                self._set_trouble("Your hub was stopped. Start one with: kmonitor hub")
            else:
                try:
                    with self.route.open(self._stop) as client:
                        pause_s = _FIRST_PAUSE_S
                        self._poll(client)
                except ConnectCancelled:
                    return
                except UserError as exc:
                    if not self._may_help_to_wait(exc):
                        self.failure = exc
                        self._set_trouble(exc.what)
                        return
                    self._set_trouble(exc.what)
                except (NotPrivate, OSError) as exc:
                    self.failure = UserError(str(exc))
                    self._set_trouble(str(exc))
                    return
            self._stop.wait(pause_s)
            pause_s = min(_LONGEST_PAUSE_S, 2 * pause_s)

    def _may_help_to_wait(self, exc: UserError) -> bool:
        if isinstance(exc, HostError):
            return exc.is_transient
        return self.is_loaded and isinstance(exc, ROUTE_LOST)

    def _poll(self, client: HubClient) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            is_new = self._read_runs(client) or bool(self.trouble) or not self.is_loaded
            self.is_loaded = True
            self.trouble = ""
            for _ in range(len(self._jobs)):  # one that is not urgent may submit itself again
                if not self._stop.is_set():
                    self._jobs.popleft()(client)
                is_new = True
            if is_new:
                self._on_change()
            self._wake.wait(POLL_S)

    def _read_runs(self, client: HubClient) -> bool:
        """Read changed runs; return True if something changed."""
        is_new = False
        while True:
            page = client.runs_page(self._change)
            if self._hub not in {"", page.hub} or page.change < self._change:
                self._change = 0
                self._runs = {}
                self._hub = page.hub
                is_new = True
                continue
            runs = {**self._runs, **{run.run: run for run in page.runs}}
            self._runs = {run: runs[run] for run in runs if run not in set(page.deleted)}
            is_new = is_new or bool(page.runs or page.deleted)
            self._hub = page.hub
            self.host = page.host
            self._change = page.change
            if not page.more:
                return is_new

    def _set_trouble(self, text: str) -> None:
        if text != self.trouble:
            self.trouble = text
            self._on_change()
