"""Which runs are the processes of one strategy: one row in the tree, its ranks below it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kmonitor.ui.runs.run_states import StatePicture
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.unions import RunSummary

ALWAYS_SHOWN: Final = 8
"""So many ranks are shown in any case; of more only when one of them is selected or searched."""


@dataclass(frozen=True, slots=True)
class RunGroup:
    """The processes of one launch.

    Attributes:
        members: By rank, two at least.
    """

    members: tuple[RunSummary, ...]

    @property
    def lead(self) -> RunSummary:
        """The one that stands for all: the lowest rank that is known."""
        return self.members[0]

    def shows_ranks(self, selected: str | None, search: str) -> bool:
        """Whether the ranks have rows of their own."""
        is_small = len(self.members) <= ALWAYS_SHOWN
        return is_small or bool(search) or any(each.run == selected for each in self.members)


def groups_of(runs: Sequence[RunSummary]) -> dict[str, RunGroup]:
    """The group of each run that has one, by run id.

    Launches that look the same (the same cluster of a TF_CONFIG, day after day) are told apart by
    their ranks: where a rank comes again, another launch has begun.
    """
    launches: dict[str, list[dict[int, RunSummary]]] = {}
    for run in sorted(runs, key=lambda each: each.started_wall_s):
        if run.rank is None or not run.group:
            continue
        of_group = launches.setdefault(run.group, [{}])
        if run.rank in of_group[-1]:
            of_group.append({})
        of_group[-1][run.rank] = run
    found: dict[str, RunGroup] = {}
    for ranks in (each for of_group in launches.values() for each in of_group):
        if len(ranks) > 1:
            group = RunGroup(tuple(ranks[rank] for rank in sorted(ranks)))
            found |= {run.run: group for run in group.members}
    return found


def rank_name(run: RunSummary, lead: RunSummary) -> str:
    """What a rank's own row is called."""
    name = tr("rank {n}").format(n=run.rank)
    return name if run.host == lead.host else f"{name} \u00b7 {run.host}"


def group_line(group: RunGroup, line: str, states: dict[str, StatePicture]) -> str:
    """The second line of the row that stands for all: how many, and who is in trouble.

    Args:
        group: The runs.
        line: What the lead's own line says.
        states: How each member's state is shown, by run id.
    """
    told = max(each.world_size for each in group.members)
    n = len(group.members)
    text = tr("{n} of {of} ranks") if n < told else tr("{n} ranks")
    words = text.format(n=n, of=told)
    for run in group.members[1:]:
        if states[run.run].tone == "crit":
            trouble = tr("rank {n}: {state}").format(n=run.rank, state=states[run.run].word)
            return f"{words} \u00b7 {trouble}"
    return f"{words} \u00b7 {line}"
