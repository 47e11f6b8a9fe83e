"""State of the header: title and chips of the selected run."""

from dataclasses import dataclass
from typing import Final

from kmonitor.ui.charts.cards import card_title
from kmonitor.ui.limits.limit_text import round_amount, threshold_value
from kmonitor.ui.runs.run_states import Tone, has_ended, has_ended_badly, run_state_label
from kmonitor.ui.text.formats import (
    NARROW_SPACE,
    count_text,
    epochs_text,
    moment_text,
    seconds_text,
    shortened,
)
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import tr
from kmonitor.ui.text.metrics import metric_name_of
from kmonitor.ui.verdicts.forecast_text import (
    brief_forecast_text,
    epochs_left_before,
    forecast_chip_text,
    forecast_text,
    nearest_verdict,
)
from kmonitor.ui.verdicts.verdict_store import VerdictStore
from kmonitor_agent.wire.messages.commands import LimitMetric
from kmonitor_agent.wire.messages.events import Verdict
from kmonitor_agent.wire.messages.unions import MetricReading, RunSummary

_LONGEST_WHY: Final = 160


@dataclass(frozen=True, slots=True)
class ChipState:
    """A chip in the header.

    Attributes:
        key: Key that distinguishes the chip from the others.
        tone: Meaning of the colour.
        icon: Name of an icon, or empty.
        tooltip: Details.
        brief: Shorter text for narrow windows; empty: the chip is hidden instead.
        rank: Priority for hiding: chips with the highest rank are hidden first.
        opens: True if a click opens something.
    """

    key: str
    text: str
    tone: Tone = "plain"
    icon: str = ""
    tooltip: str = ""
    rank: int = 0
    brief: str = ""
    opens: bool = False


@dataclass(frozen=True, slots=True)
class HeaderState:
    """Title, line below it, chips from left to right."""

    title: str
    subtitle: str
    chips: tuple[ChipState, ...]


def header_state(
    summary: RunSummary | None,
    verdicts: VerdictStore | None = None,
    *,
    now_wall_s: float,
    is_connected: bool,
) -> HeaderState:
    """Return the header for this run; empty if there is none.

    Args:
        verdicts: Verdicts on metrics of runs; None: not shown here.
        is_connected: True if the hub is connected.
    """
    if summary is None:
        return HeaderState("", "", ())
    state = run_state_label(summary, now_wall_s=now_wall_s, is_connected=is_connected)
    opens = has_ended_badly(summary)
    why = state.why
    if opens:
        why = tr("{why}. Click to see what led to it.").format(why=why.rstrip(".") or state.label)
    chips = [ChipState("state", state.label, state.tone, state.icon, why, opens=opens)]
    chips += _progress_chips(summary)
    known = [] if verdicts is None else verdicts.of_run(summary.run)
    chips += _forecast_chips(summary, nearest_verdict(known), now_wall_s)
    chips += _warning_chips(summary)
    return HeaderState(summary.name, _subtitle(summary, now_wall_s), tuple(chips))


def _subtitle(summary: RunSummary, now_wall_s: float) -> str:
    parts = (
        [shortened(translated_text(summary.state_why), _LONGEST_WHY)] if has_ended(summary) else []
    )
    parts += [summary.host, tr("pid {pid}").format(pid=summary.pid)]
    started = moment_text(summary.started_wall_s, now_wall_s=now_wall_s)
    parts.append(tr("started {when}").format(when=started))
    return " \u00b7 ".join(part for part in parts if part)


def _progress_chips(summary: RunSummary) -> list[ChipState]:
    chips: list[ChipState] = []
    if summary.fit > 1:
        text = tr("Fit {n}").format(n=count_text(summary.fit))
        tooltip = tr("{done} fits have ended; this one is training {model}").format(
            done=summary.fits_done, model=summary.model
        )
        chips.append(ChipState("fit", text, tooltip=tooltip, rank=3))
    if summary.epoch is not None:
        text = _n_of(tr("Epoch"), summary.epoch + 1, summary.epochs)
        tooltip = tr("{epochs} completed across all fits").format(
            epochs=epochs_text(summary.epochs_done)
        )
        chips.append(ChipState("epoch", text, tooltip=tooltip, rank=2))
    if summary.step and not has_ended(summary):
        text = _n_of(tr("Step"), summary.step, summary.steps)
        chips.append(ChipState("step", text, tooltip=tr("Steps in this epoch"), rank=5))
    if summary.step_time.value is not None and not has_ended(summary):
        text = tr("{time} / step").format(time=seconds_text(summary.step_time.value))
        chips.append(
            ChipState("step_time", text, tooltip=translated_text(summary.step_time.source), rank=4)
        )
    return chips


def _n_of(noun: str, n: int, of: int | None) -> str:
    text = f"{noun} {count_text(n)}"
    return f"{text}{NARROW_SPACE}/{NARROW_SPACE}{count_text(of)}" if of else text


def _forecast_chips(
    summary: RunSummary, verdict: Verdict | None, now_wall_s: float
) -> list[ChipState]:
    text = "" if verdict is None else forecast_chip_text(summary, verdict, now_wall_s=now_wall_s)
    if verdict is None or not text:
        return []
    is_before = epochs_left_before(summary, verdict) is not None
    tooltip = f"{card_title(summary, verdict.metric)}: " + forecast_text(
        summary, verdict, now_wall_s=now_wall_s
    )
    tone: Tone = "plain" if is_before else "warn"
    brief = brief_forecast_text(summary, verdict)
    return [ChipState("forecast", text, tone, tooltip=tooltip, rank=1, brief=brief)]


def _warning_chips(summary: RunSummary) -> list[ChipState]:
    chips: list[ChipState] = []
    for metric, reading in _metrics(summary):
        limit = _lowest_crossed(summary, metric, reading)
        if limit is not None and not has_ended(summary):
            text = tr("{metric} above its limit").format(metric=metric_name_of(summary, metric))
            tooltip = tr("The limit is {limit}").format(limit=round_amount(metric, limit))
            chips.append(ChipState(f"over_{metric}", text, "warn", "warning", tooltip, 1))
    if summary.gaps:
        text = tr("{n} events missing").format(n=count_text(summary.gaps))
        tooltip = tr("Events lost in transit; charts have a gap there")
        chips.append(ChipState("gaps", text, "warn", "warning", tooltip, 6))
    if summary.faults:
        text = tr("kmonitor errors: {n}").format(n=count_text(summary.faults))
        tooltip = tr("Internal kmonitor errors in the training process; training is not affected")
        chips.append(ChipState("faults", text, "warn", "warning", tooltip, 7))
    return chips


def _metrics(summary: RunSummary) -> tuple[tuple[LimitMetric, MetricReading], ...]:
    return (
        ("ram", summary.ram),
        ("vram", summary.vram),
        ("graph", summary.graph),
        ("step_time", summary.step_time),
    )


def _lowest_crossed(
    summary: RunSummary, metric: LimitMetric, reading: MetricReading
) -> float | None:
    crossed: list[float] = []
    for limit in summary.limits:
        if limit.metric == metric:
            threshold = threshold_value(limit, reading.of)
            value = reading.value
            if threshold is not None and value is not None and value > threshold:
                crossed.append(threshold)
    return min(crossed, default=None)
