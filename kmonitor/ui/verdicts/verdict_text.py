"""Verdicts as text: claims never exceed the evidence, which is shown beside them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from msgspec.structs import replace

from kmonitor.ui.text.formats import (
    bytes_text,
    change_text,
    count_text,
    duration_text,
    percent_text,
    rate_text,
)
from kmonitor.ui.text.language import tr
from kmonitor.ui.text.metrics import METRIC_UNITS, metric_name
from kmonitor.ui.verdicts.counted_text import (
    counted_advice_text,
    counted_cause_text,
    endless_text,
    retainers_text,
)
from kmonitor.ui.verdicts.kept_text import (
    collector_text,
    correlated_growth_text,
    filling_cache_text,
    filling_place_text,
    full_place_text,
    growth_rate_text,
    is_about_full_place,
    kept_advice_text,
    kept_text,
    numerous_objects,
    retained_text,
)
from kmonitor.ui.verdicts.time_text import (
    NOT_COMPARED,
    jump_text,
    limit_advice_text,
    not_compared_text,
    slower_since_text,
    time_advice_text,
    time_cause_text,
    time_part_lines,
    unit_name,
)
from kmonitor.ui.verdicts.tried_text import in_vain_text, tried_text
from kmonitor_agent.wire.messages.commands import CommandName
from kmonitor_agent.wire.messages.events import Verdict
from kmonitor_agent.wire.messages.verdict_events import (
    COUNTED_METRICS,
    MAY_BE_GARBAGE,
    TIME_METRICS,
    ArenaFill,
)

if TYPE_CHECKING:
    from kmonitor_agent.wire.messages.verdict_events import VerdictMetric, VerdictState

MIN_UNITS: Final = 10
"""Units needed to distinguish noise from a trend; as in `kmonitor.hub.judge.growth`."""

MORE_UNITS: Final = 4
"""Further units: a rise is judged five times before it is reported as growth."""

Tone = Literal["mute", "ok", "warn", "crit"]


@dataclass(frozen=True, slots=True)
class VerdictAdvice:
    """A possible remedy.

    Attributes:
        text: Description of the remedy.
        command: Command that carries out the remedy; None: it needs a change of the script.
    """

    text: str
    command: CommandName | None = None


def _final_text(verdict: Verdict) -> str:
    """Reason why an ended run has no verdict."""
    if verdict.why_not in NOT_COMPARED:
        return tr("not judged")
    if verdict.units < MIN_UNITS:
        return tr("too short to judge")
    if _is_sure_rise(verdict):
        return tr("rises too unevenly to judge")
    return tr("varies too much to judge")


def _is_sure_rise(verdict: Verdict) -> bool:
    """True if the change per unit is above 0 for certain, though no steady growth was found."""
    return verdict.slope_low is not None and verdict.slope_low > 0.0


def verdict_state_text(verdict: Verdict, *, is_final: bool = False) -> str:
    """State of a verdict in two or three words: "leak suspected", "measuring".

    Args:
        is_final: True if the run has ended, and nothing more is measured.
    """
    if is_final and verdict.state == "measuring":
        return _final_text(verdict)
    is_time = verdict.metric in TIME_METRICS
    if verdict.since and verdict.state == "growing":
        return slower_since_text(verdict)
    texts: dict[VerdictState, str] = {
        "measuring": tr("measuring"),
        "rising": tr("rising"),
        "steady": tr("steady"),
        "slowing": tr("slower, but leveling off") if is_time else tr("growing, but leveling off"),
        "cleared": tr("no longer slowing down") if is_time else tr("no longer growing"),
        "growing": tr("slowing down") if is_time else tr("growing"),
        "suspected": suspicion_of(verdict.metric),
    }
    return texts[verdict.state]


_NEAR: Final = 10.0
"""Number of times as many units until a limit is met as were measured, from which it is far."""


def is_said(verdict: Verdict) -> bool:
    """True if a verdict is worth a line.

    Files, tasks and the like are only numbers until they grow; a few more are nothing, unless
    their limit is near.
    """
    if verdict.metric not in COUNTED_METRICS:
        return True
    if verdict.state != "rising":
        return verdict.state not in {"measuring", "steady"}
    forecast = verdict.forecast
    return forecast is not None and forecast.units <= _NEAR * verdict.units


def more_known_text(verdict: Verdict) -> str:
    """Time of the next verdict: "next verdict in about 3 min"; empty if it is not known.

    There is no time for a metric that varies too much: the next verdict depends on new values.
    """
    if verdict.why_not in NOT_COMPARED:
        return not_compared_text(verdict)
    if verdict.unit_s is None or verdict.state not in {"measuring", "rising"}:
        return ""
    is_by_samples = verdict.per in {"step", "call"} or verdict.metric in COUNTED_METRICS
    is_passing = verdict.cause in {"filling", "buffer", "arenas", "uncollected"}
    if is_by_samples or (is_passing and not is_about_full_place(verdict)):
        return ""  # it is judged on as samples come
    is_rising = verdict.state == "rising"
    left = MIN_UNITS + MORE_UNITS * is_rising - verdict.units
    if left <= 0:
        if verdict.why_not == MAY_BE_GARBAGE:
            return tr("may be garbage that Python has not collected so far; Collect shows it")
        uneven = tr("rises too unevenly to judge so far")
        is_rise = is_rising or _is_sure_rise(verdict)
        return uneven if is_rise else tr("varies too much to judge so far")
    left_s = max(1.0, left * verdict.unit_s)
    return tr("next verdict in about {time}").format(time=duration_text(left_s))


def suspicion_of(metric: "VerdictMetric") -> str:
    """Name of a suspicion: the growth of a graph is certain, while memory may still be freed."""
    return tr("growing") if metric == "graph" else tr("leak suspected")


def alarm_text(metric: "VerdictMetric", state: "VerdictState") -> str:
    """Growth of a metric in lists of runs: "leak suspected", "slowing down"."""
    if state == "suspected":
        return suspicion_of(metric)
    return tr("slowing down") if metric in TIME_METRICS else tr("growing")


def verdict_tone(verdict: Verdict) -> Tone:
    if is_taken_by_others(verdict):
        return "warn"
    tones: dict[str, Tone] = {"growing": "warn", "suspected": "crit", "cleared": "ok"}
    return tones.get(verdict.state, "mute")


def verdict_headline(verdict: Verdict, *, is_final: bool = False) -> str:
    """Verdict in one sentence: "leak suspected: train_function is retraced repeatedly".

    Args:
        is_final: True if the run has ended, and nothing more is measured.
    """
    is_early = verdict.state in {"measuring", "rising"}
    if is_early and not is_taken_by_others(verdict):
        return _unjudged_headline(verdict, is_final=is_final)
    text = verdict_state_text(verdict)
    if is_taken_by_others(verdict):
        return tr("{state}, but other processes are using up what is left").format(state=text)
    is_over = verdict.cause == "data_cache" or is_about_full_place(verdict)
    cause = "" if is_over else cause_text(verdict)
    rate = "" if is_over or _has_size(verdict) else _rate_of_memory(verdict)
    if verdict.state == "cleared" and verdict.metric in _MEMORY and (verdict.rise or 0.0) < 0.0:
        rate = tr("it has fallen back, and may rise again")
    details = "; ".join(part for part in (rate, cause, in_vain_text(verdict)) if part)
    return f"{text}: {details}" if details else text


def _has_size(verdict: Verdict) -> bool:
    """True if the cause says how many bytes it adds."""
    kinds = {"kept_bytes"} if verdict.cause == "kept" else {_counted_bytes(verdict)}
    return any(one.kind in kinds for one in verdict.grew_with)


def _rate_of_memory(verdict: Verdict) -> str:
    """Growth of memory per unit; empty for other metrics, and for memory that does not grow."""
    is_open = verdict.state in _OPEN and verdict.metric in _MEMORY
    if not is_open or verdict.slope is None or verdict.slope <= 0.0:
        return ""
    return rate_text(verdict.slope, METRIC_UNITS[verdict.metric], unit_name(verdict))


_OPEN: Final = frozenset({"growing", "suspected", "slowing"})
_MEMORY: Final = frozenset({"ram", "vram"})


def _final_headline(verdict: Verdict) -> str:
    units = units_text(verdict.units, verdict)
    if verdict.why_not in NOT_COMPARED:
        return f"{_final_text(verdict)}: {not_compared_text(verdict)}"
    if verdict.units < MIN_UNITS:
        return f"{_final_text(verdict)}: {tr('it ended after {units}').format(units=units)}"
    return tr("{slope}, over {window}").format(slope=_final_text(verdict), window=units)


def _unjudged_headline(verdict: Verdict, *, is_final: bool) -> str:
    more = "" if is_final else more_known_text(verdict)
    if verdict.state == "measuring":
        if is_final:
            text = _final_headline(verdict)
        else:
            text = f"{tr('measuring')}: {more}" if more else tr("measuring")
        known = cause_text(verdict) if verdict.metric in TIME_METRICS else ""
        return "; ".join(filter(None, [text, known]))
    text = tr("rising, not judged") if is_final else tr("rising, not yet judged")
    rate = ""
    if verdict.slope is not None:
        rate = rate_text(verdict.slope, METRIC_UNITS[verdict.metric], unit_name(verdict))
    counted = cause_text(verdict)
    details = "; ".join(part for part in (rate, counted, in_vain_text(verdict), more) if part)
    return f"{text}: {details}" if details else text


def is_taken_by_others(verdict: Verdict) -> bool:
    """True if memory runs out although this run does not grow: other processes use the rest."""
    is_quiet = verdict.state in {"steady", "measuring", "cleared"}
    return is_quiet and verdict.forecast is not None and verdict.forecast.by_others > 0.0


def cause_text(verdict: Verdict) -> str:
    """Cause of the growth, if it was found; empty if there were no measurements for it."""
    if verdict.metric in COUNTED_METRICS:
        return counted_cause_text(verdict)
    return retainers_text(verdict) or _memory_cause_text(verdict)


def _memory_cause_text(verdict: Verdict) -> str:
    name = verdict.name
    texts = {
        "retained_traces": tr("traces of models that no longer exist are retained"),
        "disused_traces": tr(
            "traces that are no longer used, as of a model that was compiled again, are retained"
        ),
        "retracing": _retracing_text(verdict),
        "compiled": tr("a function is recompiled for each new shape (XLA)"),
        "rebuilt": tr(
            "models, optimizers or train functions are built repeatedly, and something keeps them"
            " alive"
        ),
        "kept": kept_text(verdict),
        "python": tr("Python objects are kept alive"),
        "tensors": tr("tensors are retained: the framework's allocator is growing"),
        "workers": tr("child processes of the training process are using more and more memory"),
        "blocks": endless_text("blocks"),
        "malloc": tr(
            "memory allocated with malloc, by arrays, long texts or bytes, or native code;"
            " kmonitor has not found what retains it"
        ),
        "native": tr("native code retains memory allocated with malloc; Python code does not"),
        "collector_off": collector_text(verdict),
        "cache": tr("malloc retains freed memory: a cache, or fragmentation"),
        "arenas": _arenas_text(verdict.arenas),
        "uncollected": tr("Python objects accumulate between full collections; Collect runs one"),
        "unknown": tr("no other metric grew along with it"),
        "pressure": tr(
            "memory pressure: pages are being read back from disk, and tasks are waiting"
        ),
        "data_cache": tr("it rose only in the first epoch, while data was being read"),
    }
    if verdict.metric in TIME_METRICS and (text := time_cause_text(verdict)):
        return text
    if verdict.filling is not None:
        return filling_cache_text(verdict.filling)
    if verdict.kept is not None and verdict.cause in {"filling", "buffer"}:
        return filling_place_text(verdict, verdict.kept)
    if verdict.kept is not None and verdict.cause == "rebuilt":
        built = _with_rate(tr("models or optimizers are being built again and again"), verdict)
        return f"{built}; {retained_text(verdict, verdict.kept)}"
    if name and verdict.cause in {"retained_traces", "disused_traces", "blocks"}:
        return _with_rate(f"{texts[verdict.cause]} ({name})", verdict)
    text = _numerous_text(verdict) or (_line_text(verdict) if name else "")
    return _with_rate(text or texts.get(verdict.cause, ""), verdict)


def _numerous_text(verdict: Verdict) -> str:
    """Cause with objects that became more numerous; empty without such, or where more is known."""
    objects = numerous_objects(verdict)
    if not objects or verdict.cause not in {"malloc", "tensors", "unknown"}:
        return ""
    return tr(
        "there are more and more {kind} objects; kmonitor has not found what retains them"
    ).format(kind=objects)


def _line_text(verdict: Verdict) -> str:
    """Cause with the line of the script that allocated most; empty if it is of no line."""
    texts = {
        "python": tr(
            "memory allocated by Python is not freed; most of it was allocated at {line}"
        ),
        "workers": tr(
            "child processes of the training process are using more and more memory, mainly {line}"
        ),
        "malloc": tr(
            "of what Python allocates in an epoch and still holds at its end, most is from {line},"
            " and older memory is freed; memory allocated with malloc grows, and kmonitor has not"
            " found what retains it"
        ),
    }
    return texts.get(verdict.cause, "").format(line=verdict.name)


_COUNTED_BYTES: Final = {
    "retained_traces": "allocator_bytes",
    "disused_traces": "allocator_bytes",
    "rebuilt": "allocator_bytes",
    "python": "python_bytes",
    "tensors": "allocator_bytes",
    "workers": "children_bytes",
    "blocks": "named_bytes",
    "malloc": "native_bytes",
    "native": "native_bytes",
    "cache": "free_bytes",
}
"""Counts of bytes that grew, by the cause that they show."""


_PART_OF_MODELS: Final = frozenset({"retained_traces", "disused_traces", "rebuilt"})
"""Causes of which the allocator, with tensors only, shows a part."""


def _counted_bytes(verdict: Verdict) -> str:
    """Count that is the size of the cause; empty if none is."""
    is_part = verdict.metric == "ram" and verdict.cause in _PART_OF_MODELS
    return "" if is_part else _COUNTED_BYTES.get(verdict.cause, "")


def _with_rate(text: str, verdict: Verdict) -> str:
    """Cause with the size that it adds per unit, if that was counted."""
    kind = _counted_bytes(verdict)
    one = next((one for one in verdict.grew_with if one.kind == kind), None)
    return text if one is None else growth_rate_text(text, one, verdict)


def _retracing_text(verdict: Verdict) -> str:
    text = tr("{name} is retraced repeatedly").format(name=verdict.name or tr("a function"))
    return f"{text}; {retained_text(verdict, verdict.kept)}" if verdict.kept is not None else text


def _arenas_text(fill: ArenaFill | None) -> str:
    if fill is None:
        return ""
    sizes = {"size": bytes_text(fill.free_bytes), "largest": bytes_text(fill.largest_bytes)}
    return tr(
        "malloc retains freed memory for reuse: {size} in {n} arenas, at most {largest} in one"
    ).format(n=count_text(fill.arenas), **sizes)


def growing_part_text(verdict: Verdict) -> str:
    """Part of an epoch or fit in which the growth occurs.

    Empty: several parts, or not known; or the place that retains objects is, which says more.
    """
    if verdict.metric in TIME_METRICS or verdict.kept is not None or verdict.where_part is None:
        return ""
    parts = {
        "validation": tr("in validation"),
        "between_epochs": tr(
            "between epochs, from on_epoch_end of MonitorCallback to its next on_epoch_begin: in"
            " other callbacks, Keras or actions of kmonitor"
        ),
        "between_fits": tr("between fits or while a fit starts: in the script or in Keras"),
    }
    if verdict.where == "steps":
        return tr(
            "It happens within epochs, not between them: in steps, validation, or callbacks,"
            " except on_epoch_end of those after MonitorCallback"
        )
    where = parts.get(verdict.where, "")
    if not where:
        return ""
    text = tr("{part} of it happens {where}")
    return text.format(part=percent_text(verdict.where_part), where=where)


def trace_change_text(verdict: Verdict) -> str:
    """Differences between traces of the function; empty if they are not known."""
    if not verdict.changed:
        return ""
    if verdict.changed == "python":
        return tr(
            "Between traces, no tensor changed its shape or type: a Python number or object"
            " changed, or the function was created again"
        )
    return tr("Changes between traces: {what}").format(what=verdict.changed)


def confidence_text(verdict: Verdict) -> str:
    """Confidence in the cause, from the counters; empty if there is no cause."""
    is_time = verdict.metric in TIME_METRICS
    # The headline of a time says that its cause is unknown, and what is ruled out.
    is_said = is_time and (verdict.cause == "part" or verdict.sureness == "open")
    if is_said or verdict.cause in {"malloc", "disk"} or is_about_full_place(verdict):
        return ""
    if verdict.cause == "data_cache":
        return tr("Probably a dataset cache; this is not proven")
    fitting = tr("Likely: this is the usual cause of such growth, but it is not proven here")
    if is_time or retainers_text(verdict):
        fitting = tr("Likely: it changed at the same time, but it is not proven to be the cause")
    texts = {
        "counted": tr("Measured: it grew over the same period"),
        "fitting": fitting,
        "open": tr("Cause unknown"),
    }
    return texts.get(verdict.sureness, "")


def slope_text(verdict: Verdict) -> str:
    """Slope, its interval and its window; empty before anything was judged."""
    if verdict.slope is None or verdict.slope_low is None or verdict.slope_high is None:
        return ""
    unit = METRIC_UNITS[verdict.metric]
    rate = rate_text(verdict.slope, unit, unit_name(verdict))
    low, high = (_change(verdict, end) for end in (verdict.slope_low, verdict.slope_high))
    text = tr("{rate} (95% interval {low} to {high})").format(rate=rate, low=low, high=high)
    if verdict.metric in COUNTED_METRICS:  # a count has no interval, but a least and a most
        text = (
            rate
            if low == high
            else tr("{rate} ({low} to {high})").format(rate=rate, low=low, high=high)
        )
    window = units_text(verdict.window, verdict)
    if verdict.metric in COUNTED_METRICS:  # it may have grown for longer
        return tr("{slope}, over the last {window}").format(slope=text, window=window)
    return tr("{slope}, over {window}").format(slope=text, window=window)


def grew_with_lines(verdict: Verdict) -> list[str]:
    """Counters that grew over the same units, one line each."""
    return [correlated_growth_text(one, verdict) for one in verdict.grew_with]


def no_growth_reason(verdict: Verdict) -> str:
    """Reason why a rise is not reported as growth; empty if it is, or nothing was judged."""
    if verdict.metric in TIME_METRICS and verdict.why_not in {"steps", "bending"}:
        return ""  # said of buffers and caches, which are memory
    texts = {
        "too_small": tr("the change is small, or within the noise"),
        "no_trend": tr("there is no lasting trend"),
        "steps": tr("it is rising in a few jumps, as buffers do"),
        "slowing": tr("its growth is slowing down"),
        "bending": tr("its growth is leveling off, like that of a cache"),
        "stopped": tr("it rose earlier, but not recently"),
    }
    return texts.get(verdict.why_not, "")


def advice_of(verdict: Verdict, backend: str = "") -> list[VerdictAdvice]:
    """Return possible remedies, the mildest first; none while nothing grows.

    Args:
        backend: Keras backend of the run; empty: unknown.
    """
    limit = limit_advice_text(verdict)
    found = [_advice(code, verdict, backend) for code in verdict.advice]
    for part in verdict.slower_parts[1:]:
        of_part = replace(verdict, where=part.where, name=part.name, since=part.since)
        found += [_advice(code, of_part, backend) for code in part.advice]
    return [*([VerdictAdvice(limit)] if limit else []), *(each for each in found if each)]


def evidence_lines(verdict: Verdict) -> list[str]:
    lines = [slope_text(verdict), jump_text(verdict)]
    if verdict.state in {"steady", "cleared"}:
        lines.append(no_growth_reason(verdict))
    if verdict.kept is not None and is_about_full_place(verdict):
        lines.append(full_place_text(verdict, verdict.kept))
    grew = grew_with_lines(verdict)
    if verdict.cause == "data_cache":
        rise = bytes_text(sum(one.per_unit for one in verdict.grew_with))
        lines.append(
            tr("It rose by more than {rise} in the first epoch and has hardly risen since").format(
                rise=rise
            )
        )
    elif grew and verdict.metric not in COUNTED_METRICS:
        lines.append(tr("Grew along with it: {what}").format(what="; ".join(grew)))
    if verdict.metric in TIME_METRICS:
        lines += time_part_lines(verdict)
    lines += [growing_part_text(verdict), trace_change_text(verdict), confidence_text(verdict)]
    lines.append(tried_text(verdict))
    return [line for line in lines if line]


def verdict_log_text(verdict: Verdict, *, has_unit: bool = False) -> str:
    """Verdict with its metric: "RAM: growing".

    Args:
        has_unit: True to name the epoch or fit after which it was made: "RAM after epoch 12:
            growing". In the window there is no room, and charts show it.
    """
    name = metric_name(verdict.metric, on_host=verdict.on_host)
    # Other units are parts of an epoch, which nothing numbers for the user.
    if has_unit and verdict.unit and verdict.per in {"epoch", "fit"}:
        name = tr("{metric} after {unit} {n}").format(
            metric=name, unit=unit_name(verdict), n=count_text(verdict.unit)
        )
    return f"{name}: {verdict_headline(verdict)}"


def units_text(n: float, verdict: Verdict) -> str:
    """Number of units: "1 epoch", "14 fits"."""
    names = {
        "step": tr("steps"),
        "call": tr("calls"),
        "epoch": tr("epochs"),
        "fit": tr("fits"),
        "fold": tr("folds"),
    }
    return f"{count_text(n)} {unit_name(verdict) if n == 1 else names[verdict.per]}"


def _advice(code: str, verdict: Verdict, backend: str) -> VerdictAdvice | None:
    name = verdict.name or tr("the function")
    known = {
        "collect": VerdictAdvice(tr("Collect"), "collect"),
        "reload": VerdictAdvice(tr("Reload"), "reload"),
        "restart": VerdictAdvice(tr("Restart"), "restart"),
        "diagnose": VerdictAdvice(tr("Diagnose"), "diagnose"),
        "tensors_not_numbers": VerdictAdvice(
            tr(
                "pass tensors instead of Python numbers to {name}, and the same Python objects"
                " each time"
            ).format(name=name)
        ),
        "function_once": VerdictAdvice(
            tr("create {name} once, outside the loop").format(name=name)
        ),
        "one_shape": VerdictAdvice(
            tr(
                "always pass {name} batches of the same shape, or give it an input_signature "
                "with None for the dimensions that vary"
            ).format(name=name)
        ),
        "pad": VerdictAdvice(tr("pad batches to a few shapes, or bucket them by length")),
        "no_jit": VerdictAdvice(tr("compile the model with jit_compile=False")),
        "run_folds": VerdictAdvice(
            tr("train each model in its own process: kmonitor_agent.run_folds()")
        ),
        "collect_each": VerdictAdvice(tr("call kmonitor_agent.collect() after each model")),
        "collect_each_fit": VerdictAdvice(tr("call kmonitor_agent.collect() after each fit")),
        "compile_once": VerdictAdvice(tr("compile the model once, outside the loop")),
        "build_once": VerdictAdvice(tr("build the model and optimizer once, outside the loop")),
    }
    text = (
        time_advice_text(code, verdict, backend)
        or kept_advice_text(code, verdict)
        or counted_advice_text(code)
    )
    return VerdictAdvice(text) if text else known.get(code)


def _change(verdict: Verdict, value: float) -> str:
    return change_text(value, METRIC_UNITS[verdict.metric])
