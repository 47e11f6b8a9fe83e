"""The window's connection to one hub: a thread that follows runs and rows and carries requests.

`HubFollower` owns the thread and the socket, and reconnects by itself. It keeps two kinds of open
requests: `OpenRequests` has those of the window, each sent again until its last reply arrives;
`PullCursors` has the follower's own, one page of runs and one of rows at a time, after cursors
that survive a lost connection. Both number their requests from one counter.
"""

import itertools
import logging
import random
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import msgspec
import zmq

from kmonitor.base.wakeup import WakeupPipe
from kmonitor.connect.hub_socket import NetworkHub, ViewSocket
from kmonitor.connect.remote_hub import RemoteHub
from kmonitor_agent.wire.local.clock import Clock, SystemClock
from kmonitor_agent.wire.messages.commands import FINAL_STATES, CommandStatus
from kmonitor_agent.wire.messages.unions import (
    AuditReply,
    ChangeHint,
    CommandReply,
    CommandRequest,
    EditReply,
    ErrorMessage,
    HubReply,
    HubRequest,
    KeysReply,
    Ping,
    ReplyPending,
    RowsReply,
    RowsRequest,
    RunsReply,
    RunsRequest,
    SeriesReply,
    ToDesktop,
    VerdictsReply,
    troubles_checksum,
)

LOG = logging.getLogger("kmonitor.connect")


@dataclass(frozen=True, slots=True)
class Connected:
    """The hub is connected. If its id differs from before, all earlier data is void.

    Attributes:
        hub: Status of the hub.
    """

    hub: HubReply


