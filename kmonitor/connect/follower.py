"""A desktop's thread for one hub: follows runs and rows, carries questions, comes back alone."""

import logging
import random
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import msgspec
import zmq

from kmonitor.base.doorbell import Doorbell
from kmonitor.connect.hub_socket import DirectHub
from kmonitor.connect.pull import Pull
from kmonitor.connect.questions import Questions
from kmonitor.connect.remote_hub import RemoteHub
from kmonitor.connect.view_link import ViewLink
from kmonitor_agent.wire.local.clock import Clock, SystemClock
from kmonitor_agent.wire.messages.unions import (
    AuditTold,
    CommandTold,
    EditTold,
    ErrorMessage,
    HubAsked,
    HubTold,
    KeysTold,
    RowsTold,
    RunsTold,
    SeriesTold,
    ToDesktop,
    VerdictsTold,
    Working,
)

LOG = logging.getLogger("kmonitor.connect")

_ATTEMPT_S = 1.0
_DEAD_AFTER_S = 2.5
_BACK_OFF_FIRST_S = 0.1
_BACK_OFF_LAST_S = 5.0
_POLL_S = 0.1
_HELD_LOOK_S = 1.0
_UNTIL_ASKED_S = 7 * 86400.0
_JOIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Connected:
    """The hub answers. When its id differs from before, all that was known of it is void.

    Attributes:
        hub: What it says of itself.
    """

    hub: HubTold


@dataclass(frozen=True, slots=True)
class ConditionTold:
    """What the hub that is connected says of itself has changed.

    Attributes:
        hub: What it says now.
    """

    hub: HubTold


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The hub does not answer; told again after every attempt that failed.

    Attributes:
        why: In words.
        retry_in_s: Seconds until the next attempt; None: not before the user asks.
        since_wall_s: Since when, UTC epoch seconds.
    """

    why: str
    retry_in_s: float | None
    since_wall_s: float


@dataclass(frozen=True, slots=True)
class WayTold:
    """How the way to a hub on another host stands; told of hosts only.

    Attributes:
        stage: "asking" (for its hub, over ssh), "opening" (the tunnel), "open" or "closed".
        what: Why it is closed, in words; empty otherwise.
        remedy: What to do about it; may be empty.
        retry_in_s: Seconds until the next attempt; None: not before the user asks for it.
        hub: What was found there; None while nothing was.
    """

    stage: Literal["asking", "opening", "open", "closed"]
    what: str = ""
    remedy: str = ""
    retry_in_s: float | None = None
    hub: RemoteHub | None = None


Answer = (
    RunsTold
    | RowsTold
    | SeriesTold
    | VerdictsTold
    | Working
    | CommandTold
    | EditTold
    | HubTold
    | KeysTold
    | AuditTold
    | ErrorMessage
)
"""What a question of the desktop's may bring."""

News = Connected | ConditionTold | Disconnected | WayTold | Answer
"""What the inbox holds."""


