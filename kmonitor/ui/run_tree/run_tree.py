"""Rows of the tree: hosts and their runs, with ranks of a launch and folds of a study grouped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from kmonitor.ui.hosts.hosts import HostState, IsReached
from kmonitor.ui.runs.run_states import RunStateLabel, has_ended, run_state_label
from kmonitor.ui.runs.run_store import RunStore
from kmonitor.ui.studies.folds import fold_name
from kmonitor.ui.studies.study_page import study_progress_text
from kmonitor.ui.studies.study_store import is_search, is_study
from kmonitor.ui.text.formats import bytes_text, clock_text, epochs_text, shortened
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import tr
from kmonitor.ui.verdicts.evidence import suspicion_text
from kmonitor_agent.wire.messages.unions import RunSummary

ALWAYS_SHOWN: Final = 8
"""Groups up to this size always show their members; larger ones when selected or searched."""

MOST_ENDED: Final = 200
"""Maximum number of ended runs in the tree, the newest ones; the history has all of them."""

_LONGEST_WHY: Final = 60


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run in the tree.

    Attributes:
        run: Run id.
        line: Second line: epoch and memory, or how it ended.
        state: Icon, word and tone.
        hue: Index of the run's colour on the charts; None: it is not drawn there.
        fraction: Part of the planned epochs that is done, 0..1; None: unknown or ended.
        tooltip: Full name and more.
        is_pale: True for an ended run, which is written in the secondary colour.
        mark: Tooltip of the mark beside the name; empty: there is no mark.
        depth: 1 for a rank below the row of its group, else 0.
    """

    run: str
    name: str
    line: str
    state: RunStateLabel
    hue: int | None
    fraction: float | None
    tooltip: str
    is_pale: bool
    depth: int = 0
    mark: str = ""


