"""`collect()` and `collected()`: release of memory that dead models left behind, in any loop."""

import sys
import threading
import weakref
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final

from kmonitor_agent.frameworks.base import Framework, KerasModel
from kmonitor_agent.frameworks.callback_base import not_converted
from kmonitor_agent.frameworks.detection import framework_for, loaded_frameworks
from kmonitor_agent.frameworks.live_objects import models_in_use, models_with_functions
from kmonitor_agent.guard import describe_exception
from kmonitor_agent.probes.held_memory import read_held
from kmonitor_agent.reclaim import actions
from kmonitor_agent.reclaim.actions import collect_garbage, return_free_pages
from kmonitor_agent.reclaim.deferred_signals import SIGNALS
from kmonitor_agent.reclaim.outcome import ReclaimOutcome
from kmonitor_agent.recording.action_results import count_text, counted_text, released_text
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.messages.events import Footprint
from kmonitor_agent.wire.text import binary_size

_NO_KERAS: Final = "Keras is not imported in this process: only Python's garbage collector was run"

_acting = threading.Lock()
"""Held while a framework's counters are used: they belong to one thread at a time."""


@dataclass(frozen=True, slots=True, repr=False)
class Collected:
    """Result of `collect()`. `print` shows it in one line.

    Attributes:
        ok: False if a framework could not be inspected, or releasing failed. True also without
            Keras; `why` then says so.
        seconds: Duration, seconds.
        released_traces: Number of released traces.
        released_models: Number of models that no longer exist, to which these traces belonged.
        disused_traces: Released traces of live models that no longer use them, for example because
            the model was compiled again.
        gone: Functions or compiled programs that were released together with garbage, such as "5
            compiled programs"; empty if there were none.
        before: State before: `ram_process_bytes` and `allocator_in_use_bytes`, bytes;
            `graph_operations`, number of operations in live traces; `functions`, number of
            functions. A value that could not be read is None.
        after: The same values afterwards.
        held: Traces that are still held, with their holders, as text.
        why: Failures and omissions, as text; empty if there were none.
    """

    ok: bool
    seconds: float
    released_traces: int = 0
    released_models: int = 0
    disused_traces: int = 0
    gone: str = ""
    before: Footprint = field(default_factory=Footprint)
    after: Footprint = field(default_factory=Footprint)
    held: tuple[str, ...] = ()
    why: str = ""

    def __str__(self) -> str:  # pyright: ignore[reportImplicitOverride]
        """Return the released items, memory before and after, items still held, and failures.

        For example "released 16 traces of 3 dead models (2 100 operations), RAM 732.0 MiB ->
        598.1 MiB; still held: 12 traces held by `my_step` (a tf.function in the script, 12
        shapes)".
        """
        parts = [", ".join([_released(self), *_memory(self)])]
        if self.held:
            parts.append(f"still held: {', '.join(self.held)}")
        if self.why:
            parts.append(self.why)
        return "; ".join(parts)

    def __repr__(self) -> str:  # pyright: ignore[reportImplicitOverride]
        return str(self)  # notebooks show it


@not_converted
def collect() -> Collected:
    """Release traces of models that no longer exist, collect garbage, and return free pages.

        for config in configs:
            model = build(config)
            model.fit(x, y)
            del model
            print(collect())

    Call it between the models of a loop, instead of `clear_session()`, which leaves the traced
    graphs of each trained model in memory. Live models and every `tf.function` of the script keep
    their traces, and no training changes its result. It is safe anywhere, also while other threads
    train. It needs no callback and no hub; with a callback, the window shows the result. In a loop
    without `fit`, the second call begins the run of a `MonitorCallback` that was created before.

    Returns:
        Numbers of released traces, memory before and after, and failures. It never raises: `why`
        names failures and omissions.
    """
    with SIGNALS.delivered_after():
        collected_outcome = _collect_with()
        _report_to_runs(collected_outcome)
    return collected_outcome


@not_converted
def collected() -> AbstractContextManager[list[Collected]]:
    """Context manager for the whole life of a model: its traces are released at the end.

        with collected() as results:
            model = build()
            model.fit(x, y)
        print(results[0])

    Unlike with `collect()`, the models can still have a name at the end of the block. A model
    that was first used in the block (`fit`, `evaluate`, `predict`) loses its traced step
    functions; Keras creates new ones if it is used again. One in use at that moment keeps them.

    Returns:
        A context manager for one `with` statement. `as` gives a list, empty during the block, that
        contains one `Collected` afterwards.
    """
    return _Block()


class _Block:
    def __init__(self) -> None:
        self._outcomes: list[Collected] | None = None
        self._before: list[weakref.ref[KerasModel]] | None = None

    def __enter__(self) -> list[Collected]:
        if self._outcomes is not None:
            raise RuntimeError(
                "the result of collected() can be used for only one block; write `with "
                "collected():` again for each block"
            )
        self._outcomes = []
        self._before = _fitted_before()
        return self._outcomes

    def __exit__(self, *_: object) -> None:
        with SIGNALS.delivered_after():
            outcome = _collect_with(self._before)
            if self._outcomes is not None:
                self._outcomes.append(outcome)
            _report_to_runs(outcome)


