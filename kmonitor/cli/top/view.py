"""Frames of `kmonitor top`: its state as lines of a terminal of any size."""

import textwrap
import time
from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group, RenderableType
from rich.text import Text

from kmonitor.cli.common.summary_text import (
    calls_text,
    labelled_text,
    metric_title,
    run_epoch_text,
    run_state_text,
    step_text,
    summary_metric,
    summary_metric_text,
    worst_verdict_text,
)
from kmonitor.cli.common.terminal import (
    TerminalColumn,
    elided_middle,
    fitted_table,
    pluralized,
    terminal_columns,
    terminal_safe,
)
from kmonitor.cli.top.state import KEYS_TEXT, QUESTIONS, RunDetails, TopState
from kmonitor.ui.limits.limit_text import limit_summary
from kmonitor.ui.runs.run_states import run_state_label, stall_advice
from kmonitor.ui.text.formats import (
    clock_text,
    duration_text,
    rate_text,
    sparkline_text,
    with_plain_spaces,
)
from kmonitor.ui.text.metrics import METRIC_UNITS
from kmonitor.ui.verdicts.forecast_text import forecast_text
from kmonitor.ui.verdicts.time_text import unit_name
from kmonitor.ui.verdicts.verdict_text import is_said, slope_text, verdict_headline
from kmonitor_agent.wire.messages.commands import LimitMetric
from kmonitor_agent.wire.messages.events import Verdict
from kmonitor_agent.wire.messages.unions import ENDED_STATES, RunSummary

METRICS: Final[tuple[LimitMetric, ...]] = ("ram", "vram", "graph", "step_time")
_HEADERS: Final = (
    *("NAME", "STATE", "EPOCH", "RAM", "RAM USED", "VRAM", "VRAM USED", "GRAPH", "STEP"),
    *("RATE", "VERDICT", "HOST", "RAM, 10 MIN"),
)
_RIGHT: Final = ("EPOCH", "RAM", "VRAM", "GRAPH", "STEP", "RATE")
_DROPS: Final = (
    *("RAM, 10 MIN", "HOST", "VRAM USED", "RAM USED", "RATE", "GRAPH", "VRAM", "STEP"),
    *("VERDICT", "EPOCH", "STATE"),
)
_BAR_CELLS: Final = 8
_NARROW_BAR_CELLS: Final = 4
_WIDE: Final = 120
"""Columns from which bars have their full length."""

_SPARKLINE_CELLS: Final = 16
_LEAST_SPAN: Final = 0.02
"""Least height of a sparkline as a fraction of RAM, so that noise stays flat."""

_BAR_BLOCKS: Final = " \u258f\u258e\u258d\u258c\u258b\u258a\u2589\u2588"
_TONES: Final = {"ok": "green", "warn": "yellow", "crit": "red bold", "accent": "cyan"}
"""Colours by name, which the terminal's own palette keeps readable on its background."""

_MUCH: Final = 0.8
_FULL: Final = 0.95
_MOST_HISTORY: Final = 50
_MOST_EVIDENCE: Final = 5
"""Most lines of evidence for a growing metric."""


