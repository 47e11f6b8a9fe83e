"""Alerts that a target did not take and that are sent again, and how they travel.

An alert must not arrive twice. So it is sent again only where its target said that it failed, or
never got it:

- a command that could not be started, or that exited with a status above 0. The status is all that
  a command says about it, and what mail programs say where they have not sent. That a command
  sends and then fails is its own contradiction; the guide names the rule.
- a webhook that could not be reached, or that answered "not now" (`RETRIED_ANSWERS`).

Where nobody knows if it arrived it is not: a command that was killed, by its time or a signal; a
webhook that took the alert and did not answer, or whose gateway says so (504). Nor is it where the
same would be refused again. Only the target that failed gets it again, three times at most: after
a hiccup, after a restart of the service, and after minutes without a network.
"""

from typing import Final, Literal

import msgspec

Target = Literal["command", "webhook"]

WAITS_S: Final = (15.0, 60.0, 240.0)
"""Before each further try, seconds."""

RETRIED_ANSWERS: Final = frozenset({408, 429, 500, 502, 503})
"""Status codes of HTTP by which a server says that it has not taken the alert, but may later."""


class Retry(msgspec.Struct, frozen=True):
    """An alert that is sent again to one target.

    Attributes:
        facts: The alert, as JSON values.
        target: Where to; its address or command is that in force by then.
        due_s: When, UTC.
        tries_left: Number of tries after that one.
    """

    facts: dict[str, str | float]
    target: Target
    due_s: float
    tries_left: int


class Outcome(msgspec.Struct, frozen=True):
    """How one try at one target ended.

    Attributes:
        target: Which.
        why: Why it failed; empty: the alert was delivered.
        may_repeat: It is certain that the target has not got it, and it may take it later.
    """

    target: Target
    why: str = ""
    may_repeat: bool = False


def retry_after(
    outcome: Outcome, facts: dict[str, str | float], tries_left: int, now_wall_s: float
) -> Retry | None:
    """The next try after one that has ended; None: there is none.

    Args:
        facts: The alert.
        tries_left: Number of tries after that one.
        now_wall_s: Now, UTC.
    """
    if not (outcome.why and outcome.may_repeat and tries_left):
        return None
    wait_s = WAITS_S[-tries_left]
    return Retry(facts, outcome.target, now_wall_s + wait_s, tries_left - 1)


def due_retries(retries: list[Retry], now_wall_s: float) -> tuple[list[Retry], list[Retry]]:
    """Those whose time has come, and the others."""
    due = [each for each in retries if each.due_s <= now_wall_s]
    return due, [each for each in retries if each.due_s > now_wall_s]


_decoder = msgspec.msgpack.Decoder(list[Retry])


def encode_retries(retries: list[Retry]) -> bytes:
    """As the process that delivers reports them to the hub."""
    return msgspec.msgpack.encode(retries)


def decode_retries(data: bytes) -> list[Retry]:
    """The same. Raises: `msgspec.MsgspecError`."""
    return _decoder.decode(data)