def _fitted_before() -> "list[weakref.ref[KerasModel]] | None":
    try:
        return [weakref.ref(model) for model in models_with_functions()]
    except Exception:  # noqa: BLE001 - a guest: what cannot be read is left alone
        return None


def _collect_with(before_block: "list[weakref.ref[KerasModel]] | None" = None) -> Collected:
    """Collect in every framework that is imported.

    Args:
        before_block: Models that had step functions when the block began: all others lose theirs.
            None: no model is touched.
    """
    clock = SystemClock()
    began_s = clock.monotonic_s()
    notes: list[str] = []
    with _acting:
        if before_block is not None:
            notes += _drop_functions(before_block)
        frameworks = _frameworks(notes)
        outcomes = [actions.collect(framework, None) for framework in frameworks]
    gone = ", ".join(filter(None, map(_gone, frameworks, outcomes)))
    if not outcomes:
        outcomes = [_without_keras()]
    return _joined(outcomes, notes, gone=gone, seconds=clock.monotonic_s() - began_s)


def _frameworks(notes: list[str]) -> list[Framework]:
    try:
        return loaded_frameworks()
    except Exception as exc:  # noqa: BLE001 - a guest: noted in the record
        notes.append(f"the framework could not be inspected: {describe_exception(exc)}")
        return []


def _drop_functions(before_block: "list[weakref.ref[KerasModel]]") -> list[str]:
    try:
        known = {id(model) for each in before_block if (model := each()) is not None}
        in_use = models_in_use()
        fitted = [model for model in models_with_functions() if id(model) not in known]
        for model in fitted:
            steps = framework_for(model).reclaim_steps()
            if id(model) not in in_use and steps is not None:
                steps.drop_functions(model)
        used = sum(1 for model in fitted if id(model) in in_use)
    except Exception as exc:  # noqa: BLE001 - a guest: noted in the record
        return [f"the block's models were not released: {describe_exception(exc)}"]
    are = "is in use and was" if used == 1 else "are in use and were"
    return [f"{used} of the block's models {are} left alone"] if used else []


def _without_keras() -> ReclaimOutcome:
    before = Footprint(ram_process_bytes=read_held().value)
    collect_garbage()
    return_free_pages()
    after = Footprint(ram_process_bytes=read_held().value)
    return ReclaimOutcome(
        ok=True, action="collect", seconds=0.0, before=before, after=after, why=_NO_KERAS
    )


def _gone(framework: Framework, outcome: ReclaimOutcome) -> str:
    # Other than a trace that TensorFlow retains, a program of JAX goes as soon as its model does.
    before = outcome.before.functions
    after = None if outcome.after is None else outcome.after.functions
    if before is None or after is None or after >= before:
        return ""
    is_jax = framework.info().backend == "jax"
    return counted_text(before - after, "compiled program" if is_jax else "function")


def _joined(
    outcomes: Sequence[ReclaimOutcome], notes: list[str], *, gone: str, seconds: float
) -> Collected:
    whys = dict.fromkeys([*notes, *(outcome.why for outcome in outcomes if outcome.why)])
    return Collected(
        ok=all(outcome.ok for outcome in outcomes),
        seconds=seconds,
        released_traces=sum(outcome.released_traces for outcome in outcomes),
        released_models=sum(outcome.released_models for outcome in outcomes),
        disused_traces=sum(outcome.disused_traces for outcome in outcomes),
        gone=gone,
        before=outcomes[0].before,
        after=outcomes[-1].after or outcomes[-1].before,
        held=tuple(dict.fromkeys(line for outcome in outcomes for line in outcome.held)),
        why="; ".join(whys),
    )


def _report_to_runs(outcome: Collected) -> None:
    # Only where a callback has made a run: without one nobody is interested.
    runs: Any = sys.modules.get("kmonitor_agent.recording.runs")
    if runs is not None:
        runs.RUNS.report_collected(
            ReclaimOutcome(
                ok=outcome.ok,
                action="collect",
                seconds=outcome.seconds,
                before=outcome.before,
                after=outcome.after,
                released_traces=outcome.released_traces,
                released_models=outcome.released_models,
                disused_traces=outcome.disused_traces,
                held=outcome.held,
                why=outcome.why,
            )
        )


def _released(outcome: Collected) -> str:
    if outcome.released_traces:
        text = released_text(
            outcome.released_traces, outcome.released_models, outcome.disused_traces
        )
    elif outcome.gone:
        text = f"{outcome.gone} released"
    else:
        return "nothing to release"
    before = outcome.before.graph_operations
    after = outcome.after.graph_operations
    if before is None or after is None or after >= before:
        return text
    return f"{text} ({count_text(before - after)} operations)"


def _memory(outcome: Collected) -> list[str]:
    before = outcome.before.ram_process_bytes
    after = outcome.after.ram_process_bytes
    if before is None or after is None:
        return []
    return [f"RAM {binary_size(before)} -> {binary_size(after)}"]