@dataclass(frozen=True, slots=True)
class HubStatusChanged:
    """The status of the connected hub has changed.

    Attributes:
        hub: The new status.
    """

    hub: HubReply


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The hub does not reply; posted again after every failed attempt.

    Attributes:
        why: Reason, as text.
        retry_in_s: Seconds until the next attempt; None: not before the user requests it.
        since_wall_s: Time of the disconnection, UTC epoch seconds.
    """

    why: str
    retry_in_s: float | None
    since_wall_s: float


@dataclass(frozen=True, slots=True)
class RouteChanged:
    """State of the route to a hub on another host; never posted for a local hub.

    Attributes:
        stage: "asking" (for its hub, over ssh), "opening" (the tunnel), "open" or "closed".
        what: Reason why the route is closed, as text; empty otherwise.
        remedy: Advice for the user; may be empty.
        retry_in_s: Seconds until the next attempt; None: not before the user requests it.
        hub: The hub found on the host; None while there is none.
    """

    stage: Literal["asking", "opening", "open", "closed"]
    what: str = ""
    remedy: str = ""
    retry_in_s: float | None = None
    hub: RemoteHub | None = None


Answer = (
    RunsReply
    | RowsReply
    | SeriesReply
    | VerdictsReply
    | ReplyPending
    | CommandReply
    | EditReply
    | HubReply
    | KeysReply
    | AuditReply
    | ErrorMessage
)
"""Replies to requests of the window."""

News = Connected | HubStatusChanged | Disconnected | RouteChanged | Answer
"""Items of the inbox."""

_ATTEMPT_S = 1.0
_DEAD_AFTER_S = 2.5
_BACK_OFF_FIRST_S = 0.1
_BACK_OFF_LAST_S = 5.0
_POLL_S = 0.1
_SUSPENDED_POLL_S = 1.0
_UNTIL_RETRY_S = 7 * 86400.0
_JOIN_S = 5.0


class HubFollower:
    """Owns the thread `kmonitor-follower` and the socket to one hub.

    Live rows begin at the hub's newest row when first connected: all that are committed after the
    status in `Connected` are posted. After a lost connection to the same hub they continue from
    the last row, so that no row is missing or repeated.

    Attributes:
        inbox: News, oldest first; the reader takes from the left.
    """

    def __init__(
        self,
        endpoint: str | NetworkHub,
        *,
        wake_reader: Callable[[], None],
        inbox_limit: int = 4096,
        clock: Clock | None = None,
        on_link: Callable[[bool], None] | None = None,
        hub_location: str = "",
    ) -> None:
        """Create the follower; its thread runs from `start` on.

        Args:
            endpoint: ZeroMQ address of the hub's view socket, or a hub on the network.
            wake_reader: Called from the follower's thread when the inbox has new messages; at most
                once until `drained`.
            inbox_limit: Number of waiting messages from which the follower pulls no more.
            clock: Source of time; None: the system's clock.
            on_link: Called from the follower's thread with True if the hub was reached, False if
                an attempt failed.
            hub_location: Location of the hub as text; empty: the endpoint.
        """
        self.inbox: deque[News] = deque()
        self._endpoint = endpoint
        address = endpoint.address.endpoint if isinstance(endpoint, NetworkHub) else endpoint
        self._hub_location = hub_location or f"at {address}"
        self._wake_reader = wake_reader
        self._inbox_limit = inbox_limit
        self._clock = clock or SystemClock()
        self._open_requests = OpenRequests()
        self._pull_cursors = PullCursors(self._open_requests.next_number)
        self._wakeup = WakeupPipe()
        self._is_woken = threading.Event()
        self._is_stopping = threading.Event()
        self._is_impatient = threading.Event()
        self._on_link = on_link
        self._suspended_why = ""
        self._is_renewed = threading.Event()
        self._thread = threading.Thread(target=self._main, name="kmonitor-follower", daemon=True)
        self._lost_wall_s = self._clock.wall_s()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread and wait for it; open requests stay unanswered."""
        self._is_stopping.set()
        self._wakeup.wake()
        if self._thread.is_alive():
            self._thread.join(_JOIN_S)
        if not self._thread.is_alive():
            self._wakeup.close()

    def send_request(self, message: msgspec.Struct) -> int:
        """Send a request, now or when the hub is connected again; from any thread.

        Commands are sent again until their state is final; each new state is posted.

        Returns:
            The number in `request_id` of the replies; any number in `message` is replaced.
        """
        number = self._open_requests.add(message)
        self._wakeup.wake()
        return number

    def retry_now(self) -> None:
        """Start the next attempt at once; from any thread."""
        self._is_impatient.set()
        self._wakeup.wake()

    def suspend(self, why: str) -> None:
        """Disconnect until `resume`, since there is no route to the hub; from any thread."""
        self._suspended_why = why
        self._wakeup.wake()

    def resume(self) -> None:
        """Reconnect at once over the open route, perhaps a new one; from any thread."""
        self._suspended_why = ""
        self._is_renewed.set()
        self.retry_now()

    def post_news(self, news: News) -> None:
        """Put news of the route to the hub into the inbox; from any thread."""
        self._put(news)

    def drained(self) -> None:
        """Note that the reader has emptied the inbox; wake it again for the next message."""
        self._is_woken.clear()
        self._pull_cursors.resume()
        if self.inbox:
            self._wake_reader_once()  # came between the reader's last look and this call
        self._wakeup.wake()

    def _main(self) -> None:
        try:
            self._follow()
        except Exception:
            LOG.exception("the follower of %s ended", self._hub_location)
            self._put(
                Disconnected(
                    "kmonitor had an internal error on this machine; see its log",
                    0.0,
                    self._lost_wall_s,
                )
            )

    def _follow(self) -> None:
        back_off_s = _BACK_OFF_FIRST_S
        was_admitted = False
        while not self._is_stopping.is_set():
            if self._suspended_why:
                self._pause(_SUSPENDED_POLL_S)
                continue
            self._is_renewed.clear()
            socket = ViewSocket(self._endpoint)
            try:
                why = f"no hub is responding {self._hub_location}"
                if self._request_hub(socket):
                    back_off_s = _BACK_OFF_FIRST_S
                    was_admitted = True
                    why = self._converse(socket)
                    self._lost_wall_s = self._clock.wall_s()
                refusal = socket.refusal
            finally:
                socket.close()
            if not self._is_stopping.is_set() and not self._is_renewed.is_set():
                pause_s = back_off_s * random.uniform(0.7, 1.3)  # noqa: S311 - jitter
                # A new device may be admitted any moment; one that was removed need not keep
                # trying.
                is_out = bool(refusal) and was_admitted
                retry_s = None if is_out else pause_s
                why = self._suspended_why or refusal or why
                self._put(Disconnected(why, retry_s, self._lost_wall_s))
                self._report_link(is_reached=False)
                self._pause(_UNTIL_RETRY_S if is_out else pause_s)
                back_off_s = min(2 * back_off_s, _BACK_OFF_LAST_S)

    def _request_hub(self, socket: ViewSocket) -> bool:
        number = self._open_requests.next_number()
        socket.send(HubRequest(request_id=number))
        end_s = self._clock.monotonic_s() + _ATTEMPT_S
        while not self._is_cut_off() and self._clock.monotonic_s() < end_s:
            self._wait(socket, _POLL_S)
            while (message := socket.receive()) is not None:
                if isinstance(message, HubReply) and message.request_id == number:
                    self._pull_cursors.connected(message)
                    self._open_requests.resend_all(self._clock.monotonic_s())
                    self._put(Connected(message))
                    self._report_link(is_reached=True)
                    return True
        return False

    def _is_cut_off(self) -> bool:
        """True if this connection must end: stopped, suspended, or there is a new route."""
        is_over = self._is_stopping.is_set() or self._is_renewed.is_set()
        return is_over or bool(self._suspended_why)

    def _report_link(self, *, is_reached: bool) -> None:
        if self._on_link is not None and not self._suspended_why:
            self._on_link(is_reached)

    def _converse(self, socket: ViewSocket) -> str:
        last_message_s = self._clock.monotonic_s()
        while not self._is_cut_off():
            now_s = self._clock.monotonic_s()
            if now_s - last_message_s > _DEAD_AFTER_S:
                return "the hub stopped responding"
            self._send_due(socket, now_s)
            self._wait(socket, self._pull_cursors.wait_s(now_s, _POLL_S))
            while (message := socket.receive()) is not None:
                last_message_s = self._clock.monotonic_s()
                if self._pull_cursors.is_other_hub(message):
                    return "the hub was restarted with another database"
                self._handle_message(message, last_message_s)
        return ""

    def _send_due(self, socket: ViewSocket, now_s: float) -> None:
        for message in self._open_requests.due(now_s):
            if not socket.send(message):
                return
            self._open_requests.sent(message, now_s)
        for number in self._open_requests.overflow():
            text = "too many requests are waiting"
            self._put(ErrorMessage(code="busy", text=text, request_id=number))
        for message in self._pull_cursors.due(now_s, is_full=len(self.inbox) >= self._inbox_limit):
            socket.send(message)

    def _handle_message(self, message: ToDesktop, now_s: float) -> None:
        if self._pull_cursors.apply_message(message, now_s):
            if isinstance(message, HubReply):
                self._put(HubStatusChanged(message))
            if (isinstance(message, RunsReply) and (message.runs or message.deleted)) or (
                isinstance(message, RowsReply) and message.rows
            ):
                self._put(message)
        elif isinstance(message, Answer) and self._open_requests.accept_reply(message, now_s):
            self._put(message)

    def _wait(self, view_socket: ViewSocket, timeout_s: float) -> None:
        poller = zmq.Poller()
        poller.register(view_socket.socket, zmq.POLLIN)
        poller.register(self._wakeup.fileno(), zmq.POLLIN)
        poller.poll(int(timeout_s * 1000) + 1)
        self._wakeup.clear()

    def _pause(self, seconds: float) -> None:
        end_s = self._clock.monotonic_s() + seconds
        poller = zmq.Poller()
        poller.register(self._wakeup.fileno(), zmq.POLLIN)
        while (left_s := end_s - self._clock.monotonic_s()) > 0:
            poller.poll(int(left_s * 1000) + 1)
            self._wakeup.clear()
            if self._is_stopping.is_set() or self._is_impatient.is_set():
                break
        self._is_impatient.clear()

    def _put(self, news: News) -> None:
        self.inbox.append(news)
        self._wake_reader_once()

    def _wake_reader_once(self) -> None:
        if not self._is_woken.is_set():
            self._is_woken.set()
            self._wake_reader()


