"""Alerts that a target did not take and that are sent again, and their encoding.

An alert must not arrive twice. So it is sent again only where the target reported a failure, or
never received the alert:

- a command that could not be started, or that exited with a status above 0. The status is all that
  a command reports, and mail programs report this way that they have not sent. A command that
  sends and then fails contradicts itself; the guide names the rule.
- a webhook that could not be reached, or that replied "not now" (`RETRIED_ANSWERS`).

An alert is not sent again where its arrival is uncertain: a command that was killed, by its time
limit or a signal; a webhook that took the alert and did not reply, or whose gateway says so (504).
Nor is it sent again where it would be refused again. Only the failed target gets it again, three
times at most: after a hiccup, after a restart of the service, and after minutes without a network.
"""

from typing import Final, Literal

import msgspec

Target = Literal["command", "webhook"]

WAITS_S: Final = (15.0, 60.0, 240.0)
"""Waits before each further try, seconds."""

RETRIED_ANSWERS: Final = frozenset({408, 429, 500, 502, 503})
"""Status codes of HTTP by which a server says that it has not taken the alert, but may later."""


class Retry(msgspec.Struct, frozen=True):
    """An alert that is sent again to one target.

    Attributes:
        facts: The alert, as JSON values.
        target: The target; its address or command is read from the settings at that time.
        due_s: Time of the next try, UTC epoch seconds.
        tries_left: Number of tries after the next one.
    """

    facts: dict[str, str | float]
    target: Target
    due_s: float
    tries_left: int


class Outcome(msgspec.Struct, frozen=True):
    """Outcome of one try at one target.

    Attributes:
        target: The target.
        why: Reason for the failure; empty: the alert was delivered.
        may_repeat: True if the target certainly has not received the alert and may take it later.
    """

    target: Target
    why: str = ""
    may_repeat: bool = False


def retry_after(
    outcome: Outcome, facts: dict[str, str | float], tries_left: int, now_wall_s: float
) -> Retry | None:
    """Return the next try after one that has ended; None: there is none.

    Args:
        facts: The alert, as JSON values.
        tries_left: Number of tries after the ended one.
        now_wall_s: Now, UTC epoch seconds.
    """
    if not (outcome.why and outcome.may_repeat and tries_left):
        return None
    wait_s = WAITS_S[-tries_left]
    return Retry(facts, outcome.target, now_wall_s + wait_s, tries_left - 1)


def due_retries(retries: list[Retry], now_wall_s: float) -> tuple[list[Retry], list[Retry]]:
    """Split retries into those that are due now and the others."""
    due = [each for each in retries if each.due_s <= now_wall_s]
    return due, [each for each in retries if each.due_s > now_wall_s]


_decoder = msgspec.msgpack.Decoder(list[Retry])


def encode_retries(retries: list[Retry]) -> bytes:
    """Encode retries for the report of the delivering process to the hub."""
    return msgspec.msgpack.encode(retries)


def decode_retries(data: bytes) -> list[Retry]:
    """Decode retries from `encode_retries`. Raises: `msgspec.MsgspecError`."""
    return _decoder.decode(data)
