"""`--follow`: a run's events as they are stored, over a new way whenever one is lost."""

import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kmonitor.base.errors import Expected
from kmonitor.cli.common.hub_access import open_hub
from kmonitor.cli.common.terminal import complain, plain
from kmonitor.connect.host_errors import HostTrouble
from kmonitor.connect.hub_client import HubClient, HubUnreachable
from kmonitor.connect.silent_hub import HubSilent
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.local.sockets import view_socket
from kmonitor_agent.wire.messages.unions import ENDED_STATES, Row

_POLL_S: Final = 0.5
"""How often the hub is asked for more, seconds."""

_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 10.0

_STOPPED_S: Final = 60.0
"""How long another hub is waited for where this user's own was stopped on purpose, seconds."""

_SPEAKS_S: Final = 10.0
"""Within so long a living training has spoken to a hub that was started anew, seconds."""

WAY_LOST: Final = (HubUnreachable, HostTrouble, HubSilent)
"""What says that the way to a hub is not there any more, or not yet."""


@dataclass(frozen=True, slots=True)
class HubWay:
    """How a command reaches its hub.

    Attributes:
        host: As for `open_hub`.
        folder: As for `open_hub`.
        hub: As for `open_hub`.
    """

    host: str | None = None
    folder: Path | None = None
    hub: str | None = None

    @contextmanager
    def open(self) -> Generator[HubClient]:
        """A client of it. Raises: as `open_hub`."""
        with open_hub(self.host, folder=self.folder, hub=self.hub) as client:
            yield client

    @property
    def is_stopped(self) -> bool:
        """Whether it is this user's own hub, and was ended on purpose: none is to be started."""
        if (self.host, self.folder, self.hub) != (None, None, None):
            return False
        # One that was killed leaves its socket's file.
        return not view_socket(find_folders()).exists()


class Following:
    """What of a run was told, and what follows; for one thread."""

    def __init__(
        self, run: str, told: Sequence[Row], kinds: Sequence[str], tell: Callable[[Row], None]
    ) -> None:
        """Begin after what was told.

        Args:
            run: Run id.
            told: Its rows so far, in order.
            kinds: Event types wanted.
            tell: Called with each row that is new.
        """
        self._run, self._kinds, self._tell = run, kinds, tell
        self._cursor = told[-1].row if told else 0
        self._seq = max((row.seq for row in told), default=0)
        self._hubs_own = {row.body for row in told if not row.seq}
        self._hub = ""
        self._is_waiting = False

    def go_on(self, client: HubClient) -> None:
        """Tell what is stored until the run has ended. Raises: as `HubClient`."""
        for row in self._rows(client):
            if row.seq > self._seq or (not row.seq and row.body not in self._hubs_own):
                self._note(row)
                self._tell(row)

    def go_on_over(self, way: HubWay, lost: Expected) -> None:
        """The same after the way to the hub was lost, over a new one each time.

        Args:
            way: Where the hub is.
            lost: How the way was lost.

        Raises:
            Expected: Waiting is of no use.
        """
        pause_s, end_s = _FIRST_PAUSE_S, float("inf")
        while True:
            if isinstance(lost, HostTrouble) and not lost.is_transient:
                raise lost
            if not self._is_waiting:
                self._is_waiting = True
                pause_s, end_s = _FIRST_PAUSE_S, time.monotonic() + _STOPPED_S
                _say_that_it_waits(way, lost)
            threading.Event().wait(pause_s)
            pause_s = min(_LONGEST_PAUSE_S, pause_s * 2)
            if way.is_stopped:
                pause_s = _FIRST_PAUSE_S
                if time.monotonic() > end_s:
                    raise _stays_stopped()
                continue
            try:
                with way.open() as client:
                    self.go_on(client)
            except WAY_LOST as exc:
                lost = exc
            else:
                return

    def _rows(self, client: HubClient) -> Iterator[Row]:
        is_first, had_ended = True, False
        was_waiting, since_s = self._is_waiting, time.monotonic()
        while True:
            # The state is asked for before the rows: what was stored before the end is then told.
            state = self._state(client)
            page = client.rows(cursor=self._cursor, runs=(self._run,), kinds=self._kinds)
            is_other = self._hub not in {"", page.hub}
            if is_first and (is_other or page.head < self._cursor):
                # Its rows are numbered anew; what was told is known by the training's numbers.
                self._cursor = 0
                is_first = False
                continue
            is_first = False
            self._say_that_it_goes_on()
            yield from page.rows
            self._cursor = max(self._cursor, page.cursor)
            # Another hub hears of the run as soon as its training, or its spool, has spoken.
            has_ended = state in ENDED_STATES if state else not is_other
            if state == "lost" and was_waiting:
                # A hub that was just started has not heard of its training yet.
                has_ended = time.monotonic() - since_s > _SPEAKS_S
            self._hub = self._hub or page.hub
            if page.more:
                continue
            # Asked twice: the state is told at once, its last rows when they are committed.
            if has_ended and had_ended and not page.rows:
                return
            had_ended = has_ended
            threading.Event().wait(_POLL_S)

    def _state(self, client: HubClient) -> str:
        return next((found.state for found in client.runs() if found.run == self._run), "")

    def _note(self, row: Row) -> None:
        self._seq = max(self._seq, row.seq)
        if not row.seq:
            self._hubs_own.add(row.body)

    def _say_that_it_goes_on(self) -> None:
        if self._is_waiting:
            self._is_waiting = False
            complain("kmonitor: The hub answers again; it goes on.")


def _say_that_it_waits(way: HubWay, lost: Expected) -> None:
    if way.is_stopped:
        complain(f"kmonitor: Your hub was stopped. Another one is waited for, {_STOPPED_S:g} s.")
    else:
        complain(f"kmonitor: {plain(lost.what)} It is waited for; Ctrl+C ends this.")


def _stays_stopped() -> Expected:
    what = f"Your hub was stopped, and no other was started within {_STOPPED_S:g} s."
    return Expected(what, "Called again, kmonitor show --follow starts one.")