class HubFollower:
    """Owns the thread `kmonitor-follower` and the socket to one hub.

    Live rows begin at the hub's newest row when first connected; after a lost connection to the
    same hub they go on where they were, so that nothing is missing or told twice.

    Attributes:
        inbox: What came, oldest first; the reader takes from the left.
    """

    def __init__(
        self,
        endpoint: str | DirectHub,
        *,
        wake: Callable[[], None],
        inbox_limit: int = 4096,
        clock: Clock | None = None,
        on_link: Callable[[bool], None] | None = None,
        place: str = "",
    ) -> None:
        """Nothing happens before `start`.

        Args:
            endpoint: ZeroMQ address of the hub's view socket, or a hub on the network.
            wake: Called from the follower's thread when the inbox got something; at most once
                until `drained`.
            inbox_limit: With so many messages waiting, the follower pulls no more.
            clock: Where time comes from.
            on_link: Called from the follower's thread: the hub was reached, or an attempt failed.
            place: Where the hub is, in words; empty: at the endpoint.
        """
        self.inbox: deque[News] = deque()
        self._endpoint = endpoint
        address = endpoint.address.endpoint if isinstance(endpoint, DirectHub) else endpoint
        self._place = place or f"at {address}"
        self._wake = wake
        self._inbox_limit = inbox_limit
        self._clock = clock or SystemClock()
        self._questions = Questions()
        self._pull = Pull(self._questions.next_number)
        self._bell = Doorbell()
        self._is_woken = threading.Event()
        self._is_stopping = threading.Event()
        self._is_impatient = threading.Event()
        self._on_link = on_link
        self._held_why = ""
        self._is_renewed = threading.Event()
        self._thread = threading.Thread(target=self._main, name="kmonitor-follower", daemon=True)
        self._lost_wall_s = self._clock.wall_s()

    def start(self) -> None:
        """Start following."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread and wait for it; open questions stay unanswered."""
        self._is_stopping.set()
        self._bell.ring()
        if self._thread.is_alive():
            self._thread.join(_JOIN_S)
        if not self._thread.is_alive():
            self._bell.close()

    def ask(self, message: msgspec.Struct) -> int:
        """Send a question, now or when the hub is back; from any thread.

        Commands are asked again until their state is final, and told at each new state.

        Returns:
            The number that its answers carry in `ask`; any number in `message` is replaced.
        """
        number = self._questions.add(message)
        self._bell.ring()
        return number

    def retry_now(self) -> None:
        """Do not wait for the next attempt; from any thread."""
        self._is_impatient.set()
        self._bell.ring()

    def hold(self, why: str) -> None:
        """There is no way to the hub now: end the connection and try no more; from any thread."""
        self._held_why = why
        self._bell.ring()

    def release(self) -> None:
        """There is a way to the hub, perhaps a new one: connect anew at once; from any thread."""
        self._held_why = ""
        self._is_renewed.set()
        self.retry_now()

    def tell(self, news: News) -> None:
        """Put news of the way to the hub into the inbox; from any thread."""
        self._put(news)

    def drained(self) -> None:
        """The reader has emptied the inbox: wake it again for what comes next."""
        self._is_woken.clear()
        self._pull.resume()
        if self.inbox:
            self._wake_once()  # came between the reader's last look and this call
        self._bell.ring()

    def _main(self) -> None:
        try:
            self._follow()
        except Exception:
            LOG.exception("the follower of %s ended", self._place)
            self._put(Disconnected("kmonitor failed here; see its log", 0.0, self._lost_wall_s))

    def _follow(self) -> None:
        back_off_s = _BACK_OFF_FIRST_S
        was_let_in = False
        while not self._is_stopping.is_set():
            if self._held_why:
                self._pause(_HELD_LOOK_S)
                continue
            self._is_renewed.clear()
            link = ViewLink(self._endpoint)
            try:
                why = f"no hub answers {self._place}"
                if self._greet(link):
                    back_off_s, was_let_in = _BACK_OFF_FIRST_S, True
                    why = self._converse(link)
                    self._lost_wall_s = self._clock.wall_s()
                refusal = link.refusal
            finally:
                link.close()
            if not self._is_stopping.is_set() and not self._is_renewed.is_set():
                pause_s = back_off_s * random.uniform(0.7, 1.3)  # noqa: S311 - jitter
                # Who is new may be let in any moment; who was sent away need not knock on.
                is_out = bool(refusal) and was_let_in
                told_s = None if is_out else pause_s
                why = self._held_why or refusal or why
                self._put(Disconnected(why, told_s, self._lost_wall_s))
                self._tell_link(is_reached=False)
                self._pause(_UNTIL_ASKED_S if is_out else pause_s)
                back_off_s = min(2 * back_off_s, _BACK_OFF_LAST_S)

    def _greet(self, link: ViewLink) -> bool:
        number = self._questions.next_number()
        link.send(HubAsked(ask=number))
        end_s = self._clock.monotonic_s() + _ATTEMPT_S
        while not self._is_cut_off() and self._clock.monotonic_s() < end_s:
            self._wait(link, _POLL_S)
            while (told := link.receive()) is not None:
                if isinstance(told, HubTold) and told.ask == number:
                    self._pull.connected(told)
                    self._questions.ask_all_again(self._clock.monotonic_s())
                    self._put(Connected(told))
                    self._tell_link(is_reached=True)
                    return True
        return False

    def _is_cut_off(self) -> bool:
        """Whether this connection is to end: stopped, held, or there is a new way."""
        is_over = self._is_stopping.is_set() or self._is_renewed.is_set()
        return is_over or bool(self._held_why)

    def _tell_link(self, *, is_reached: bool) -> None:
        if self._on_link is not None and not self._held_why:
            self._on_link(is_reached)

    def _converse(self, link: ViewLink) -> str:
        heard_s = self._clock.monotonic_s()
        while not self._is_cut_off():
            now_s = self._clock.monotonic_s()
            if now_s - heard_s > _DEAD_AFTER_S:
                return "the hub stopped answering"
            self._send_due(link, now_s)
            self._wait(link, self._pull.wait_s(now_s, _POLL_S))
            while (told := link.receive()) is not None:
                heard_s = self._clock.monotonic_s()
                if self._pull.is_other_hub(told):
                    return "the hub was started anew with another database"
                self._take(told, heard_s)
        return ""

    def _send_due(self, link: ViewLink, now_s: float) -> None:
        for message in self._questions.due(now_s):
            if not link.send(message):
                return
            self._questions.sent(message, now_s)
        for number in self._questions.overflow():
            text = "too many questions are open"
            self._put(ErrorMessage(code="busy", text=text, ask=number))
        for message in self._pull.due(now_s, is_full=len(self.inbox) >= self._inbox_limit):
            link.send(message)

    def _take(self, told: ToDesktop, now_s: float) -> None:
        if self._pull.take(told, now_s):
            if isinstance(told, HubTold):
                self._put(ConditionTold(told))
            if (isinstance(told, RunsTold) and (told.runs or told.deleted)) or (
                isinstance(told, RowsTold) and told.rows
            ):
                self._put(told)
        elif isinstance(told, Answer) and self._questions.take(told, now_s):
            self._put(told)

    def _wait(self, link: ViewLink, timeout_s: float) -> None:
        poller = zmq.Poller()
        poller.register(link.socket, zmq.POLLIN)
        poller.register(self._bell.fileno(), zmq.POLLIN)
        poller.poll(int(timeout_s * 1000) + 1)
        self._bell.answer()

    def _pause(self, seconds: float) -> None:
        end_s = self._clock.monotonic_s() + seconds
        poller = zmq.Poller()
        poller.register(self._bell.fileno(), zmq.POLLIN)
        while (left_s := end_s - self._clock.monotonic_s()) > 0:
            poller.poll(int(left_s * 1000) + 1)
            self._bell.answer()
            if self._is_stopping.is_set() or self._is_impatient.is_set():
                break
        self._is_impatient.clear()

    def _put(self, news: News) -> None:
        self.inbox.append(news)
        self._wake_once()

    def _wake_once(self) -> None:
        if not self._is_woken.is_set():
            self._is_woken.set()
            self._wake()