class TopView:
    """Draws the frames; for one thread."""

    def __init__(self) -> None:
        # It finds out by itself what the terminal and NO_COLOR allow.
        self._console = Console(highlight=False)

    def frame(self, state: TopState, size: tuple[int, int]) -> list[str]:
        """Return exactly as many lines as the terminal has, none of them wider.

        Args:
            size: Columns and lines of the terminal.
        """
        width, height = size
        foot = _foot(state, width)
        head = [_title(state, width), *_trouble_lines(state, width)]
        room = max(2, height - len(head) - len(foot))
        detail_lines = self._detail_lines(state, width, room)
        body = _table(state, width, room - len(detail_lines))
        lines = self._lines([*head, body], width)[: height - len(foot) - len(detail_lines)]
        lines += [""] * (height - len(foot) - len(detail_lines) - len(lines))
        return (lines + self._lines([*detail_lines, *foot], width))[:height]

    def _detail_lines(self, state: TopState, width: int, room: int) -> list[Text]:
        run = state.selected_run()
        if not state.has_details or run is None:
            return []
        lines = details(state, run, width)
        return lines[: max(0, room - min(5, room // 3))]

    def _lines(self, renderables: Sequence[RenderableType], width: int) -> list[str]:
        if not renderables:
            return []
        self._console.width = width
        with self._console.capture() as capture:
            self._console.print(Group(*renderables), overflow="crop", no_wrap=True, crop=True)
        return capture.get().removesuffix("\n").split("\n")


def _line(text: str, width: int, style: str = "") -> Text:
    safe = terminal_safe(text)
    if cell_len(safe) > width:
        safe = f"{set_cell_size(safe, max(0, width - 1))}\N{HORIZONTAL ELLIPSIS}"
    return Text(safe, style=style)


def _title(state: TopState, width: int) -> Text:
    live = sum(run.state not in ENDED_STATES for run in state.all_runs)
    hosts = pluralized(state.hosts, "host")
    text = f"kmonitor top  {live} of {pluralized(len(state.all_runs), 'run')} live on {hosts}"
    order = f"by {state.sort}{'' if state.states else ', incl. ended'}"
    now = clock_text(time.time())
    filtered = f"  filter: {state.filter_text}" if state.filter_text else ""
    return _line(f"{text}{filtered}  {order}  {now}", width, "bold")


def _trouble_lines(state: TopState, width: int) -> list[Text]:
    return [_line(f"! {trouble}", width, "yellow") for trouble in state.troubles[:3]]


def _foot(state: TopState, width: int) -> list[Text]:
    if state.question is not None:
        question = QUESTIONS[state.question.action]
        name = terminal_safe(state.question.run.name)
        room = width - cell_len(question.format(name=""))
        text = question.format(name=elided_middle(name, max(1, room)))
        return [_line(text, width, "bold yellow")]
    if state.is_typing:
        return [_line(f"Filter by name, host or model: {state.filter_text}_", width, "bold")]
    if state.note:
        return [_line(state.note, width, "bold")]
    if state.has_help:
        return [_line(line, width) for line in KEYS_TEXT]
    keys = "q quit  ? keys  Enter details  / filter  o order  p s r c x actions"
    return [_line(keys, width, "dim")]


def _table(state: TopState, width: int, room: int) -> RenderableType:
    listed = state.listed()
    if not listed:
        return _line(_nothing_text(state), width)
    columns = _columns(state, listed, _BAR_CELLS if width >= _WIDE else _NARROW_BAR_CELLS)
    selected = state.selected_run()
    index = listed.index(selected) if selected is not None else 0
    n_rows = max(1, room - 1)
    first = min(max(0, index - n_rows // 2), max(0, len(listed) - n_rows))
    shown = slice(first, first + n_rows)
    table = fitted_table(columns, width, _DROPS, shown)
    table.rows[index - first].style = "reverse"
    return table


def _nothing_text(state: TopState) -> str:
    if state.filter_text:
        return (
            f'No run has "{state.filter_text}" in its name, host or model. Esc clears the filter.'
        )
    if state.all_runs:
        return "No run is live. Press a to list those that have ended."
    return "No runs yet. Add MonitorCallback() to the callbacks of fit."


def _columns(
    state: TopState, listed: Sequence[RunSummary], bar_cells: int
) -> list[TerminalColumn]:
    now_wall_s = time.time()
    labels = [run_state_label(run, now_wall_s=now_wall_s) for run in listed]
    shares = {metric: [_share(run, metric) for run in listed] for metric in ("ram", "vram")}
    rows = [
        [
            run.name,
            with_plain_spaces(label.label[:1].lower() + label.label[1:]),
            run_epoch_text(run),
            summary_metric_text(run, "ram"),
            _bar(shares["ram"][at], bar_cells),
            labelled_text(run, "vram"),
            _bar(shares["vram"][at], bar_cells),
            summary_metric_text(run, "graph"),
            summary_metric_text(run, "step_time"),
            _rate(state.details.get(run.run)),
            worst_verdict_text(run),
            run.host,
            _sparkline(state.ram_history(run, _SPARKLINE_CELLS)),
        ]
        for at, (run, label) in enumerate(zip(listed, labels, strict=True))
    ]
    styles = {
        "STATE": tuple(_TONES.get(label.tone, "") for label in labels),
        "RAM USED": tuple(map(_share_style, shares["ram"])),
        "VRAM USED": tuple(map(_share_style, shares["vram"])),
        "VERDICT": tuple(_verdict_style(run) for run in listed),
        "RAM, 10 MIN": ("cyan",) * len(listed),
    }
    columns = terminal_columns(_HEADERS, rows, right=_RIGHT, elided="NAME")
    return [
        TerminalColumn(
            each.title,
            each.cells,
            is_right=each.is_right,
            is_elided=each.is_elided,
            styles=styles.get(each.title, ()),
        )
        for each in columns
    ]


def _share(run: RunSummary, metric: LimitMetric) -> float | None:
    reading = summary_metric(run, metric)
    return reading.value / reading.of if reading.value is not None and reading.of else None


def _bar(share: float | None, n_cells: int = _BAR_CELLS) -> str:
    """A bar and its percentage; empty for a metric without bound."""
    if share is None:
        return ""
    eighths = round(min(max(share, 0.0), 1.0) * n_cells * 8)
    full, part = divmod(eighths, 8)
    bar = _BAR_BLOCKS[8] * full + (_BAR_BLOCKS[part] if part else "")
    return f"{bar:<{n_cells}} {share * 100:3.0f}%"


def _share_style(share: float | None) -> str:
    if share is None or share < _MUCH:
        return "green"
    return "yellow" if share < _FULL else "red"


def _rate(details_known: RunDetails | None) -> str:
    """Growth rate of the metric with the worst verdict: "+8.02 MiB / epoch"."""
    verdicts = details_known.verdicts if details_known is not None else ()
    for state in ("suspected", "growing", "rising"):
        for verdict in verdicts:
            if verdict.state == state and verdict.slope is not None:
                unit = METRIC_UNITS[verdict.metric]
                return with_plain_spaces(rate_text(verdict.slope, unit, unit_name(verdict)))
    return ""


def _verdict_style(run: RunSummary) -> str:
    return "red bold" if "suspected" in run.verdicts.values() else "yellow"


def _sparkline(values: Sequence[float]) -> str:
    least = _LEAST_SPAN * max(values, default=0.0)
    return sparkline_text(values, least_span=max(1.0, least))


def details(state: TopState, run: RunSummary, width: int) -> list[Text]:
    """Lines of the lower half: the selected run in full."""
    known = state.details.get(run.run, RunDetails(run.run))
    lines = [
        _line("\u2500" * width, width, "dim"),
        _line(f"{run.name}  {run.run}  on {run.host}, process {run.pid}", width, "bold"),
        _line(f"{run_state_text(run)}  {stall_advice(run)}".strip(), width),
        _line(_progress(run), width),
    ]
    for metric in METRICS:
        lines += _metric_lines(run, metric, known.verdicts, width)
    history = state.ram_history(run, min(_MOST_HISTORY, width - 16))
    lines.append(_line(f"RAM, 10 min  {_sparkline(history)}", width, "cyan"))
    limits = "; ".join(with_plain_spaces(limit_summary(limit)) for limit in run.limits) or "none"
    lines.append(_line(f"Limits       {limits}", width))
    for number, text in enumerate(reversed(known.actions[-3:])):
        lines.append(_line(f"{'' if number else 'Reclaims':<12} {text.strip()}", width))
    lines += [_line(text, width) for text in reversed(known.events)]
    return lines


def _progress(run: RunSummary) -> str:
    for_s = with_plain_spaces(duration_text(run.duration_s))
    ran = f"ran for {for_s}" if run.state in ENDED_STATES else f"running for {for_s}"
    if not run.fit:
        return f"{calls_text(run) or 'No fit yet'}, {ran}"
    model = f"{run.model}, " if run.model else ""
    return f"{model}fit {run.fit}, epoch {run_epoch_text(run)}, step {step_text(run)}, {ran}"


def _metric_lines(
    run: RunSummary, metric: LimitMetric, verdicts: Sequence[Verdict], width: int
) -> list[Text]:
    """Value, bar and verdict of a metric, with the evidence if it grows."""
    verdict = next((each for each in verdicts if each.metric == metric), None)
    title = metric_title(run, metric).partition(" (")[0]
    texts: list[str] = []
    if verdict is not None and is_said(verdict):
        texts.append(verdict_headline(verdict, is_final=run.state in ENDED_STATES))
        if verdict.state in {"growing", "suspected", "slowing"}:
            texts.append(forecast_text(run, verdict, now_wall_s=time.time()))
            texts.append(slope_text(verdict))
    evidence = with_plain_spaces("; ".join(filter(None, texts)))
    value = f"{summary_metric_text(run, metric):<9} {_bar(_share(run, metric)):<13}"
    parts = textwrap.wrap(
        terminal_safe(evidence),
        max(10, width - 38),
        max_lines=_MOST_EVIDENCE,
        placeholder="\u2026",
    ) or [""]
    style = _TONES["warn"] if metric in run.verdicts else ""
    first = _line(f"{title:<12} {value}  {parts[0]}", width, style)
    more = [_line(f"{'':<38}{part}", width, style) for part in parts[1:]]
    return [first, *more]
