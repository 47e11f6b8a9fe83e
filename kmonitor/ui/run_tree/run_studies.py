"""A study as one row of the tree, with the runs of its folds below it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kmonitor.ui.runs.run_states import has_ended
from kmonitor.ui.studies.folds import fold_name
from kmonitor.ui.studies.study_page import tally_words
from kmonitor.ui.studies.study_store import is_search, is_study
from kmonitor_agent.wire.messages.unions import RunSummary

ALWAYS_SHOWN: Final = 8
"""So many folds of a study that runs have rows in any case; others when one is looked for."""


@dataclass(frozen=True, slots=True)
class StudyGroup:
    """A study and its folds' runs.

    Attributes:
        lead: The study's own run.
        folds: By fold, then by start.
    """

    lead: RunSummary
    folds: tuple[RunSummary, ...]

    def shows_folds(self, selected: str | None, search: str) -> bool:
        """Whether the folds have rows of their own."""
        is_small = len(self.folds) <= ALWAYS_SHOWN
        is_looked_at = selected == self.lead.run or any(f.run == selected for f in self.folds)
        if is_small:
            return bool(search) or is_looked_at or not has_ended(self.lead)
        return bool(search) or any(each.run == selected for each in self.folds)

    @property
    def line(self) -> str:
        """The second line of the study's row."""
        return tally_words(self.lead)

    @property
    def fraction(self) -> float | None:
        """Part of the folds that is over, 0..1; None: it has ended, or told nothing."""
        tally, lead = self.lead.tally, self.lead
        if tally is None or not lead.folds or has_ended(lead):
            return None
        return min(1.0, tally.over / lead.folds)


def studies_of(runs: Sequence[RunSummary]) -> dict[str, StudyGroup]:
    """The study of each run that is one or is of one, by run id.

    Folds whose study told nothing (or was deleted) stay what they are.
    """
    leads = {run.study: run for run in runs if is_study(run)}
    folds: dict[str, list[RunSummary]] = {study: [] for study in leads}
    for run in runs:
        if run.fold is not None and run.study in folds:
            folds[run.study].append(run)
    found: dict[str, StudyGroup] = {}
    for study, lead in leads.items():
        ordered = sorted(folds[study], key=lambda each: (each.fold or 0, each.started_wall_s))
        group = StudyGroup(lead, tuple(ordered))
        found |= {run.run: group for run in (lead, *ordered)}
    return found


def fold_row_name(run: RunSummary, lead: RunSummary) -> str:
    """What a fold's own row is called: "fold 2", with its host where that is another."""
    name = fold_name(run.fold or 0, "trial" if is_search(lead) else "fold")
    return name if run.host == lead.host else f"{name} \u00b7 {run.host}"


def first_mark(group: StudyGroup, marks: Mapping[str, str]) -> str:
    """A fold's mark is not lost while the folds are folded away."""
    return next((marks[each.run] for each in group.folds if marks.get(each.run)), "")
