"""The training's metrics in a line each: last and best value, with its epoch."""

import math
from collections.abc import Iterable

from kmonitor.cli.common.terminal import plain, say, say_table
from kmonitor.export.events import read_event
from kmonitor.ui.charts.chart_kinds import better
from kmonitor.ui.text.formats import NOT_KNOWN, number_text, plain_text
from kmonitor_agent.wire.messages.events import EpochEnded
from kmonitor_agent.wire.messages.unions import Row

_RATE = "learning_rate"


def say_training(rows: Iterable[Row]) -> None:
    """Print each log of Keras and the learning rate; nothing when no epoch has ended."""
    ended = [event for event in map(read_event, rows) if isinstance(event, EpochEnded)]
    names = dict.fromkeys(name for event in ended for name in event.logs)
    lines = [_line(name, [(each, each.logs.get(name)) for each in ended]) for name in names]
    if any(event.learning_rate is not None for event in ended) and _RATE not in names:
        lines.append(_line(_RATE, [(each, each.learning_rate) for each in ended]))
    if lines:
        headers = ("TRAINING", "LAST", "BEST", "IN")
        say()
        say_table(headers, lines, right=headers[1:3])


def _line(name: str, values: list[tuple[EpochEnded, float | None]]) -> tuple[str, str, str, str]:
    told = [(event, value) for event, value in values if value is not None]
    finite = [(value, event) for event, value in told if math.isfinite(value)]
    last = plain_text(number_text(told[-1][1]))
    which = better(name)
    if which is None or not finite:
        return plain(name), last, NOT_KNOWN, ""
    pick = min if which == "lower" else max
    best, event = pick(finite, key=lambda pair: pair[0])
    several = len({each.fit for each, _ in values}) > 1
    place = f"fit {event.fit}, epoch {event.epoch + 1}" if several else f"epoch {event.epoch + 1}"
    return plain(name), last, plain_text(number_text(best)), place
