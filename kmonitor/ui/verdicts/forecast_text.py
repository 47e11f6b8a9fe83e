"""Forecasts of limits as text: no more exact than the data allow, empty once a run has ended."""

import math
from collections.abc import Iterable
from typing import Final

from kmonitor.ui.limits.limit_text import round_amount
from kmonitor.ui.runs.run_states import has_ended
from kmonitor.ui.text.formats import count_text, moment_text, rate_text
from kmonitor.ui.text.language import tr
from kmonitor.ui.text.metrics import METRIC_UNITS, metric_name
from kmonitor.ui.verdicts.verdict_text import unit_name, units_text
from kmonitor_agent.wire.messages.events import LimitForecast, Verdict
from kmonitor_agent.wire.messages.unions import RunSummary

_FAR_UNITS: Final = 1000.0
_ROUNDED_FROM: Final = 100.0


def forecast_text(run: RunSummary, verdict: Verdict, *, now_wall_s: float) -> str:
    """Forecast of a limit: "limit 72 GiB in about 14 epochs (10 to 21), about 14:35".

    Args:
        run: The run; an ended run reaches no limit.
        verdict: Verdict; without a forecast, the text is empty.
        now_wall_s: Now, UTC epoch seconds.
    """
    forecast = verdict.forecast
    if forecast is None or has_ended(run):
        return ""
    text = _when_text(verdict, forecast, forecast_limit_text(verdict, forecast))
    if forecast.by_others:
        rate = rate_text(forecast.by_others, METRIC_UNITS[verdict.metric], unit_name(verdict))
        text = tr(
            "{forecast}; other processes are using up the remaining memory at {rate}"
        ).format(forecast=text, rate=rate)
    left = epochs_left_before(run, verdict)
    if left is not None:
        return tr("{forecast}; the fit will end before that, in {left}").format(
            forecast=text, left=units_text(left, verdict)
        )
    moment = _moment(run, verdict, now_wall_s)
    return (
        tr("{forecast}, about {moment}").format(forecast=text, moment=moment) if moment else text
    )


def short_forecast_text(run: RunSummary, verdict: Verdict) -> str:
    """Shorter text: "limit in about 14 epochs (10 to 21)"."""
    forecast = verdict.forecast
    if forecast is None or has_ended(run):
        return ""
    if epochs_left_before(run, verdict) is not None:
        return tr("the fit will end before the limit is reached")
    return _when_text(verdict, forecast, tr("limit"))


def brief_forecast_text(run: RunSummary, verdict: Verdict) -> str:
    """Shortest text, only the interval: "limit in 10\u201321 epochs"; empty: there is none."""
    forecast = verdict.forecast
    if not short_forecast_text(run, verdict) or forecast is None or is_out_of_memory(verdict):
        return ""
    if forecast.latest is None or _is_open_ended(forecast) or _is_reached(forecast):
        return ""
    if epochs_left_before(run, verdict) is not None or round(forecast.units) < 1:
        return ""
    low = count_text(_rounded(math.floor(forecast.earliest)))
    high = units_text(_rounded(math.ceil(forecast.latest)), verdict)
    return tr("limit in {low}\u2013{high}").format(low=low, high=high)


def forecast_chip_text(run: RunSummary, verdict: Verdict, *, now_wall_s: float) -> str:
    """Short text with the time of day: "limit in about 14 epochs (10 to 21) \u00b7 16:40"."""
    text = short_forecast_text(run, verdict)
    if not text or epochs_left_before(run, verdict) is not None:
        return text
    moment = _moment(run, verdict, now_wall_s)
    # There is little room: a limit without a name is that of RAM, which most runs meet first.
    is_implied = verdict.metric == "ram" or is_out_of_memory(verdict)
    whose = "" if is_implied else f"{metric_name(verdict.metric, on_host=verdict.on_host)} "
    return f"{whose}{text} \u00b7 {moment}" if moment else f"{whose}{text}"


def nearest_verdict(verdicts: Iterable[Verdict]) -> Verdict | None:
    """Return the verdict whose limit is reached first; None if none has a forecast."""
    # A metric that only rises so far may be a pool that warms up.
    known = [each for each in verdicts if each.forecast is not None and each.state != "rising"]
    return min(known, key=_seconds_to, default=None)


