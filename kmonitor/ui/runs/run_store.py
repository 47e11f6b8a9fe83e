"""All runs that hubs have reported, and the selected one."""

import itertools
from collections.abc import Collection, Iterator, Sequence

import msgspec

from kmonitor.ui.runs.run_states import has_ended
from kmonitor.ui.studies.study_store import is_study
from kmonitor_agent.wire.messages.unions import RunsReply, RunSummary
from kmonitor_agent.wire.text import printable

N_HUES = 6
MAX_SHOWN = 8


class RunStore:
    """Run summaries by id; main thread only."""

    def __init__(self) -> None:
        self._runs: dict[str, RunSummary] = {}
        self._newest: Sequence[RunSummary] | None = None
        self._at: dict[str, str] = {}
        self._hubs: dict[str, str] = {}
        self._hue_indices: dict[str, int] = {}
        self.selected: str | None = None
        self.is_filled = False
        self._wanted_run: str | None = None
        self._is_picked = False

    def __len__(self) -> int:
        return len(self._runs)

    def apply_reply(self, reply: RunsReply, at: str = "") -> bool:
        """Store the runs of a reply; True if the selected run changed.

        Args:
            at: Address of the hub's host; empty: this machine.
        """
        if reply.hub != self._hubs.get(at, reply.hub):
            self._drop(at)
        self._hubs[at] = reply.hub
        self._newest = None
        new = [each for each in reply.runs if each.run not in self._runs and not has_ended(each)]
        for summary in reply.runs:
            if summary.is_elsewhere and self._has_nearer_hub(summary.run, at):
                continue
            self._runs[summary.run] = _with_printable_names(summary)
            self._at[summary.run] = at
        for run in reply.deleted:
            if self._at.get(run, at) == at:
                self._runs.pop(run, None)
        self.is_filled = self.is_filled or not (reply.more or at)
        is_another = self._keep_selection(new)
        for summary in self.shown():
            self._hue_index(summary.run)
        return is_another

    def leave(self, at: str) -> None:
        """Drop all runs of a hub."""
        self._drop(at)
        self._hubs.pop(at, None)
        self._keep_selection([])

    def move(self, of: str, to: str) -> None:
        """Record that the hub of one address is now connected through another."""
        self._at = {run: to if at == of else at for run, at in self._at.items()}
        if of in self._hubs:
            self._hubs[to] = self._hubs.pop(of)

    def at(self, run: str) -> str:
        """Return the address of a run's hub; empty: this machine's, or the run is not known."""
        return self._at.get(run, "")

    def select(self, run: str) -> bool:
        """Select this run on the user's request; True if another run was selected before."""
        self._is_picked = self._is_picked or run in self._runs
        if run not in self._runs or run == self.selected:
            return False
        self.selected = run
        return True

    def pin_selection(self) -> None:
        """Keep the selected run, as if the user had chosen it."""
        self._is_picked = True

    def want(self, wanted: str) -> None:
        """Select this run once it is known: an id, the start of an id, a name, or "last"."""
        self._wanted_run = wanted

    @property
    def is_waiting(self) -> bool:
        """True if the run to select is not known yet."""
        return self._wanted_run is not None

    def current(self) -> RunSummary | None:
        return self._runs.get(self.selected or "")

    def get(self, run: str) -> RunSummary | None:
        return self._runs.get(run)

    def runs(self) -> Sequence[RunSummary]:
        """All runs, newest start first, those that have ended after the others."""
        if self._newest is None:
            self._newest = tuple(sorted(self._runs.values(), key=_newest_first))
        return self._newest

    def all_runs(self) -> Collection[RunSummary]:
        return self._runs.values()

    def placed(self) -> Iterator[tuple[RunSummary, str]]:
        """All runs, unordered, each with the address of its hub."""
        for run, summary in self._runs.items():
            yield summary, self._at.get(run, "")

    def beside_selected(self, by: int) -> str | None:
        """Return the id of the run `by` positions below the selected one; None past either end."""
        ids = [summary.run for summary in self.runs()]
        if self.selected not in ids:
            return None
        at = ids.index(self.selected) + by
        return ids[at] if 0 <= at < len(ids) else None

    def shown(self) -> Sequence[RunSummary]:
        """Runs on the charts: the selected one, then living ones, at most `MAX_SHOWN`."""
        current = self.current()
        if current is None:
            return []
        living = itertools.takewhile(lambda run: not has_ended(run), self.runs())
        others = (run for run in living if run.run != current.run and not is_study(run))
        return [current, *itertools.islice(others, MAX_SHOWN - 1)]

    def hue(self, run: str) -> int:
        """Return the index of a run's colour, 0..5; constant while the window is open."""
        return self._hue_index(run) % N_HUES

    def is_dashed(self, run: str) -> bool:
        """True if another run already has this run's colour."""
        return self._hue_index(run) >= N_HUES

    def _has_nearer_hub(self, run: str, at: str) -> bool:
        """True if the hub that stores a run reports it itself, through another address."""
        known = self._runs.get(run)
        return known is not None and not known.is_elsewhere and self._at.get(run) != at

    def _drop(self, at: str) -> None:
        for run in [run for run, where in self._at.items() if where == at]:
            self._runs.pop(run, None)
            del self._at[run]
        self._newest = None

    def _hue_index(self, run: str) -> int:
        return self._hue_indices.setdefault(run, len(self._hue_indices))

    def _keep_selection(self, new: Sequence[RunSummary]) -> bool:
        before = self.selected
        wanted = self._find(self._wanted_run) if self._wanted_run else None
        if wanted is not None:
            self.selected = wanted
            self._wanted_run = None
            self._is_picked = True
        elif self.selected not in self._runs:
            first = next(iter(self.runs()), None)
            self.selected = self._lead_of(first) if first else None
            self._is_picked = False
        elif new and not self._is_picked and self._has_selected_ended():
            # Nobody asked for what has ended; the training that has just begun is what counts.
            self.selected = self._lead_of(min(new, key=_newest_first))
        return self.selected != before

    def _lead_of(self, run: RunSummary) -> str:
        """Study of a fold, because it shows all folds; for other runs the run itself."""
        study = self._runs.get(run.study)
        return run.run if study is None or run.fold is None else study.run

    def _has_selected_ended(self) -> bool:
        current = self.current()
        return current is not None and has_ended(current)

    def _find(self, wanted: str) -> str | None:
        newest = self.runs()
        if wanted == "last":
            return newest[0].run if newest else None
        named = [r.run for r in newest if printable(wanted) in (r.name, r.run)]
        matching = [r.run for r in newest if r.run.startswith(wanted)]
        return next(iter(named + matching), None)


def _with_printable_names(summary: RunSummary) -> RunSummary:
    """Replace characters in the names that would reverse the direction of a panel's text."""
    names = (summary.name, summary.host, summary.model)
    name, host, model = map(printable, names)
    if (name, host, model) == names:
        return summary
    return msgspec.structs.replace(summary, name=name, host=host, model=model)


def _newest_first(summary: RunSummary) -> tuple[bool, float, str]:
    return has_ended(summary), -summary.started_wall_s, summary.run