MAX_OPEN = 256
_COMMAND_AGAIN_S = 1.0
_ANSWER_S = 3.0
"""Seconds until a request is sent again: a hub that was quickly replaced never received it."""


# One counter for all hubs of a process: the number of a reply alone says which request it is for.
_NUMBERS = itertools.count(1)
_LOCK = threading.Lock()


class OpenRequests:
    """Open requests; any thread may `add`, everything else belongs to the follower's thread."""

    def __init__(self) -> None:
        self._new: deque[tuple[int, msgspec.Struct]] = deque()
        self._open: OrderedDict[int, msgspec.Struct] = OrderedDict()
        self._due_s: dict[int, float] = {}
        self._states: dict[int, CommandStatus] = {}

    def next_number(self) -> int:
        """A number for a request of the follower's own."""
        with _LOCK:
            return next(_NUMBERS)

    def add(self, message: msgspec.Struct) -> int:
        """Take a request; return the number that its replies will carry."""
        number = self.next_number()
        self._new.append((number, msgspec.structs.replace(message, request_id=number)))
        return number

    def due(self, now_s: float) -> list[msgspec.Struct]:
        while self._new:
            number, message = self._new.popleft()
            self._open[number] = message
            self._due_s[number] = now_s
        return [self._open[number] for number, due_s in self._due_s.items() if due_s <= now_s]

    def sent(self, message: msgspec.Struct, now_s: float) -> None:
        """Note that a request went out; it is sent again until its last reply arrives."""
        number = int(getattr(message, "request_id", 0))
        again_s = _COMMAND_AGAIN_S if isinstance(message, CommandRequest) else _ANSWER_S
        self._due_s[number] = now_s + again_s

    def overflow(self) -> list[int]:
        """Numbers of the oldest requests, dropped because too many are open."""
        dropped: list[int] = []
        while len(self._open) > MAX_OPEN:
            number = next(iter(self._open))
            self._forget(number)
            dropped.append(number)
        return dropped

    def resend_all(self, now_s: float) -> None:
        """Make every open request due, after a new connection."""
        self._due_s = dict.fromkeys(self._open, now_s)

    def accept_reply(self, message: ToDesktop, now_s: float) -> bool:
        """True if the sender of the request has not seen this reply yet."""
        number = int(getattr(message, "request_id", 0))
        if number not in self._open:
            return False
        if isinstance(message, ErrorMessage) and message.retry_ms:
            self._due_s[number] = now_s + message.retry_ms / 1000
            return False
        if isinstance(message, ReplyPending) or (
            isinstance(message, SeriesReply) and message.one_of > 1
        ):
            self._due_s[number] = now_s + _ANSWER_S
            return True
        if not isinstance(message, CommandReply):
            self._forget(number)
            return True
        is_news = self._states.get(number) != message.status
        self._states[number] = message.status
        if message.status.state in FINAL_STATES:
            self._forget(number)
        return is_news

    def _forget(self, number: int) -> None:
        self._open.pop(number, None)
        self._due_s.pop(number, None)
        self._states.pop(number, None)


