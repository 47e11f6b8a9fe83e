"""Requests to a hub, one at a time: for the command line and tests."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self, TypeVar

from kmonitor.base.errors import UserError
from kmonitor.connect.hub_socket import NetworkHub, ViewSocket
from kmonitor_agent.wire.local.folders import Folders, find_folders
from kmonitor_agent.wire.local.hub_address import SCHEME, ipc_endpoint, view_socket_path
from kmonitor_agent.wire.messages.commands import (
    FINAL_STATES,
    Arguments,
    CommandName,
    CommandStatus,
    PlainArguments,
)
from kmonitor_agent.wire.messages.events import Verdict
from kmonitor_agent.wire.messages.fields import new_id
from kmonitor_agent.wire.messages.unions import (
    AuditReply,
    AuditRequest,
    CommandReply,
    CommandRequest,
    EditReply,
    EditRequest,
    ErrorMessage,
    EventRow,
    HubReply,
    HubRequest,
    KeyGrant,
    KeysReply,
    KeysRequest,
    Message,
    ReplyPending,
    RowsReply,
    RowsRequest,
    RunsReply,
    RunsRequest,
    RunSummary,
    SeriesReply,
    SeriesRequest,
    VerdictsReply,
    VerdictsRequest,
)

_NO_ARGUMENTS = PlainArguments()

T = TypeVar("T", bound=Message)

_Request = (
    AuditRequest
    | CommandRequest
    | EditRequest
    | HubRequest
    | KeysRequest
    | RowsRequest
    | RunsRequest
    | SeriesRequest
    | VerdictsRequest
)
_PAGE_ROWS = 1000
_RESEND_S = 1.0
_POLL_S = 0.1
_STUCK_S = 60.0
"""Longest time, seconds, for which a hub may report work on a reply without any progress."""

_CHECK_S = 0.2
"""Interval of checks for a refusal by a hub on the network, seconds."""


class HubUnreachable(UserError):
    """No hub replied.

    Attributes:
        endpoint: Endpoint of the request.
        timeout_s: Length of the wait, seconds.
    """

    def __init__(self, endpoint: str, timeout_s: float) -> None:
        is_far = endpoint.startswith(SCHEME)
        super().__init__(
            f"No hub responded at {endpoint} within {timeout_s:g} s.",
            "Check that a hub is running there with --bind, and that no firewall blocks it."
            if is_far
            else "Start one with `kmonitor` or `kmonitor hub`.",
        )
        self.endpoint = endpoint
        self.timeout_s = timeout_s


class HubStuck(UserError):
    """The hub is running, but the work on its reply makes no progress."""

    def __init__(self, endpoint: str, stuck_s: float) -> None:
        super().__init__(
            f"The hub at {endpoint} is responding, but has processed nothing for {stuck_s:g} s: "
            "the disk or the database server that holds its history may not be responding.",
            "See `kmonitor doctor` and the hub's log.",
        )


class HubRefused(UserError):
    """The hub refused a request.

    Attributes:
        code: See `ErrorMessage.code`.
        text: Message of the hub.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"The hub refused the request: {text}.")
        self.code = code
        self.text = text


class HubAccessDenied(UserError):
    """The hub does not let this device in; with reason and remedy."""


def _ignore_pending(_pending: ReplyPending | None) -> None: ...


