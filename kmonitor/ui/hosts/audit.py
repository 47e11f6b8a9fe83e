"""The audit list of all hubs: host, user, action, time and result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from kmonitor.ui.text.formats import moment_text
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.unions import AuditReply, AuditRequest, AuditRow, ErrorMessage

_MOST_ROWS = 500
_ID_LENGTH = 8
ALL: Final = "*"
"""Chosen instead of a host's address: all hosts."""


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One audited action.

    Attributes:
        row: Number that is unique among the lines of all hubs.
        cells: One text per column.
        tooltip: All cells, untrimmed.
    """

    row: int
    cells: tuple[str, ...]
    tooltip: str


@dataclass(frozen=True, slots=True)
class AuditState:
    """The whole list.

    Attributes:
        lines: Newest first.
        text: Text in place of the list, or below it; may be empty.
        hosts: Names of the hosts that the user can choose, by address.
    """

    lines: tuple[AuditLine, ...]
    text: str
    hosts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class AuditHub:
    """A hub whose audit can be requested.

    Attributes:
        address: Address of the hub's host.
        name: Name of the hub's host.
        send_request: Sends a request to the hub; returns the request's number.
        why_not: Reason in one sentence why the hub is not asked; empty: it is.
    """

    address: str
    name: str
    send_request: Callable[[msgspec.Struct], int]
    why_not: str = ""


def audit_columns() -> tuple[str, ...]:
    return (tr("When"), tr("Host"), tr("User"), tr("Action"), tr("Run"), tr("Result"))


class AuditStore:
    """The audit lists of all hubs as one; main thread only."""

    def __init__(self, run_name: Callable[[str], str | None]) -> None:
        """Sends no requests before `refresh`.

        Args:
            run_name: Returns the name of a run by its id; empty or None if it is not known.
        """
        self._run_name = run_name
        self._lists: dict[str, _HubAuditList] = {}
        self._numbers: dict[tuple[str, str, int], int] = {}

    def show_hubs(self, hubs: Sequence[AuditHub]) -> None:
        """Set the hubs; lines of hubs that stay are kept."""
        before = self._lists
        self._lists = {hub.address: before.get(hub.address, _HubAuditList()) for hub in hubs}
        for hub in hubs:
            self._lists[hub.address].hub = hub

    def refresh(self) -> None:
        """Request the newest lines of each hub, unless its last request is still open."""
        for hub_list in self._lists.values():
            hub_list.refresh()

    def apply_reply(self, reply: msgspec.Struct) -> bool:
        """Process a reply. True if it answers a request of this list, which has then changed."""
        return any(hub_list.apply_reply(reply) for hub_list in self._lists.values())

    def state(self, now_wall_s: float, only: str = ALL) -> AuditState:
        """Return the list to show now.

        Args:
            only: Address of the host whose lines are shown, or `ALL`.
        """
        hosts = {address: hub_list.name for address, hub_list in self._lists.items()}
        wanted = [d for address, d in self._lists.items() if only in (ALL, address)]
        found = [(row, hub_list) for hub_list in wanted for row in hub_list.rows]
        # The higher number came later of two at the same time.
        found.sort(key=lambda pair: (pair[0].wall_s, pair[0].row), reverse=True)
        lines = tuple(
            self._line(row, hub_list, now_wall_s) for row, hub_list in found[:_MOST_ROWS]
        )
        is_one = len(hosts) == 1
        notes = [hub_list.note(is_one=is_one) for hub_list in wanted]
        texts = [text for text in notes if text]
        if not lines and not texts:
            texts = [tr("The audit log is empty.")]
        if any(hub_list.has_more for hub_list in wanted) or len(found) > _MOST_ROWS:
            texts.append(tr("Older entries: kmonitor audit --last N"))
        return AuditState(lines, "\n".join(texts), hosts)

    def _line(self, row: AuditRow, hub_list: "_HubAuditList", now_wall_s: float) -> AuditLine:
        key = (hub_list.address, hub_list.name, row.row)
        number = self._numbers.setdefault(key, len(self._numbers) + 1)
        return _line(number, row, hub_list.name, self._run_name(row.run) or "", now_wall_s)


class _HubAuditList:
    """Lines of one hub, and its pending request."""

    def __init__(self) -> None:
        self.hub: AuditHub | None = None
        self._rows_received: list[AuditRow] | None = None
        self.has_more = False
        self._request_number: int | None = None
        self._refused = ""

    @property
    def address(self) -> str:
        return self.hub.address if self.hub is not None else ""

    @property
    def name(self) -> str:
        return self.hub.name if self.hub is not None else ""

    @property
    def rows(self) -> Sequence[AuditRow]:
        return self._rows_received or []

    def refresh(self) -> None:
        hub = self.hub
        if hub is None or hub.why_not:
            self._request_number = None
        elif self._request_number is None:
            self._request_number = hub.send_request(AuditRequest(request_id=0, limit=_MOST_ROWS))

    def apply_reply(self, reply: msgspec.Struct) -> bool:
        if self._request_number is None or getattr(reply, "request_id", 0) != self._request_number:
            return False
        match reply:
            case AuditReply():
                self._rows_received = reply.rows
                self.has_more = reply.more
                self._refused = ""
            case ErrorMessage():
                self._rows_received = None
                self.has_more = False
                self._refused = tr("The hub refused the request: {why}.").format(why=reply.text)
            case _:
                return False
        self._request_number = None
        return True

    def note(self, *, is_one: bool) -> str:
        """Note below the lines; may be empty."""
        why_not = self.hub.why_not if self.hub is not None else ""
        text = why_not or self._refused
        if not text and self._rows_received is None:
            text = tr("Loading\u2026")
        return text if is_one or not text else f"{self.name}: {text}"


def _line(number: int, row: AuditRow, host: str, run_name: str, now_wall_s: float) -> AuditLine:
    is_command = row.what.startswith("command")
    subject = run_name or (row.run[:_ID_LENGTH] if is_command else row.subject)
    when = moment_text(row.wall_s, now_wall_s=now_wall_s)
    what = translated_text(row.what)
    # A name or a note is the user's own.
    result = row.result if row.what in {"rename", "note"} else translated_text(row.result)
    cells = (when, host, row.who, what, subject, result)
    whole = " \u00b7 ".join(part for part in (when, host, row.who, what) if part)
    of = " ".join(part for part in (run_name, row.run, row.subject) if part)
    return AuditLine(number, cells, "\n".join(part for part in (whole, of, result) if part))
