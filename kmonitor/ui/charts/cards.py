"""Text on the card of a chart; that of the four standard metrics is made here."""

from dataclasses import dataclass
from typing import Final

import msgspec

from kmonitor.ui.limits.limit_actions import LimitActionChoice, limit_action_choices
from kmonitor.ui.limits.limit_store import LimitLine, metric_reading
from kmonitor.ui.limits.limit_text import round_amount
from kmonitor.ui.runs.run_states import has_ended
from kmonitor.ui.text.formats import NOT_KNOWN, amount_text, bytes_text, count_text
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import tr
from kmonitor.ui.text.metrics import METRIC_UNITS, is_on_host, metric_name_of
from kmonitor.ui.verdicts.verdict_label import NO_VERDICT, VerdictLabel
from kmonitor_agent.wire.messages.commands import LimitMetric
from kmonitor_agent.wire.messages.unions import MetricReading, RunSummary


@dataclass(frozen=True, slots=True)
class RateLabel:
    """Rate of change of a metric, as text.

    Attributes:
        text: "+10.6 MiB / epoch", "steady", or empty while too little is known.
        direction: 1 rising, -1 falling, 0 neither, or a change within the scatter of the values.
        tooltip: Computation of the rate.
    """

    text: str
    direction: int
    tooltip: str

    @property
    def with_arrow(self) -> str:
        """The text after an arrow that shows the direction."""
        return _ARROWS[self.direction] + self.text


_ARROWS: Final = {1: "\u25b2 ", 0: "", -1: "\u25bc "}
NO_RATE: Final = RateLabel("", 0, "")


@dataclass(frozen=True, slots=True)
class ChartCardState:
    """Content of one card.

    Attributes:
        title: Name of the metric: "RAM".
        note: Text beside the title: "of 192 GiB".
        hint: Line below with remarks needed to read the number, separated by dots; mostly empty.
        value: Current amount: "73.4 GiB".
        rate: Growth rate of the metric.
        limit: "limit 72 GiB, reload"; empty: none.
        limit_tone: "crit" in force, "warn" pending, "mute" not.
        tooltip: Source of the number.
        absent: Reason why there is no number; empty when there is one.
        can_limit: True if a limit can be set now.
        has_limit: True if there is a limit that can be removed now.
        description: The whole card in one sentence, for a screen reader.
        choices: Actions on offer for the limit; empty where nothing can be chosen.
        verdict: Verdict on the growth of the metric.
    """

    title: str
    note: str
    hint: str
    value: str
    rate: RateLabel
    limit: str
    limit_tone: str
    tooltip: str
    absent: str
    can_limit: bool
    has_limit: bool
    description: str
    choices: tuple[LimitActionChoice, ...] = ()
    verdict: VerdictLabel = NO_VERDICT


def chart_card_state(
    run: RunSummary,
    metric: LimitMetric,
    *,
    rate: RateLabel = NO_RATE,
    line: LimitLine | None,
    is_connected: bool,
    device_absent: str = "",
) -> ChartCardState:
    """Return the card of one metric of a run.

    Args:
        rate: Growth rate of the metric.
        is_connected: True if the hub is reached.
        device_absent: Reason why there are no readings of a GPU; empty where there are.
    """
    reading = metric_reading(run, metric)
    unit = METRIC_UNITS[metric]
    title = card_title(run, metric)
    value = NOT_KNOWN if reading.value is None else amount_text(reading.value, unit)
    # The unit of a count is in the note: here it would take half of a small card.
    shown = (
        count_text(reading.value) if unit == "operations" and reading.value is not None else value
    )
    can_limit = _can_limit(run, metric) and is_connected
    absent = "" if reading.value is not None else _absent_text(run, metric, reading)
    limit = line.text if line else ""
    hint = _hint(run, metric, device_absent)
    described = [title, absent or value, rate.text, limit, hint]
    return ChartCardState(
        title=title,
        # A limit names the unit too, and takes the note's room.
        note="" if metric == "graph" and limit else _note(metric, reading),
        hint=hint,
        value=shown,
        rate=NO_RATE if absent else rate,
        limit=limit,
        limit_tone="mute" if line is None else "warn" if line.is_pending else "crit",
        tooltip="\n".join([translated_text(reading.source) or absent, *ram_details(reading)]),
        absent=absent,
        can_limit=can_limit and not absent,
        has_limit=can_limit and line is not None,
        description=", ".join(part for part in described if part),
        choices=limit_action_choices(run, metric) if can_limit and line is not None else (),
    )


def ram_details(reading: MetricReading) -> list[str]:
    """Lines on a reading of RAM: file pages and available memory."""
    lines: list[str] = []
    if reading.value is None:
        return lines
    if reading.file_bytes:
        lines.append(
            tr("plus {amount} of file-backed pages, which the kernel can reclaim").format(
                amount=bytes_text(reading.file_bytes)
            )
        )
    if reading.of is not None:
        left = bytes_text(max(0.0, reading.of - reading.value))
        lines.append(tr("{amount} still available").format(amount=left))
    return lines


def card_title(run: RunSummary, metric: LimitMetric) -> str:
    """Title of the card; without a GPU it names the framework's allocator or native memory."""
    if is_native(run, metric):
        return tr("Native memory in use")
    return metric_name_of(run, metric)


def with_native(run: RunSummary, native_bytes: float) -> RunSummary:
    """The run with native memory instead of an allocator that counts none of its tensors."""
    reading = MetricReading(value=native_bytes, source=_NATIVE)
    return msgspec.structs.replace(run, vram=reading)


def is_native(run: RunSummary, metric: LimitMetric) -> bool:
    """True if native memory replaces the allocator's memory; it has no limit and no verdict."""
    return metric == "vram" and run.vram.source == _NATIVE


_NATIVE: Final = "C library: malloc_info, in use"
_MEAN: Final = (
    "mean step time over a whole epoch, from the start of the first step to the result of the last"
)


def _can_limit(run: RunSummary, metric: LimitMetric) -> bool:
    return not has_ended(run) and "set_limits" in run.actions and not is_native(run, metric)


def _hint(run: RunSummary, metric: LimitMetric, device_absent: str) -> str:
    """Reason for missing VRAM, and tensors that the CPU's allocator counts, from its source."""
    if is_native(run, metric):
        counted_text = tr("the framework's allocator does not see this model's tensors")
    elif is_on_host(run, metric):
        counted = run.vram.source.partition("(")[2].rpartition(")")[0]
        counted_text = tr("counts {what}").format(what=translated_text(counted)) if counted else ""
    else:
        return ""
    return " \u00b7 ".join(part for part in (device_absent, counted_text) if part)


def _note(metric: LimitMetric, reading: MetricReading) -> str:
    if reading.value is None:
        return ""
    if reading.of is not None:
        return tr("of {amount}").format(amount=round_amount(metric, reading.of))
    match metric:
        case "graph":
            return tr("operations in live traces")
        case "step_time":
            is_mean = reading.source.startswith(_MEAN)
            return tr("mean over the epoch") if is_mean else tr("median over the epoch")
        case "vram":
            return tr("at the end of the epoch") if reading.source == _NATIVE else tr("in use")
        case _:
            return ""


def _absent_text(run: RunSummary, metric: LimitMetric, reading: MetricReading) -> str:
    if reading.absent:
        return translated_text(reading.absent)
    if has_ended(run):
        return tr("The run ended before this was measured.")
    match metric:
        case "step_time":
            return tr("Shown after the first steps of an epoch.")
        case "graph":
            return tr("Shown once a fit has started.")
        case _:
            return tr("Waiting for the first reading\u2026")