_RUNS_EVERY_S = 0.5
_RESEND_S = 1.5
_PING_EVERY_S = 1.0
_MAX_PAGES_UNREAD = 16
"""Row pages of up to 512 KiB that may wait for the reader."""


class PullCursors:
    """Cursors into one hub. Owned by the follower's thread, except `resume`."""

    def __init__(self, next_number: Callable[[], int]) -> None:
        self._next_number = next_number
        self._hub = ""
        self._change = 0
        self._head = 0
        self._cursor: int | None = None
        self._runs_request = 0
        self._rows_request = 0
        self._hub_request: int = 0
        self._hub_reply: HubReply | None = None
        self._hint: ChangeHint | None = None
        self._requested_s = {"runs": 0.0, "rows": 0.0, "ping": 0.0, "hub": 0.0}
        self._runs_due_s = 0.0
        self._pages_unread = 0

    def connected(self, reply: HubReply) -> None:
        """Take the status of the connected hub; another hub id resets all cursors."""
        self._hub_reply = reply
        self._hint = None
        self._hub_request = 0
        if reply.hub != self._hub:
            self._hub = reply.hub
            self._change = self._head = 0
            # Not the head of the first list of runs: what is committed before that list is news
            # to a reader that has already heard of the connection. None: an older hub.
            self._cursor = reply.head
        self._runs_request = self._rows_request = 0
        self._runs_due_s = 0.0

    def is_other_hub(self, message: ToDesktop) -> bool:
        """True if a reply comes from a hub with another database than the one connected."""
        return isinstance(message, (RunsReply, RowsReply)) and message.hub != self._hub

    def resume(self) -> None:
        """Continue after the reader has emptied the inbox; from the reader's thread."""
        self._pages_unread = 0

    def wait_s(self, now_s: float, most_s: float) -> float:
        """Seconds until something is due, `most_s` at most."""
        return (
            max(0.0, min(most_s, self._runs_due_s - now_s)) if not self._runs_request else most_s
        )

    def due(self, now_s: float, *, is_full: bool) -> list[msgspec.Struct]:
        """Requests to send now; only pings while the reader does not keep up."""
        due: list[msgspec.Struct] = []
        if now_s - self._requested_s["ping"] > _PING_EVERY_S:
            self._requested_s["ping"] = now_s
            due.append(Ping(n=self._next_number()))
        if is_full:
            return due
        if self._is_hub_changed() and self._is_open("hub", self._hub_request, now_s):
            self._requested_s["hub"] = now_s
            self._hub_request = self._next_number()
            due.append(HubRequest(request_id=self._hub_request))
        if self._is_open("runs", self._runs_request, now_s) and now_s >= self._runs_due_s:
            self._requested_s["runs"] = now_s
            self._runs_request = self._next_number()
            due.append(RunsRequest(request_id=self._runs_request, since_change=self._change))
        cursor = self._cursor
        has_room = self._pages_unread < _MAX_PAGES_UNREAD
        if cursor is None or self._head <= cursor or not has_room:
            return due
        if self._is_open("rows", self._rows_request, now_s):
            self._requested_s["rows"] = now_s
            self._rows_request = self._next_number()
            due.append(RowsRequest(request_id=self._rows_request, cursor=cursor))
        return due

    def apply_message(self, message: ToDesktop, now_s: float) -> bool:
        """Take a reply or a hint; False if it belongs to another request."""
        match message:
            case ChangeHint():
                self._head = max(self._head, message.head)
                if message.change > self._change:
                    self._runs_due_s = now_s
                self._hint = message
                return True
            case HubReply() if message.request_id == self._hub_request and message.request_id:
                self._hub_request = 0
                self._hub_reply = message
                return True
            case RunsReply() if message.request_id == self._runs_request and message.request_id:
                self._apply_runs(message, now_s)
                return True
            case RowsReply() if message.request_id == self._rows_request and message.request_id:
                self._rows_request = 0
                self._cursor = message.cursor
                self._head = message.head
                self._pages_unread += bool(message.rows)
                return True
            case _:
                return False

    def _apply_runs(self, reply: RunsReply, now_s: float) -> None:
        self._runs_request = 0
        if reply.change < self._change:
            self._change = 0  # the hub's database was put back to an older state
            self._runs_due_s = now_s
            return
        self._change = reply.change
        self._head = reply.head
        if self._cursor is None or self._cursor > reply.head:
            # New to this hub; or its database was put back to an older state.
            self._cursor = reply.head
        self._runs_due_s = now_s if reply.more else now_s + _RUNS_EVERY_S

    def _is_hub_changed(self) -> bool:
        hint = self._hint
        reply = self._hub_reply
        if hint is None or reply is None:
            return False
        if hint.troubles is None:
            return hint.is_troubled != bool(reply.unwritten)
        return hint.troubles != troubles_checksum(reply.troubles)

    def _is_open(self, kind: str, request_number: int, now_s: float) -> bool:
        return not request_number or now_s - self._requested_s[kind] > _RESEND_S
