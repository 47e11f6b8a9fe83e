"""Filter and order of listed runs, for `kmonitor runs` and `kmonitor top`."""

from collections.abc import Callable, Collection, Iterable
from typing import Final, Literal, get_args

from kmonitor.cli.common.summary_text import summary_metric
from kmonitor_agent.wire.messages.commands import LimitMetric
from kmonitor_agent.wire.messages.unions import ENDED_STATES, RunState, RunSummary

StateFilter = Literal[RunState, "live", "ended"]

RunSort = Literal["started", "name", "host", "state", "graph", "ram", "vram", "step", "ran"]

SORTS: Final[tuple[RunSort, ...]] = get_args(RunSort)


def has_state(run: RunSummary, wanted: Collection[StateFilter]) -> bool:
    """True if the run has one of these states; always True where none is wanted."""
    group: StateFilter = "ended" if run.state in ENDED_STATES else "live"
    return not wanted or run.state in wanted or group in wanted


def sorted_runs(runs: Iterable[RunSummary], sort: RunSort) -> list[RunSummary]:
    """Sort runs by a column: newest and largest first, texts alphabetically, unknown last."""
    newest = sorted(runs, key=lambda run: (-run.started_wall_s, run.run))
    return sorted(newest, key=_SORT_KEYS[sort])


def _descending(metric: LimitMetric) -> Callable[[RunSummary], tuple[bool, float]]:
    def key(run: RunSummary) -> tuple[bool, float]:
        value = summary_metric(run, metric).value
        return value is None, -(value or 0.0)

    return key


_SORT_KEYS: Final[dict[RunSort, Callable[[RunSummary], tuple[bool, float] | str]]] = {
    "started": lambda run: (False, -run.started_wall_s),
    "name": lambda run: run.name.casefold(),
    "host": lambda run: run.host.casefold(),
    "state": lambda run: run.state,
    "graph": _descending("graph"),
    "ram": _descending("ram"),
    "vram": _descending("vram"),
    "step": _descending("step_time"),
    "ran": lambda run: (False, -run.duration_s),
}
