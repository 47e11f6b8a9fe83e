"""State of `kmonitor top`: listed runs, selection, and the effects of keys."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from kmonitor.base.errors import UserError
from kmonitor.cli.common.run_list import SORTS, RunSort, StateFilter, has_state, sorted_runs
from kmonitor.cli.send_command import require_available
from kmonitor_agent.wire.messages.commands import CommandName
from kmonitor_agent.wire.messages.events import Verdict
from kmonitor_agent.wire.messages.unions import RunSummary

HISTORY_S: Final = 600.0
"""Time that a sparkline shows, seconds."""

_MOST_POINTS: Final = 1200
_PAGE: Final = 10

Effect = Literal["", "quit", "interrupt", "suspend", "redraw", "send"]
"""Effect of a key for the caller: nothing, quit, quit as Ctrl+C does, stop as a job, redraw all,
send `question`."""

_ACTION_KEYS: Final[dict[str, CommandName]] = {
    "p": "pause",
    "s": "save",
    "r": "reload",
    "c": "collect",
    "x": "stop",
}
_ALWAYS: Final[dict[str, Effect]] = {"suspend": "suspend", "redraw": "redraw"}
_LEAVING: Final = ("interrupt", "f10")
QUESTIONS: Final[dict[CommandName, str]] = {
    "pause": 'Pause "{name}" at the end of the current epoch? y or n',
    "resume": 'Resume "{name}"? y or n',
    "save": 'Save a checkpoint of "{name}" at the end of the current epoch? y or n',
    "reload": 'Save, clear and reload "{name}" at the end of the current epoch? y or n',
    "collect": 'Free traces of models that no longer exist in "{name}"? y or n',
    "stop": 'Stop "{name}" at the end of the current epoch? y or n',
}
KEYS_TEXT: Final = (
    "Up Down j k  select   Enter  details   /  filter   o  order",
    "PgUp PgDn g G  move   Esc  back        a  ended    q  quit",
    "With confirmation:  p  pause, resume     s  save     r  reload",
    "                  c  collect           x  stop     ?  keys",
)


@dataclass(frozen=True, slots=True)
class RunDetails:
    """Details of the selected run.

    Attributes:
        run: Run id.
        verdicts: The newest verdict of each metric.
        actions: Lines on saves, collects, reloads and restarts, oldest first.
        events: Lines on events, oldest first.
    """

    run: str
    verdicts: tuple[Verdict, ...] = ()
    actions: tuple[str, ...] = ()
    events: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RamHistory:
    """RAM of a run before it was first listed: run times in seconds, and bytes."""

    run: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Note:
    """A message for the last line."""

    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """An action that waits for confirmation."""

    run: RunSummary
    action: CommandName


@dataclass(slots=True)
class TopState:
    """State of the screen; owned by the main thread.

    Attributes:
        states: States of the listed runs.
        filter_text: Text that name, host or model of listed runs must contain.
        is_typing: True while the filter is being typed.
        has_details: True if details of the selected run are open.
        has_help: True if the keys are listed.
        selected: Id of the selected run; empty: the first one.
        question: Action that waits for confirmation; None: none.
        note: Text in the last line, until a key is pressed.
        troubles: Hosts that are not reached, with the reasons.
        hosts: Number of followed hubs.
        details: Details by run, as far as they were read.
    """

    sort: RunSort = "started"
    states: tuple[StateFilter, ...] = ("live",)
    filter_text: str = ""
    is_typing: bool = False
    has_details: bool = False
    has_help: bool = False
    selected: str = ""
    question: Question | None = None
    note: str = ""
    troubles: tuple[str, ...] = ()
    hosts: int = 1
    details: dict[str, RunDetails] = field(default_factory=dict[str, RunDetails])
    _runs: list[RunSummary] = field(default_factory=list[RunSummary])
    _points: dict[str, list[tuple[float, float]]] = field(
        default_factory=dict[str, list[tuple[float, float]]]
    )

    @property
    def all_runs(self) -> Sequence[RunSummary]:
        """Every run of every hub."""
        return self._runs

    def apply_runs(self, runs: Sequence[RunSummary]) -> None:
        """Take the current runs of all hubs."""
        self._runs = list(runs)
        known = {run.run for run in runs}
        for gone in [run for run in self._points if run not in known]:
            del self._points[gone]
        for run in runs:
            if run.ram.value is not None:
                self._add_points(run.run, [(run.duration_s, run.ram.value)])

    def apply_message(self, message: RunDetails | RamHistory | Note) -> None:
        """Take a result of a polling thread."""
        match message:
            case RunDetails():
                self.details[message.run] = message
            case RamHistory():
                later = self._points.pop(message.run, [])
                self._add_points(message.run, message.points)
                self._add_points(message.run, later)
            case Note():
                self.note = message.text

    def _add_points(self, run: str, added: Sequence[tuple[float, float]]) -> None:
        points = self._points.setdefault(run, [])
        points += [point for point in added if not points or point[0] > points[-1][0]]
        del points[:-_MOST_POINTS]

    def ram_history(self, run: RunSummary, n: int) -> list[float]:
        """RAM of the last ten minutes in `n` even steps, bytes; fewer where less is known."""
        points = self._points.get(run.run, [])
        if not points:
            return []
        begin_s = max(points[0][0], points[-1][0] - HISTORY_S)
        step_s = max((points[-1][0] - begin_s) / n, 1.0)
        by_step: dict[int, float] = {}
        for t_s, value in points:
            if t_s >= begin_s:
                by_step[min(n - 1, int((t_s - begin_s) / step_s))] = value
        return [by_step[at] for at in sorted(by_step)]

    def listed(self) -> list[RunSummary]:
        wanted = self.filter_text.casefold()
        return sorted_runs(
            (
                run
                for run in self._runs
                if has_state(run, self.states)
                and any(wanted in text.casefold() for text in (run.name, run.host, run.model))
            ),
            self.sort,
        )

    def selected_run(self) -> RunSummary | None:
        """The selected run, or the first; None: no run is listed."""
        listed = self.listed()
        return next((run for run in listed if run.run == self.selected), next(iter(listed), None))

    def press(self, key: str) -> Effect:
        if key in _ALWAYS:
            return _ALWAYS[key]
        if self.question is not None:
            return self._answer(key)
        self.note = ""
        if self.is_typing and key not in _LEAVING:
            self._type(key)
        elif key in (*_LEAVING, "q"):
            return "interrupt" if key == "interrupt" else "quit"
        elif key in _ACTION_KEYS:
            self._ask(_ACTION_KEYS[key])
        elif not self._move(key):
            self._change_view(key)
        return ""

    def _answer(self, key: str) -> Effect:
        if key in ("y", "Y"):
            return "send"
        self.question = None
        self.note = "Canceled."
        return ""

    def _type(self, key: str) -> None:
        match key:
            case "enter":
                self.is_typing = False
            case "escape":
                self.is_typing = False
                self.filter_text = ""
            case "backspace":
                self.filter_text = self.filter_text[:-1]
            case _ if len(key) == 1:
                self.filter_text += key
            case _:
                self._move(key)

    def _ask(self, action: CommandName) -> None:
        run = self.selected_run()
        if run is None:
            self.note = "No run is selected."
            return
        if action == "pause" and run.state == "paused":
            action = "resume"
        try:
            require_available(run, action)
        except UserError as exc:
            self.note = f"{exc.what} {exc.remedy}".strip()
            return
        self.question = Question(run, action)

    def _move(self, key: str) -> bool:
        steps = {"up": -1, "k": -1, "down": 1, "j": 1, "page up": -_PAGE, "page down": _PAGE}
        listed = self.listed()
        ends = {"home": 0, "g": 0, "end": len(listed) - 1, "G": len(listed) - 1}
        run = self.selected_run()
        if key not in steps and key not in ends:
            return False
        if run is not None:
            index = ends.get(key, listed.index(run) + steps.get(key, 0))
            self.selected = listed[min(max(index, 0), len(listed) - 1)].run
        return True

    def _change_view(self, key: str) -> None:
        match key:
            case "enter":
                self.has_details = not self.has_details
            case "escape":
                self._step_back()
            case "/" | "f3" | "f4":
                self.is_typing = True
            case "o" | ">" | "f6":
                self._sort_by(1)
            case "O" | "<":
                self._sort_by(-1)
            case "a":
                self.states = () if self.states else ("live",)
            case "?" | "h":
                self.has_help = not self.has_help
            case _:
                self.note = f'"{key}" does nothing here; ? lists the keys.'

    def _step_back(self) -> None:
        if self.has_help:
            self.has_help = False
        elif self.has_details:
            self.has_details = False
        else:
            self.filter_text = ""

    def _sort_by(self, step: int) -> None:
        self.sort = SORTS[(SORTS.index(self.sort) + step) % len(SORTS)]