def epochs_left_before(run: RunSummary, verdict: Verdict) -> int | None:
    """Epochs that remain in the fit, if it ends before the limit can be reached; else None."""
    forecast = verdict.forecast
    if forecast is None or verdict.per != "epoch" or not run.epochs or run.epoch is None:
        return None
    # The running epoch counts: it may be at its first step.
    left = run.epochs - run.epoch
    return left if 0 <= left <= forecast.earliest else None


def forecast_limit_text(verdict: Verdict, forecast: LimitForecast) -> str:
    """Name of the limit, with its amount: "limit 72 GiB", "host limit 15.6 GiB"."""
    texts = {
        "own": tr("limit {amount}"),
        "host": tr("host limit {amount}"),
        "cgroup": tr("cgroup limit {amount}"),
        "address_space": tr("address space limit {amount}"),
        "device": tr("device limit {amount}"),
        "system": tr("limit of {amount}"),
    }
    text = texts[forecast.of]
    if forecast.of == "system" and verdict.metric in {"disk", "temp_disk"}:
        text = tr("disk full ({amount})")
    return text.format(amount=round_amount(verdict.metric, forecast.limit))


def _seconds_to(verdict: Verdict) -> float:
    forecast = verdict.forecast
    if forecast is None:
        return math.inf
    return forecast.units * (forecast.unit_s or 1.0)


def _moment(run: RunSummary, verdict: Verdict, now_wall_s: float) -> str:
    """Time of day, with the date unless it is near; empty if it is not known."""
    forecast = verdict.forecast
    if forecast is None or forecast.unit_s is None:
        return ""
    if _is_open_ended(forecast) or _is_reached(forecast):
        return ""
    wall_s = run.started_wall_s + verdict.to_s + forecast.units * forecast.unit_s
    return moment_text(wall_s, now_wall_s=now_wall_s)


def is_out_of_memory(verdict: Verdict) -> bool:
    """True if a loop of fits will run out of memory, not reach a limit that the user set."""
    forecast = verdict.forecast
    return verdict.per == "fit" and forecast is not None and forecast.of != "own"


def _fits_text(verdict: Verdict, forecast: LimitForecast) -> str:
    """Forecast of out of memory for a loop of fits."""
    is_gpu = forecast.of == "device"
    if forecast.latest is None or _is_open_ended(forecast):
        least = count_text(_rounded(math.floor(forecast.earliest)))
        text = tr("out of memory after {n} more fits at the earliest")
        if is_gpu:
            text = tr("GPU out of memory after {n} more fits at the earliest")
        return text.format(n=least)
    n = _rounded(round(forecast.units))
    if n < 1:
        text = tr("out of memory with the next fit")
        return tr("GPU out of memory with the next fit") if is_gpu else text
    ends = (math.floor(forecast.earliest), math.ceil(forecast.latest))
    low, high = (count_text(_rounded(end)) for end in ends)
    text = tr("out of memory after about {n} more fits ({low} to {high})")
    if is_gpu:
        text = tr("GPU out of memory after about {n} more fits ({low} to {high})")
    elif n == 1:
        text = tr("out of memory after about {n} more fit ({low} to {high})")
    return text.format(n=count_text(n), low=low, high=high)


def _when_text(verdict: Verdict, forecast: LimitForecast, whose: str) -> str:
    if is_out_of_memory(verdict):
        return _fits_text(verdict, forecast)
    if forecast.latest is None or _is_open_ended(forecast):
        least = units_text(_rounded(math.floor(forecast.earliest)), verdict)
        return tr("{limit} in {units} at the earliest").format(limit=whose, units=least)
    if _is_reached(forecast):
        return tr("{limit} is reached").format(limit=whose)
    ends = (math.floor(forecast.earliest), math.ceil(forecast.latest))
    if round(forecast.units) < 1:
        return tr("{limit} within {units}").format(limit=whose, units=units_text(ends[1], verdict))
    low, high = (count_text(_rounded(end)) for end in ends)
    units = units_text(_rounded(round(forecast.units)), verdict)
    return tr("{limit} in about {units} ({low} to {high})").format(
        limit=whose, units=units, low=low, high=high
    )


def _is_reached(forecast: LimitForecast) -> bool:
    return forecast.latest is not None and forecast.latest <= 0.0


def _is_open_ended(forecast: LimitForecast) -> bool:
    return forecast.latest is None or forecast.units >= _FAR_UNITS


def _rounded(n: float) -> float:
    """Round to two digits: more would suggest an accuracy that the forecast lacks."""
    if n < _ROUNDED_FROM:
        return n
    step = 10.0 ** (math.floor(math.log10(n)) - 1)
    return round(n / step) * step
