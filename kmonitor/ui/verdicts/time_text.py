"""Verdicts on times as text: the start of the increase, and the part that causes it."""

from typing import Final

from kmonitor.ui.runs.epoch_parts import part_name, spent_text
from kmonitor.ui.runs.step_times import fewer_collections_text
from kmonitor.ui.text.formats import amount_text, count_text, percent_text, rate_text
from kmonitor.ui.text.language import tr
from kmonitor.ui.text.metrics import METRIC_UNITS
from kmonitor_agent.wire.messages.events import EPOCH_PARTS, Verdict
from kmonitor_agent.wire.messages.verdict_events import (
    ALARMED_STATES,
    KINDS_DIFFER,
    RECENT_UNITS,
    STEPS_DIFFER,
    SlowerPart,
)

_SLOWER: Final = ALARMED_STATES | {"rising", "slowing"}
_CHECKPOINTS_OF_KERAS: Final = frozenset({"ModelCheckpoint", "BackupAndRestore"})


def unit_name(verdict: Verdict) -> str:
    """Name of one unit: "epoch", "fit", "fold", "step" or "call"."""
    names = {
        "step": tr("step"),
        "call": tr("call"),
        "epoch": tr("epoch"),
        "fit": tr("fit"),
        "fold": tr("fold"),
    }
    return names[verdict.per]


def slower_since_text(verdict: Verdict) -> str:
    """Start of the slowdown: "slower since epoch 3"."""
    number = count_text(verdict.since)
    return tr("slower since {unit} {n}").format(unit=unit_name(verdict), n=number)


def jump_text(verdict: Verdict) -> str:
    """Size of a slowdown and its start; empty if there is none."""
    if not verdict.since:
        return ""
    return tr("{rise} slower since {unit} {n}").format(
        rise=amount_text(verdict.rise, METRIC_UNITS[verdict.metric]),
        unit=unit_name(verdict),
        n=count_text(verdict.since),
    )


def time_cause_text(verdict: Verdict) -> str:
    """Part that takes longer, or most of the time; empty for causes that are not about times."""
    if verdict.cause == "retracing":
        name = verdict.name or tr("functions")
        return tr("the number of traces of {name} is growing").format(name=name)
    if verdict.cause == "unknown":
        return _open_text(verdict)
    if verdict.cause == "traced_again":
        text = tr("a function was replaced or traced again in that {unit}")
        text = text.format(unit=unit_name(verdict))
        return f"{_more_time_text(verdict)}; {text}" if verdict.where else text
    if verdict.cause == "own_work":
        text = tr("the training process itself takes more CPU time")
        return f"{_more_time_text(verdict)}; {text}" if verdict.where else text
    if verdict.cause == "part":
        return _part_text(verdict)
    texts = {
        "throttled": tr("its cgroup is being throttled more and more"),
        "clock": tr("the CPU is running at a lower clock speed"),
        "busy": tr("it waits longer for a CPU, which other processes or its own workers use"),
        "garbage": tr("garbage collections are taking longer as the number of objects grows"),
    }
    return texts.get(verdict.cause, "")


def _open_text(verdict: Verdict) -> str:
    """For example "more time is spent on compute; cause unknown; ruled out: callbacks, traces"."""
    others = {
        "traces": tr("traces"),
        "pressure": tr("memory pressure"),
        "throttled": tr("throttling"),
        "clock": tr("clock speed"),
        "busy": tr("waiting for a CPU"),
        "garbage": tr("garbage collections"),
    }
    text = tr("cause unknown")
    if verdict.ruled_out and verdict.state != "rising":  # other ones are after each unit
        names = [
            part_name(name) if name in EPOCH_PARTS else others.get(name, name)
            for name in verdict.ruled_out
        ]
        left = [name for code, name in others.items() if code not in verdict.ruled_out]
        text = tr("cause unknown; ruled out: {what}").format(what=", ".join(names))
        if left:
            text = tr("{text}; not excluded: {what}").format(text=text, what=", ".join(left))
    if not verdict.where:
        return text
    return f"{_more_time_text(verdict)}; {text}"


