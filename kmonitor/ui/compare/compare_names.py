"""What compared runs are called: runs of one script have one name, and are to be told apart."""

from collections import Counter
from collections.abc import Callable, Sequence

from kmonitor.ui.text.formats import moment_text
from kmonitor_agent.wire.messages.unions import RunSummary

_ID_LETTERS = 8


def compared_names(runs: Sequence[RunSummary], *, now_wall_s: float) -> dict[str, str]:
    """Names by run: with when it started where others have it too, or with its id.

    Args:
        runs: All that are compared.
        now_wall_s: UTC epoch seconds, for what started on another day.
    """
    ways: tuple[Callable[[RunSummary], str], ...] = (
        lambda run: run.name,
        lambda run: f"{run.name} \u00b7 {_started(run, now_wall_s)}",
        lambda run: f"{run.name} \u00b7 {run.run[:_ID_LETTERS]}",
    )
    names: dict[str, str] = {}
    left = list(runs)
    for way in ways:
        # The last way names whatever is left.
        many = Counter(way(run) for run in left) if way is not ways[-1] else Counter[str]()
        names |= {run.run: way(run) for run in left if many[way(run)] <= 1}
        left = [run for run in left if many[way(run)] > 1]
    return names


def _started(run: RunSummary, now_wall_s: float) -> str:
    return moment_text(run.started_wall_s, now_wall_s=now_wall_s)
