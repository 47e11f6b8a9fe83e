"""What a follower pulls by itself: changed runs and new rows, one page of each at a time."""

from collections.abc import Callable

import msgspec

from kmonitor_agent.wire.messages.unions import (
    Head,
    HubAsked,
    HubTold,
    Ping,
    RowsAsked,
    RowsTold,
    RunsAsked,
    RunsTold,
    ToDesktop,
    mark_of,
)

_RUNS_EVERY_S = 0.5
_ASK_AGAIN_S = 1.5
_PING_EVERY_S = 1.0
_MAX_PAGES_UNREAD = 16
"""Row pages of up to 512 KiB that may wait for the reader."""


class Pull:
    """Cursors into one hub. Owned by the follower's thread, but for `resume`."""

    def __init__(self, next_number: Callable[[], int]) -> None:
        self._next_number = next_number
        self._hub = ""
        self._change = 0
        self._head = 0
        self._cursor: int | None = None
        self._runs_ask = 0
        self._rows_ask = 0
        self._hub_ask: int = 0
        self._hub_told: HubTold | None = None
        self._hint: Head | None = None
        self._asked_s = {"runs": 0.0, "rows": 0.0, "ping": 0.0, "hub": 0.0}
        self._runs_due_s = 0.0
        self._pages_unread = 0

    def connected(self, told: HubTold) -> None:
        """A connection stands; another hub id makes everything start anew."""
        self._hub_told, self._hint = told, None
        self._hub_ask = 0
        if told.hub != self._hub:
            self._hub = told.hub
            self._change = self._head = 0
            self._cursor = None
        self._runs_ask = self._rows_ask = 0
        self._runs_due_s = 0.0

    def is_other_hub(self, told: ToDesktop) -> bool:
        """Whether an answer comes from a hub with another database than the one greeted."""
        return isinstance(told, (RunsTold, RowsTold)) and told.hub != self._hub

    def resume(self) -> None:
        """The reader has taken what was there; from its thread."""
        self._pages_unread = 0

    def wait_s(self, now_s: float, most_s: float) -> float:
        """Seconds until something is due, `most_s` at most."""
        return max(0.0, min(most_s, self._runs_due_s - now_s)) if not self._runs_ask else most_s

    def due(self, now_s: float, *, is_full: bool) -> list[msgspec.Struct]:
        """Questions to send now; only pings while the reader does not keep up."""
        due: list[msgspec.Struct] = []
        if now_s - self._asked_s["ping"] > _PING_EVERY_S:
            self._asked_s["ping"] = now_s
            due.append(Ping(n=self._next_number()))
        if is_full:
            return due
        if self._is_hub_changed() and self._is_open("hub", self._hub_ask, now_s):
            self._asked_s["hub"] = now_s
            self._hub_ask = self._next_number()
            due.append(HubAsked(ask=self._hub_ask))
        if self._is_open("runs", self._runs_ask, now_s) and now_s >= self._runs_due_s:
            self._asked_s["runs"] = now_s
            self._runs_ask = self._next_number()
            due.append(RunsAsked(ask=self._runs_ask, since_change=self._change))
        cursor = self._cursor
        has_room = self._pages_unread < _MAX_PAGES_UNREAD
        if cursor is None or self._head <= cursor or not has_room:
            return due
        if self._is_open("rows", self._rows_ask, now_s):
            self._asked_s["rows"] = now_s
            self._rows_ask = self._next_number()
            due.append(RowsAsked(ask=self._rows_ask, cursor=cursor))
        return due

    def take(self, told: ToDesktop, now_s: float) -> bool:
        """Take an answer or a hint; False if it answers something else."""
        match told:
            case Head():
                self._head = max(self._head, told.head)
                if told.change > self._change:
                    self._runs_due_s = now_s
                self._hint = told
                return True
            case HubTold(ask=ask) if ask == self._hub_ask and ask:
                self._hub_ask = 0
                self._hub_told = told
                return True
            case RunsTold() if told.ask == self._runs_ask and told.ask:
                self._take_runs(told, now_s)
                return True
            case RowsTold() if told.ask == self._rows_ask and told.ask:
                self._rows_ask = 0
                self._cursor = told.cursor
                self._head = told.head
                self._pages_unread += bool(told.rows)
                return True
            case _:
                return False

    def _take_runs(self, told: RunsTold, now_s: float) -> None:
        self._runs_ask = 0
        if told.change < self._change:
            self._change = 0  # the hub's database was put back to an older state
            self._runs_due_s = now_s
            return
        self._change = told.change
        self._head = told.head
        if self._cursor is None or self._cursor > told.head:
            # New to this hub; or its database was put back to an older state.
            self._cursor = told.head
        self._runs_due_s = now_s if told.more else now_s + _RUNS_EVERY_S

    def _is_hub_changed(self) -> bool:
        hint, told = self._hint, self._hub_told
        if hint is None or told is None:
            return False
        if hint.troubles is None:
            return hint.is_troubled != bool(told.unwritten)
        return hint.troubles != mark_of(told.troubles)

    def _is_open(self, kind: str, ask: int, now_s: float) -> bool:
        return not ask or now_s - self._asked_s[kind] > _ASK_AGAIN_S