def _more_time_text(verdict: Verdict) -> str:
    callback = verdict.name if verdict.cause == "part" else ""
    places = [spent_text(each.where, each.name) for each in verdict.slower_parts]
    places = places or [spent_text(verdict.where, callback)]
    where = places.pop(0)
    for other in places:
        where = tr("{where} and {other}").format(where=where, other=other)
    return tr("more time is spent {where}").format(where=where)


def _part_text(verdict: Verdict) -> str:
    if verdict.state in _SLOWER:
        return _more_time_text(verdict)
    units = {
        "epoch": tr("{share} of the time in the last {n} epochs was spent {where}"),
        "fit": tr("{share} of the time in the last {n} fits was spent {where}"),
        "fold": tr("{share} of the time in the last {n} folds was spent {where}"),
    }
    text = units.get(verdict.per, tr("{share} of the time was spent {where}"))
    return text.format(
        where=spent_text(verdict.where, verdict.name),
        share=percent_text(verdict.where_part or 0.0),
        n=RECENT_UNITS,
    )


def time_part_lines(verdict: Verdict) -> list[str]:
    """Fractions of the slowdown that parts cause, one line each; empty if they are not known.

    Several parts have each its own rate, or its own rise.
    """
    text = tr("{share} of the additional time is spent {where}")
    parts = [(each.share, each.where, _size_text(each, verdict)) for each in verdict.slower_parts]
    if verdict.cause == "part" and verdict.state in _SLOWER and not parts:
        parts = [(verdict.where_part or 0.0, verdict.where, "")]
    lines = (
        (text.format(share=percent_text(share), where=spent_text(where)), size)
        for share, where, size in parts
    )
    return [f"{line}: {size}" if size else line for line, size in lines]


def _size_text(part: SlowerPart, verdict: Verdict) -> str:
    unit = METRIC_UNITS[verdict.metric]
    if part.slope is not None:
        return rate_text(part.slope, unit, unit_name(verdict))
    return tr("{rise} more since {unit} {n}").format(
        rise=amount_text(part.rise, unit), unit=unit_name(verdict), n=count_text(part.since)
    )


def _less_often_text(verdict: Verdict) -> str:
    text = tr("run {name} less often, for example, every n steps or epochs")
    if verdict.state not in _SLOWER:  # it may well be what the callback is for
        text = tr(
            "if that is more than you want, run {name} less often, for example, every n steps or"
            " epochs"
        )
    return text.format(name=verdict.name or tr("the callback"))


def _advice_without_forks(code: str) -> str:
    """Advice for JAX, which warns that a fork may deadlock: it runs several threads."""
    texts = {
        "no_python_map": tr(
            "Python code in map() (py_function, numpy_function) runs one call at a time: use"
            " TensorFlow operations, or a PyDataset with workers"
        ),
        "no_from_generator": tr(
            "from_generator() runs one call at a time: read the data with TensorFlow operations,"
            " or with a PyDataset with workers"
        ),
        "more_workers": tr("load batches in parallel: more workers of the PyDataset"),
        "loader_workers": tr(
            "load batches in parallel: a higher num_workers of the DataLoader, with"
            ' multiprocessing_context="spawn"'
        ),
    }
    return texts.get(code, "")


