"""A run's summary as text for the terminal."""

from collections.abc import Iterable

from kmonitor.ui.charts.cards import ram_details
from kmonitor.ui.runs.run_states import error_sentence, has_ended
from kmonitor.ui.studies.study_page import folds_done_text
from kmonitor.ui.studies.study_store import is_study
from kmonitor.ui.text.formats import (
    NOT_KNOWN,
    amount_text,
    count_text,
    percent_text,
    with_plain_spaces,
)
from kmonitor.ui.text.metrics import METRIC_UNITS, is_on_host, metric_name
from kmonitor.ui.verdicts.verdict_text import alarm_text
from kmonitor_agent.wire.messages.commands import LimitMetric
from kmonitor_agent.wire.messages.events import FieldSources
from kmonitor_agent.wire.messages.unions import MetricReading, RunSummary

METRICS: tuple[LimitMetric, ...] = ("graph", "ram", "vram", "step_time")
"""Metrics of a run in `kmonitor runs` and `kmonitor show`, in order."""

_DEVICE_FIELD = "device_total_bytes"
"""Field read only from the driver; the reason for its absence explains missing VRAM."""


def run_state_text(run: RunSummary) -> str:
    """The state, with its reason."""
    why = error_sentence(run.state_why)
    return f"{run.state} ({why})" if why else run.state


def run_epoch_text(run: RunSummary) -> str:
    """The running or last epoch, counted from 1, "3 of 10"; a dash before the first.

    For a study: "3 of 10 folds, 1 failed".
    """
    if is_study(run) and run.tally is not None:
        tally = run.tally
        without_value = (
            (tally.pruned, "pruned"),
            (tally.too_large, "too large"),
            (tally.failed, "failed"),
            (tally.out_of_memory, "out of memory"),
            (tally.killed - tally.out_of_memory, "killed"),
        )
        fold_counts = [f"{count} {how}" for count, how in without_value if count]
        return ", ".join([with_plain_spaces(folds_done_text(run, tally)), *fold_counts])
    if run.epoch is None:
        return NOT_KNOWN
    number = run.epoch + 1
    return f"{number} of {run.epochs}" if run.epochs else str(number)


def step_text(run: RunSummary) -> str:
    """Steps done in the running epoch, "120 of 1 875"."""
    steps_done = with_plain_spaces(count_text(run.step))
    return (
        f"{steps_done} of {with_plain_spaces(count_text(run.steps))}" if run.steps else steps_done
    )


def calls_text(run: RunSummary) -> str:
    """Calls outside of fits, "36 calls of predict, evaluate or collect()"; empty if none."""
    if not run.calls:
        return ""
    number = with_plain_spaces(count_text(run.calls))
    return f"{number} call{'' if run.calls == 1 else 's'} of predict, evaluate or collect()"


def summary_metric(run: RunSummary, metric: LimitMetric) -> MetricReading:
    readings: dict[str, MetricReading] = {
        "ram": run.ram,
        "vram": run.vram,
        "graph": run.graph,
        "step_time": run.step_time,
    }
    return readings.get(metric, MetricReading(absent="not part of the summary"))


def metric_title(run: RunSummary, metric: LimitMetric) -> str:
    """Title of a reading: "VRAM", or "Allocator (CPU)" without a GPU."""
    return "Allocator (CPU)" if is_on_host(run, metric) else metric_name(metric)


def origin_text(run: RunSummary, metric: LimitMetric, *, no_device: str = "") -> str:
    """Source of a reading, or the reason why there is none.

    Args:
        metric: One of the four metrics.
        no_device: Reason for missing data of a GPU; see `device_absence`.
    """
    reading = summary_metric(run, metric)
    if reading.value is None:
        return reading.absent or _not_yet(run, metric)
    if is_on_host(run, metric) and no_device:
        return f"{reading.source}; {no_device}"
    return with_plain_spaces("; ".join([reading.source, *ram_details(reading)]))


def device_absence(source_events: Iterable[FieldSources]) -> str:
    """Reason why the last process reads no GPU; empty if it reads one.

    Args:
        source_events: The run's `sources` events, in order.
    """
    return ["", *field_absences(source_events, _DEVICE_FIELD)][-1]


def field_absences(source_events: Iterable[FieldSources], field: str) -> list[str]:
    """Reported reasons why a field is not read, in order; empty from when on it is read.

    Args:
        source_events: The run's `sources` events, in order.
    """
    found = (source for event in source_events for source in event.sources)
    return [source.absent for source in found if source.field == field]


def _not_yet(run: RunSummary, metric: LimitMetric) -> str:
    if has_ended(run):
        return "the run ended before this was measured"
    return "no steps measured yet" if metric == "step_time" else "not read yet"


def summary_metric_text(run: RunSummary, metric: LimitMetric) -> str:
    """The last reading with its unit, or a dash."""
    reading = summary_metric(run, metric)
    if reading.value is None:
        return NOT_KNOWN
    if metric == "graph":
        return with_plain_spaces(count_text(reading.value))
    return with_plain_spaces(amount_text(reading.value, METRIC_UNITS[metric]))


def labelled_text(run: RunSummary, metric: LimitMetric) -> str:
    """The last reading for a column VRAM; readings of the CPU's allocator are marked."""
    text = summary_metric_text(run, metric)
    is_labelled = text != NOT_KNOWN and is_on_host(run, metric)
    return f"{text} (CPU)" if is_labelled else text


def share_text(reading: MetricReading) -> str:
    """Used share of the available amount, "64%"; a dash where there is no bound."""
    if reading.value is None or not reading.of:
        return NOT_KNOWN
    return percent_text(reading.value / reading.of)


def worst_verdict_text(run: RunSummary) -> str:
    """Worst metric, "RAM: leak suspected", and the number of others; empty if none is bad."""
    texts = [
        f"{metric_title(run, metric)}: {alarm_text(metric, verdict)}"
        for metric, verdict in sorted(
            run.verdicts.items(), key=lambda item: item[1] != "suspected"
        )
    ]
    more = f" +{len(texts) - 1}" if len(texts) > 1 else ""
    return f"{texts[0]}{more}" if texts else ""
