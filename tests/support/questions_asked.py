"""Stands in for a hub that gets requests and answers only when a test says so."""

from typing import TypeVar

import msgspec

T = TypeVar("T", bound=msgspec.Struct)


class QuestionsAsked:
    """Give `request_id` to a presenter; check `messages`.

    Attributes:
        messages: Requests, by number.
    """

    def __init__(self) -> None:
        self.messages: dict[int, msgspec.Struct] = {}

    def ask(self, message: msgspec.Struct) -> int:
        """Keep the message under a new number."""
        number = len(self.messages) + 1
        self.messages[number] = message
        return number

    def of_type(self, kind: type[T]) -> list[tuple[int, T]]:
        """Numbers and messages of one type, oldest first."""
        return [(n, m) for n, m in self.messages.items() if isinstance(m, kind)]