def _input_advice_text(code: str) -> str:
    texts = {
        "prefetch": tr(
            "prefetch batches: dataset.prefetch(), map(num_parallel_calls=AUTOTUNE), cache(),"
            " or workers of a PyDataset"
        ),
        "prefetch_dataset": tr(
            "prefetch batches: dataset.prefetch(), map(num_parallel_calls=AUTOTUNE) or cache()"
        ),
        "parallel_map": tr(
            "create batches in parallel: map(num_parallel_calls=AUTOTUNE), or keep them: cache()"
            " (the dataset prefetches already)"
        ),
        "add_prefetch": tr(
            "prefetch batches: dataset.prefetch() (the dataset maps in parallel already)"
        ),
        "keep_batches": tr(
            "keep what is the same in each epoch: cache(), or prepare it once before training (the"
            " dataset prefetches and maps in parallel already)"
        ),
        "no_python_map": tr(
            "Python code in map() (py_function, numpy_function) runs one call at a time: use"
            " TensorFlow operations, or a PyDataset with workers and use_multiprocessing=True"
        ),
        "no_from_generator": tr(
            "from_generator() runs one call at a time: read the data with TensorFlow operations,"
            " or with a PyDataset with workers and use_multiprocessing=True"
        ),
        "more_workers": tr(
            "load batches in parallel: more workers of the PyDataset, with"
            " use_multiprocessing=True if Python code is what takes the time"
        ),
        "no_generator": tr(
            "load batches in parallel: a tf.data.Dataset or a PyDataset with workers instead of"
            " the generator"
        ),
        "loader_workers": tr("load batches in parallel: a higher num_workers of the DataLoader"),
        "repeat": tr(
            "most of it is spent starting the data iterator in each epoch: use dataset.repeat() "
            "with steps_per_epoch"
        ),
        "keep_workers": tr(
            "most of it is spent starting the workers in each epoch: use a DataLoader with "
            "persistent_workers=True"
        ),
    }
    return texts.get(code, "")


def _kept_place(verdict: Verdict) -> str:
    """A place that keeps more and more objects while times grow; empty if there is none."""
    kept = (one.name for one in verdict.grew_with if one.kind.startswith("kept") and one.name)
    return next(kept, "")


def limit_advice_text(verdict: Verdict) -> str:
    """Advice to limit a place that grew along with a part of the time; empty for other causes."""
    place = _kept_place(verdict)
    # The advice on checkpoints has it already.
    is_slower = verdict.cause == "part" and verdict.state in _SLOWER
    if not is_slower or verdict.where == "checkpoints" or not place:
        return ""
    return tr("limit {place}, which is growing, if it is used there").format(place=place)


def _save_less_text(verdict: Verdict) -> str:
    place = _kept_place(verdict)
    if place:
        return tr(
            "save less often, and if {place} is saved too, which is growing, limit it"
        ).format(place=place)
    if verdict.state in _SLOWER and not verdict.since:  # weights do not grow
        return tr("save less often, or keep fewer files if their number grows")
    if verdict.name and verdict.name not in _CHECKPOINTS_OF_KERAS:
        return tr(
            "save less often, keep fewer files, or save only the weights if whole models are saved"
        )
    return tr("save less often, or save only the weights if whole models are saved")


def time_advice_text(code: str, verdict: Verdict, backend: str = "") -> str:
    """Advice on a part that takes long; empty for other advice.

    Args:
        backend: Keras backend of the run; empty: unknown.
    """
    texts = {
        "each_nth": _less_often_text(verdict),
        "more_cpu": tr("give it more CPUs, or start fewer threads and workers"),
        "clock_speed": tr("check cooling, power limits and the CPU governor"),
        "fewer_collections": fewer_collections_text(),
        "save_less": _save_less_text(verdict),
        "validate_less": tr(
            "validate less often (validation_freq), or on fewer batches (validation_steps)"
        ),
        "look_between": tr(
            "check what the script does there, such as reading or writing a whole file"
        ),
        "look_at_change": tr(
            "check what the script changed there: compile(), trainable, or a new function;"
            " training more layers takes longer"
        ),
        "look_at_work": tr(
            "check what train_step, layers, losses or metrics do more of, such as larger inputs,"
            " or a list that gets longer"
        ),
        "look_at_data": tr(
            "check on_epoch_end() of the PyDataset: Keras calls it after an epoch's last step"
        ),
    }
    without_forks = _advice_without_forks(code) if backend == "jax" else ""
    return texts.get(code) or without_forks or _input_advice_text(code)


NOT_COMPARED: Final = frozenset({KINDS_DIFFER, STEPS_DIFFER})
"""Reasons for which units are not compared with each other."""


def not_compared_text(verdict: Verdict) -> str:
    """Reason why step times have no verdict."""
    if verdict.why_not == KINDS_DIFFER:
        return tr("each fit has another model or batch size")
    if verdict.per == "epoch":
        return tr("the number of steps changes; only epochs with the same number are compared")
    return tr("the number of steps changes; only fits with the same number are compared")