class HubClient:
    """Sends requests and waits for replies; for one thread.

    Use as a context manager or `close` it.
    """

    def __init__(
        self,
        endpoint: str | NetworkHub | None = None,
        *,
        folders: Folders | None = None,
        timeout_s: float = 5.0,
        stuck_s: float = _STUCK_S,
        on_working: Callable[[ReplyPending | None], object] = _ignore_pending,
    ) -> None:
        """Connect; a missing hub is noticed at the first request.

        Args:
            endpoint: ZeroMQ address, or a hub on the network; None: this user's hub.
            folders: Folders of this user's hub; None: from the environment.
            timeout_s: Longest wait of each request for its reply, or for the hub's report that it
                is working on the reply, seconds.
            stuck_s: Longest time for which a working hub may make no progress, seconds.
            on_working: Called with each report that a reply takes long, and with None at the end
                of a wait with such reports.
        """
        self._on_working = on_working
        hub = endpoint or ipc_endpoint(view_socket_path(folders or find_folders()))
        self.endpoint = hub.address.endpoint if isinstance(hub, NetworkHub) else hub
        self._timeout_s = timeout_s
        self._stuck_s = stuck_s
        self._view_socket = ViewSocket(hub)
        self._last_request = 0
        self._ahead = 0
        self._page_ahead: RowsReply | None = None
        self._busy: ErrorMessage | None = None
        self._reply_pending: ReplyPending | None = None
        self._stuck_since_s = math.inf

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._view_socket.close()

    def hub(self, *, stop: bool = False) -> HubReply:
        """Return the hub's status; with `stop` the hub also ends. Raises: `HubUnreachable`."""
        return self.request(HubRequest(request_id=self.next_id(), stop=stop), HubReply)

    def runs(self, since_change: int = 0) -> list[RunSummary]:
        """Summaries that changed after `since_change`, all pages, oldest start first."""
        found: dict[str, RunSummary] = {}
        while True:
            reply = self.runs_page(since_change)
            found.update((run.run, run) for run in reply.runs)
            if not reply.more:
                return sorted(found.values(), key=lambda run: run.started_wall_s)
            since_change = reply.change

    def runs_page(self, since_change: int = 0) -> RunsReply:
        """One page of summaries that changed after `since_change`, and runs deleted since."""
        request = RunsRequest(request_id=self.next_id(), since_change=since_change)
        return self.request(request, RunsReply)

    def rows(
        self,
        *,
        cursor: int = 0,
        runs: Sequence[str] = (),
        kinds: Sequence[str] = (),
        limit: int = _PAGE_ROWS,
    ) -> RowsReply:
        """One page of rows after `cursor`; empty `runs` or `kinds` select all."""
        request = RowsRequest(
            request_id=self.next_id(),
            cursor=cursor,
            limit=limit,
            runs=list(runs),
            kinds=list(kinds),
        )
        return self.request(request, RowsReply)

    def all_rows(self, run: str, kinds: Sequence[str] = ()) -> Iterator[EventRow]:
        """Yield every stored row of a run; the next page is requested while one is used."""
        page = self.rows(runs=[run], kinds=kinds, limit=_PAGE_ROWS)
        while page.more:
            request = RowsRequest(
                request_id=self.next_id(),
                cursor=page.cursor,
                limit=_PAGE_ROWS,
                runs=[run],
                kinds=list(kinds),
            )
            self._ahead = request.request_id
            self._page_ahead = None
            self._view_socket.send(request)
            yield from page.rows
            is_under_way = self._ahead == request.request_id
            page = self._page_ahead if is_under_way else None
            page = page or self.request(request, RowsReply, is_sent=is_under_way)
        yield from page.rows

    def series(
        self,
        run: str,
        columns: Sequence[str],
        *,
        from_s: float = 0.0,
        to_s: float | None = None,
        buckets: int = 600,
    ) -> SeriesReply:
        """Columns of a run, thinned. Raises: `HubRefused`: the run is not known."""
        request = SeriesRequest(
            request_id=self.next_id(),
            run=run,
            columns=list(columns),
            from_s=from_s,
            to_s=to_s,
            buckets=buckets,
        )
        return self.request(request, SeriesReply)

    def verdicts(self, run: str) -> list[Verdict]:
        """Current verdicts of a run, one per metric.

        Raises: `HubRefused`: the run is not known.
        """
        return self.request(
            VerdictsRequest(request_id=self.next_id(), run=run), VerdictsReply
        ).verdicts

    def verdicts_so_far(self, run: str) -> VerdictsReply:
        """Current verdicts, or stored ones where reading the run takes long.

        Raises: see `verdicts`.
        """
        request = VerdictsRequest(request_id=self.next_id(), run=run, partial=True)
        return self.request(request, VerdictsReply)

    def command(
        self,
        run: RunSummary,
        name: CommandName,
        args: Arguments = _NO_ARGUMENTS,
        *,
        ttl_s: float = 3600.0,
        id: str | None = None,  # noqa: A002 - the wire's word
        requested_by: str = "",
    ) -> CommandStatus:
        """Request a command once; a repeated `id` only returns the command's status."""
        request = CommandRequest(
            request_id=self.next_id(),
            id=id or new_id(),
            run=run.run,
            name=name,
            session=run.session,
            args=args,
            ttl_s=ttl_s,
            requested_by=requested_by,
        )
        return self.request(request, CommandReply).status

    def wait_for(self, sent: CommandStatus, *, timeout_s: float) -> CommandStatus:
        """Poll until the command is final, or `timeout_s` seconds have passed."""
        end_s = time.monotonic() + timeout_s
        status = sent
        while status.state not in FINAL_STATES and time.monotonic() < end_s:
            self._view_socket.wait(_POLL_S)
            # The hub knows the command by its id and ignores the rest.
            again = CommandRequest(
                request_id=self.next_id(),
                id=sent.id,
                run=sent.run,
                name=sent.name,
                session="known",
            )
            status = self.request(again, CommandReply).status
        return status

    def edit(
        self,
        run: str,
        *,
        name: str | None = None,
        note: str | None = None,
        pin: bool | None = None,
        delete: bool = False,
    ) -> None:
        """Rename, annotate, pin or delete a run. Raises: `HubRefused`."""
        request = EditRequest(
            request_id=self.next_id(), run=run, name=name, note=note, pin=pin, delete=delete
        )
        self.request(request, EditReply)

    def keys(self, *, authorize: KeyGrant | None = None, revoke: str = "") -> KeysReply:
        """Return the authorized keys for the network, after applying a change if one is given.

        Args:
            authorize: Key to authorize; None: none.
            revoke: Name or key to revoke; empty: none.

        Raises:
            HubRefused: The change is not possible, with the reason.
        """
        request = KeysRequest(request_id=self.next_id(), authorize=authorize, revoke=revoke)
        return self.request(request, KeysReply)

    def audit(self, *, before: int = 0, limit: int = 200) -> AuditReply:
        """One page of the hub's audit, newest first, before row `before` (0: from the newest)."""
        return self.request(
            AuditRequest(request_id=self.next_id(), before=before, limit=limit), AuditReply
        )

    def next_id(self) -> int:
        """Number of a new request."""
        self._last_request += 1
        return self._last_request

    def request(self, message: _Request, answer: type[T], *, is_sent: bool = False) -> T:
        """Send a request and wait for its reply of this type."""
        self._busy = self._reply_pending = None
        try:
            return self._wait_for(message, answer, is_sent=is_sent)
        finally:
            if self._reply_pending is not None:
                self._on_working(None)

    def _wait_for(self, message: _Request, answer: type[T], *, is_sent: bool) -> T:
        last_reply_s = time.monotonic()
        send_s = last_reply_s + _RESEND_S if is_sent else 0.0
        while (now_s := time.monotonic()) < (end_s := last_reply_s + self._timeout_s):
            if now_s >= send_s:
                # Every request may be sent twice: the hub could have died in between.
                self._view_socket.send(message)
                send_s = now_s + _RESEND_S
            self._view_socket.wait(min(end_s - now_s, send_s - now_s, _CHECK_S))
            found = self._answer(message.request_id, answer)
            if isinstance(found, ReplyPending):
                last_reply_s = time.monotonic()
                self._note_pending(found, last_reply_s)
            elif found is not None:
                return found
            if self._view_socket.refusal:
                raise HubAccessDenied(self._view_socket.refusal)
        if self._busy is not None:
            raise HubRefused(self._busy.code, self._busy.text)
        raise HubUnreachable(self.endpoint, self._timeout_s)

    def _note_pending(self, pending: ReplyPending, now_s: float) -> None:
        before, self._reply_pending = self._reply_pending, pending
        if before is None or before.beat != pending.beat:
            self._stuck_since_s = now_s
        elif now_s - self._stuck_since_s >= self._stuck_s:
            raise HubStuck(self.endpoint, self._stuck_s)
        self._on_working(pending)

    def _answer(self, request_number: int, answer: type[T]) -> T | ReplyPending | None:
        while (message := self._view_socket.receive()) is not None:
            if isinstance(message, ErrorMessage) and message.request_id == request_number:
                if not message.retry_ms:
                    raise HubRefused(message.code, message.text)
                self._busy = message
            if isinstance(message, ErrorMessage) and (message.code, message.request_id) == (
                "unsupported",
                0,
            ):
                raise HubRefused(
                    message.code, message.text
                )  # an older hub, which cannot read `request_id`
            if (
                isinstance(message, (answer, ReplyPending))
                and getattr(message, "request_id", 0) == request_number
            ):
                return message
            if isinstance(message, RowsReply) and message.request_id == self._ahead:
                self._page_ahead = message
        return None