@dataclass(frozen=True, slots=True)
class HostRow:
    """One host with its runs.

    Attributes:
        note: Text on the right: "2 runs", or the reason why nothing new arrives.
        runs: Runs of the host, living ones first, newest start first.
        address: Address as for ssh; empty: the runs of this machine's hub.
        tone: Tone of the note.
        tooltip: Reason why the host is not connected, or its runs.
    """

    host: str
    note: str
    runs: tuple[RunRow, ...]
    address: str = ""
    tone: Literal["mute", "warn", "crit"] = "mute"
    tooltip: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Key that distinguishes the host; unchanged when the host is renamed."""
        return (self.address, "") if self.address else ("", self.host)


def host_rows(
    store: RunStore,
    *,
    search: str,
    now_wall_s: float,
    is_connected: bool,
    hosts: Sequence[HostState] = (),
    is_reached: IsReached | None = None,
) -> tuple[HostRow, ...]:
    """Return the rows of the tree, filtered: this machine's hub by host, then the other hosts.

    It holds only the newest of the ended runs: a window that builds thousands of rows four times
    per second has no time for its charts.

    Args:
        search: Words that must all occur in name or host; empty: no filter.
        is_connected: True if this machine's hub is connected.
        hosts: Hosts connected over ssh, with or without runs.
        is_reached: Returns True if the hub of a run is connected; None: as this machine's.
    """
    drawn = {summary.run for summary in store.shown()}
    names = {host.address: host.name for host in hosts}
    local_rows: dict[str, list[RunRow]] = {}
    remote_rows: dict[str, list[RunRow]] = {}
    n_ended = 0
    for summary in store.runs():
        at = store.at(summary.run)
        if _matches(summary, search, names.get(at, "")):
            group = (
                remote_rows.setdefault(at, []) if at else local_rows.setdefault(summary.host, [])
            )
            n_ended += has_ended(summary)
            if has_ended(summary) and n_ended > MOST_ENDED and summary.run != store.selected:
                continue
            reached = is_reached(summary.run) if is_reached is not None else is_connected
            state = run_state_label(summary, now_wall_s=now_wall_s, is_connected=reached)
            hue = store.hue(summary.run) if summary.run in drawn else None
            group.append(_run_row(summary, state, hue))
    rows = [HostRow(host, _note(runs), tuple(runs)) for host, runs in local_rows.items() if runs]
    rows += [
        _host_row(host, remote_rows.get(host.address, []))
        for host in hosts
        if host.address in remote_rows or _is_called(host, search)
    ]
    return _in_groups(rows, store, search)


def _host_row(host: HostState, runs: list[RunRow]) -> HostRow:
    note = host.note or (_note(runs) if runs else tr("no runs"))
    return HostRow(host.name, note, tuple(runs), host.address, host.tone, host.tooltip)


def _is_called(host: HostState, search: str) -> bool:
    text = f"{host.name} {host.address}".casefold()
    return all(term in text for term in search.casefold().split())


def _matches(summary: RunSummary, search: str, host: str) -> bool:
    terms = search.casefold().split()
    if not terms:
        return True
    text = f"{summary.name} {summary.host} {summary.run} {host}".casefold()
    return all(term in text for term in terms)


def _run_row(summary: RunSummary, state: RunStateLabel, hue: int | None) -> RunRow:
    ended = has_ended(summary)
    lines = [summary.name, f"{state.label} \u00b7 {summary.host} \u00b7 pid {summary.pid}"]
    if state.why:
        lines.append(state.why)
    mark = suspicion_text(summary)
    if mark:
        lines.append(mark)
    return RunRow(
        run=summary.run,
        name=summary.name,
        line=_line(summary, state),
        state=state,
        hue=hue,
        fraction=None if ended else _fraction(summary),
        tooltip="\n".join(lines),
        is_pale=ended,
        mark=mark,
    )


def _line(summary: RunSummary, state: RunStateLabel) -> str:
    if has_ended(summary):
        when = clock_text(summary.last_wall_s, seconds=False)
        why = (
            translated_text(summary.state_why)
            if state.tone == "crit" and not summary.cause
            else ""
        )
        more = shortened(why, _LONGEST_WHY) or epochs_text(summary.epochs_done)
        return f"{state.label} {when} \u00b7 {more}"
    if summary.state != "training" or state.tone in {"warn", "crit"}:
        return state.label
    parts = [epoch_text(summary)] if summary.epoch is not None else [state.label]
    if summary.ram.value is not None:
        parts.append(bytes_text(summary.ram.value))
    return " \u00b7 ".join(parts)


def epoch_text(summary: RunSummary) -> str:
    """The running epoch, counted from 1: "epoch 37/90"."""
    number = (summary.epoch or 0) + 1
    if summary.epochs:
        return tr("epoch {n}/{planned}").format(n=number, planned=summary.epochs)
    return tr("epoch {n}").format(n=number)


def _fraction(summary: RunSummary) -> float | None:
    if summary.epoch is None or not summary.epochs:
        return None
    within = summary.step / summary.steps if summary.steps else 0.0
    return min(1.0, (summary.epoch + min(1.0, within)) / summary.epochs)


def _note(rows: Sequence[RunRow]) -> str:
    return tr("1 run") if len(rows) == 1 else tr("{n} runs").format(n=len(rows))


def empty_tree_text(
    store: RunStore, search: str, *, is_connected: bool, has_trouble: bool = False
) -> str:
    """Return the text in place of an empty tree.

    Args:
        is_connected: True if the hub is connected.
        has_trouble: True if the hub could not be started; then a banner shows the reason.
    """
    if has_trouble and not store.runs():
        return tr("Runs appear once the hub has started.")
    if not is_connected and not store.runs():
        return tr("Connecting to the hub\u2026")
    if search and store.runs():
        return tr("No run or host matches \u201c{search}\u201d.").format(search=search)
    return tr("No runs yet.")


@dataclass(frozen=True, slots=True)
class RunGroup:
    """The processes of one launch.

    Attributes:
        members: Members by rank, at least two.
    """

    members: tuple[RunSummary, ...]

    @property
    def lead(self) -> RunSummary:
        """Run whose row represents the group: the lowest known rank."""
        return self.members[0]

    def shows_ranks(self, selected: str | None, search: str) -> bool:
        is_small = len(self.members) <= ALWAYS_SHOWN
        return is_small or bool(search) or any(each.run == selected for each in self.members)


def groups_of(runs: Sequence[RunSummary]) -> dict[str, RunGroup]:
    """Return the group of each run that has one, by run id.

    Launches that look the same (the same cluster of a TF_CONFIG, day after day) are separated by
    their ranks: a repeated rank begins another launch.
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
    name = tr("rank {n}").format(n=run.rank)
    return name if run.host == lead.host else f"{name} \u00b7 {run.host}"


def group_line(group: RunGroup, line: str, states: dict[str, RunStateLabel]) -> str:
    """Second line of a group's row: the number of ranks, and one with a problem.

    Args:
        line: Second line of the lead's row.
        states: States of the members, by run id.
    """
    world_size = max(each.world_size for each in group.members)
    n = len(group.members)
    text = tr("{n} of {of} ranks") if n < world_size else tr("{n} ranks")
    ranks_text = text.format(n=n, of=world_size)
    for run in group.members[1:]:
        if states[run.run].tone == "crit":
            trouble = tr("rank {n}: {state}").format(n=run.rank, state=states[run.run].label)
            return f"{ranks_text} \u00b7 {trouble}"
    return f"{ranks_text} \u00b7 {line}"


