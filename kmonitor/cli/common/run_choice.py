"""Which run a person means who types an id, the beginning of one, a name, or `last`."""

from collections.abc import Sequence

from kmonitor.base.errors import Expected
from kmonitor.cli.common.terminal import plain
from kmonitor.ui.text.formats import moment_text
from kmonitor_agent.wire.messages.unions import RunSummary

LAST = "last"
"""Stands for the run that was started last."""

_SHOWN_IDS = 8
"""How many candidates a message names."""

SHORT_ID = 8
"""Characters of a run id that lists show; the beginning of an id is enough everywhere."""


class UnknownRun(Expected):
    """No run is meant by what was typed."""

    def __init__(self, wanted: str, *, any_runs: bool) -> None:
        remedy = (
            "See the runs with: kmonitor runs"
            if any_runs
            else "There are no runs yet. Put MonitorCallback() among a fit's callbacks, or try: "
            "kmonitor demo"
        )
        super().__init__(f'There is no run "{plain(wanted)}".', remedy)


class AmbiguousRun(Expected):
    """More than one run is meant by what was typed."""

    def __init__(self, wanted: str, found: Sequence[RunSummary]) -> None:
        newest = max(run.started_wall_s for run in found)
        lines = [
            f"  {run.run}  {plain(run.name)}, {run.state}, "
            f"started {moment_text(run.started_wall_s, now_wall_s=newest)}"
            for run in found[-_SHOWN_IDS:]
        ]
        left_out = len(found) - len(lines)
        more = [f"  and {left_out} older ones"] if left_out else []
        super().__init__(
            f'"{plain(wanted)}" could be any of {len(found)} runs.',
            "\n".join(["Give more of the id:", *lines, *more]),
        )


def choose_run(runs: Sequence[RunSummary], wanted: str) -> RunSummary:
    """The one run that is meant: by id, else by name, else by the beginning of an id.

    Args:
        runs: All runs of the hub.
        wanted: What was typed.

    Raises:
        UnknownRun: None is.
        AmbiguousRun: More than one is.
    """
    by_start = sorted(runs, key=lambda run: run.started_wall_s)
    if wanted == LAST and by_start:
        return by_start[-1]
    matches = (
        [run for run in by_start if run.run == wanted]
        or [run for run in by_start if run.name == wanted]
        or [run for run in by_start if wanted and run.run.startswith(wanted)]
    )
    if not matches:
        raise UnknownRun(wanted, any_runs=bool(runs))
    if len(matches) > 1:
        raise AmbiguousRun(wanted, matches)
    return matches[0]
