"""A run's summary in the words of a terminal."""

from kmonitor.presenters.formats import (
    NOT_KNOWN,
    amount_text,
    count_text,
    percent_text,
    plain_text,
)
from kmonitor.presenters.limit_words import METRIC_UNITS
from kmonitor_agent.protocol.commands import LimitMetric
from kmonitor_agent.protocol.messages import MetricNow, RunSummary


def state_words(run: RunSummary) -> str:
    """The state, with what more there is to say about it."""
    return f"{run.state} ({run.state_why})" if run.state_why else run.state


def epoch_words(run: RunSummary) -> str:
    """The running or last epoch as people count, "3 of 10"; a dash before the first."""
    if run.epoch is None:
        return NOT_KNOWN
    number = run.epoch + 1
    return f"{number} of {run.epochs}" if run.epochs else str(number)


def step_words(run: RunSummary) -> str:
    """Steps done in the running epoch, "120 of 1 875"."""
    done = plain_text(count_text(run.step))
    return f"{done} of {plain_text(count_text(run.steps))}" if run.steps else done


def metric_of(run: RunSummary, metric: LimitMetric) -> MetricNow:
    """The last reading of one of the four metrics."""
    readings: dict[str, MetricNow] = {
        "ram": run.ram,
        "vram": run.vram,
        "graph": run.graph,
        "step_time": run.step_time,
    }
    return readings.get(metric, MetricNow(absent="not part of the summary"))


def metric_words(run: RunSummary, metric: LimitMetric) -> str:
    """The last reading with its unit, or a dash."""
    reading = metric_of(run, metric)
    if reading.value is None:
        return NOT_KNOWN
    if metric == "graph":
        return plain_text(count_text(reading.value))
    return plain_text(amount_text(reading.value, METRIC_UNITS[metric]))


def share_words(reading: MetricNow) -> str:
    """Which part of what there is, "64 %"; a dash where nothing bounds it."""
    if reading.value is None or not reading.of:
        return NOT_KNOWN
    return plain_text(percent_text(reading.value / reading.of))
