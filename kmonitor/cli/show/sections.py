"""The epochs of a run as a table."""

from collections.abc import Iterable

from kmonitor.cli.common.terminal import counted, say, say_table
from kmonitor.export.events import read_event
from kmonitor.ui.text.formats import (
    NOT_KNOWN,
    count_text,
    number_text,
    plain_text,
    seconds_text,
)
from kmonitor_agent.wire.messages.events import EpochEnded, GraphSize
from kmonitor_agent.wire.messages.unions import Row

EPOCHS_SHOWN = 30
"""Newest epochs in the table; `kmonitor export` has them all."""

LOGS_SHOWN = 4
"""Logs and metrics of an epoch that have a column."""


def say_epochs(rows: Iterable[Row]) -> None:
    """Print the newest epochs; nothing when none has ended."""
    ended, graphs = _collected(rows)
    if not ended:
        return
    shown = ended[-EPOCHS_SHOWN:]
    names = _log_names(shown)
    right = ("FIT", "EPOCH", "STEPS", "TIME", "STEP", "GRAPH", "FUNCTIONS", *names)
    say()
    say_table(right, [_cells(event, graphs, names) for event in shown], right=right)
    if len(shown) < len(ended):
        earlier = counted(len(ended) - len(shown), "earlier epoch")
        say(f"({earlier}: kmonitor export RUN --format csv)")


def _collected(
    rows: Iterable[Row],
) -> tuple[list[EpochEnded], dict[tuple[int, int], GraphSize]]:
    events = [event for event in map(read_event, rows) if event is not None]
    ended = [event for event in events if isinstance(event, EpochEnded)]
    graphs: dict[tuple[int, int], GraphSize] = {}
    for event in events:
        if isinstance(event, GraphSize):
            # The largest of an epoch: a reload at its end is told by its own record.
            key = event.fit, event.epoch
            graphs[key] = max(event, graphs.get(key, event), key=lambda size: size.operations)
    return ended, graphs


def _log_names(events: list[EpochEnded]) -> list[str]:
    names = dict.fromkeys(name for event in events for name in event.logs)
    return list(names)[:LOGS_SHOWN]


def _cells(
    event: EpochEnded, graphs: dict[tuple[int, int], GraphSize], names: list[str]
) -> list[str]:
    graph = graphs.get((event.fit, event.epoch))
    step = event.step_times
    cells = [
        str(event.fit),
        str(event.epoch + 1),
        count_text(event.steps),
        seconds_text(event.seconds),
        seconds_text(step.p50_s) if step else NOT_KNOWN,
        count_text(graph.operations) if graph else NOT_KNOWN,
        count_text(graph.functions) if graph else NOT_KNOWN,
        *(number_text(event.logs[n]) if n in event.logs else NOT_KNOWN for n in names),
    ]
    return [plain_text(cell) for cell in cells]
