"""A desktop's open questions: kept until they are answered, asked again after a lost hub."""

import itertools
import threading
from collections import OrderedDict, deque

import msgspec

from kmonitor_agent.wire.messages.commands import FINAL_STATES, CommandStatus
from kmonitor_agent.wire.messages.unions import (
    CommandAsked,
    CommandTold,
    ErrorMessage,
    SeriesTold,
    ToDesktop,
    Working,
)

MAX_OPEN = 256
_COMMAND_AGAIN_S = 1.0
_ANSWER_S = 3.0
"""A hub that was quickly replaced never saw the question: every question may be asked twice."""

_NUMBERS = itertools.count(1)
_LOCK = threading.Lock()
# One row of numbers for all hubs of a process: an answer's number alone says which question it is.


class Questions:
    """Any thread may `add`; all else belongs to the follower's thread."""

    def __init__(self) -> None:
        self._new: deque[tuple[int, msgspec.Struct]] = deque()
        self._open: OrderedDict[int, msgspec.Struct] = OrderedDict()
        self._due_s: dict[int, float] = {}
        self._states: dict[int, CommandStatus] = {}

    def next_number(self) -> int:
        """A number for a question of the follower's own."""
        with _LOCK:
            return next(_NUMBERS)

    def add(self, message: msgspec.Struct) -> int:
        """Take a question; returns the number its answers will carry."""
        number = self.next_number()
        self._new.append((number, msgspec.structs.replace(message, ask=number)))
        return number

    def due(self, now_s: float) -> list[msgspec.Struct]:
        """Questions to be sent now."""
        while self._new:
            number, message = self._new.popleft()
            self._open[number] = message
            self._due_s[number] = now_s
        return [self._open[number] for number, due_s in self._due_s.items() if due_s <= now_s]

    def sent(self, message: msgspec.Struct, now_s: float) -> None:
        """Note that a question went out; it goes out again until its last answer came."""
        number = int(getattr(message, "ask", 0))
        again_s = _COMMAND_AGAIN_S if isinstance(message, CommandAsked) else _ANSWER_S
        self._due_s[number] = now_s + again_s

    def overflow(self) -> list[int]:
        """Numbers of the oldest questions, dropped because too many are open."""
        dropped: list[int] = []
        while len(self._open) > MAX_OPEN:
            number = next(iter(self._open))
            self._forget(number)
            dropped.append(number)
        return dropped

    def ask_all_again(self, now_s: float) -> None:
        """After a new connection: every open question is due."""
        self._due_s = dict.fromkeys(self._open, now_s)

    def take(self, told: ToDesktop, now_s: float) -> bool:
        """Whether an answer is news for who asked: not asked, repeated, or to be tried later."""
        number = int(getattr(told, "ask", 0))
        if number not in self._open:
            return False
        if isinstance(told, ErrorMessage) and told.retry_ms:
            self._due_s[number] = now_s + told.retry_ms / 1000
            return False
        if isinstance(told, Working) or (isinstance(told, SeriesTold) and told.one_of > 1):
            self._due_s[number] = now_s + _ANSWER_S
            return True
        if not isinstance(told, CommandTold):
            self._forget(number)
            return True
        is_news = self._states.get(number) != told.status
        self._states[number] = told.status
        if told.status.state in FINAL_STATES:
            self._forget(number)
        return is_news

    def _forget(self, number: int) -> None:
        self._open.pop(number, None)
        self._due_s.pop(number, None)
        self._states.pop(number, None)