@dataclass(frozen=True, slots=True)
class StudyGroup:
    """A study and its folds' runs.

    Attributes:
        lead: The study's own run.
        folds: Folds by index, then by start.
    """

    lead: RunSummary
    folds: tuple[RunSummary, ...]

    def shows_folds(self, selected: str | None, search: str) -> bool:
        is_small = len(self.folds) <= ALWAYS_SHOWN
        is_looked_at = selected == self.lead.run or any(f.run == selected for f in self.folds)
        if is_small:
            return bool(search) or is_looked_at or not has_ended(self.lead)
        return bool(search) or any(each.run == selected for each in self.folds)

    @property
    def line(self) -> str:
        """Second line of the study's row."""
        return study_progress_text(self.lead)

    @property
    def fraction(self) -> float | None:
        """Fraction of folds that are over, 0..1; None: the study has ended or has no tally."""
        tally = self.lead.tally
        lead = self.lead
        if tally is None or not lead.folds or has_ended(lead):
            return None
        return min(1.0, tally.over / lead.folds)


def studies_of(runs: Sequence[RunSummary]) -> dict[str, StudyGroup]:
    """Return the study of each run that is a study or a fold, by run id.

    Folds whose study is not known (or was deleted) remain separate runs.
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
    """Name of a fold's row: "fold 2", with its host if that differs."""
    name = fold_name(run.fold or 0, "trial" if is_search(lead) else "fold")
    return name if run.host == lead.host else f"{name} \u00b7 {run.host}"


def first_mark(group: StudyGroup, marks: Mapping[str, str]) -> str:
    """First mark of a study's folds, so that it is visible while the folds are collapsed."""
    return next((marks[each.run] for each in group.folds if marks.get(each.run)), "")


def _in_groups(hosts: Sequence[HostRow], store: RunStore, search: str) -> tuple[HostRow, ...]:
    """Move ranks and folds below the row of their group, wherever they run."""
    known = {row.run: row for host in hosts for row in host.runs}
    summaries = [summary for summary in store.runs() if summary.run in known]
    groups = groups_of(summaries)
    studies = studies_of(summaries)
    if not groups and not studies:
        return tuple(hosts)
    grouped: list[HostRow] = []
    for host in hosts:
        rows: list[RunRow] = []
        for row in host.runs:
            of: RunGroup | StudyGroup | None = studies.get(row.run) or groups.get(row.run)
            if of is None:
                rows.append(row)
            elif of.lead.run == row.run:
                rows += _rows_below(of, known, store.selected, search)
        if rows or host.address or not host.runs:
            grouped.append(replace(host, runs=tuple(rows)))
    return tuple(grouped)


def _rows_below(
    group: RunGroup | StudyGroup,
    known: Mapping[str, RunRow],
    selected: str | None,
    search: str,
) -> list[RunRow]:
    if isinstance(group, StudyGroup):
        return _study_rows(group, known, selected, search)
    return _group_rows(group, known, selected, search)


def _group_rows(
    group: RunGroup, known: Mapping[str, RunRow], selected: str | None, search: str
) -> list[RunRow]:
    states = {run: row.state for run, row in known.items()}
    lead = known[group.lead.run]
    line = group_line(group, lead.line, states)
    # A rank's mark is not lost while the ranks are folded away.
    marked = next((known[run.run] for run in group.members if known[run.run].mark), lead)
    tooltip = lead.tooltip
    if marked.mark and not lead.mark:
        tooltip += "\n" + marked.mark
    rows = [replace(lead, line=line, mark=marked.mark, tooltip=tooltip)]
    if group.shows_ranks(selected, search):
        rows += [
            replace(known[run.run], name=rank_name(run, group.lead), depth=1)
            for run in group.members[1:]
        ]
    return rows


def _study_rows(
    group: StudyGroup, known: Mapping[str, RunRow], selected: str | None, search: str
) -> list[RunRow]:
    lead = known[group.lead.run]
    mark = first_mark(group, {run: row.mark for run, row in known.items()})
    tooltip = "\n".join(part for part in (lead.tooltip, group.line, mark) if part)
    line = group.line if lead.state.tone != "crit" else f"{lead.state.label} \u00b7 {group.line}"
    rows = [
        replace(lead, line=line, hue=None, fraction=group.fraction, tooltip=tooltip, mark=mark)
    ]
    if group.shows_folds(selected, search):
        rows += [
            replace(known[run.run], name=fold_row_name(run, group.lead), depth=1)
            for run in group.folds
        ]
    return rows
