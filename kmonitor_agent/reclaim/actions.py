"""Save, collect and reload of a model, on the training thread, in a running `fit` or between two.

None of these functions raises. When a step fails, the model stays or is restored as it was and
training continues; the outcome names the failure. A reload saves the state, drops the step
functions, clears Keras' session and restores the state; whatever fails on the way, the fit gets
its step functions back.
"""

import contextlib
import ctypes
import gc
import sys
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from kmonitor_agent import guard
from kmonitor_agent.frameworks.base import (
    ChecksRetracing,
    Framework,
    HasModelParts,
    HoldsValues,
    KerasModel,
    ReclaimSteps,
    RecreatesVariables,
    ReleasedTraces,
    StateUnreadable,
    StateVariable,
    VetoesActions,
)
from kmonitor_agent.frameworks.model_building import model_architecture
from kmonitor_agent.probes.held_memory import read_held
from kmonitor_agent.reclaim.checkpoint_file import Checksum
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag, NotACheckpoint, VariableToStore
from kmonitor_agent.reclaim.checkpoints import (
    Checkpoint,
    CheckpointStore,
    ExportFailed,
    SaveRefused,
    export_model,
)
from kmonitor_agent.reclaim.deferred_signals import SIGNALS
from kmonitor_agent.reclaim.outcome import (
    ReclaimAction,
    ReclaimOutcome,
    freed_something,
    nothing_freed_text,
)
from kmonitor_agent.reclaim.state_store import InMemoryStateStore, ReloadAgreement, StateStore
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.local.free_resources import MIB, is_memory_short
from kmonitor_agent.wire.messages.commands import ReloadMode
from kmonitor_agent.wire.messages.events import Footprint

_MOST_WHY: Final = 4000


def save(
    framework: Framework,
    model: KerasModel,
    store: CheckpointStore,
    *,
    tag: CheckpointTag,
    export: bool = False,
) -> ReclaimOutcome:
    """Write the model's exact state to the store; nothing else changes.

    Args:
        model: The model, in training or not.
        tag: Position in the run.
        export: True to write a `.keras` file beside the checkpoint; if that fails the checkpoint
            is kept, and the outcome says why.
    """

    def work(run: _ActionContext) -> None:
        _, checkpoint = _save(run, store, tag, architecture=model_architecture(model))
        _name_not_saved(run)
        if export:
            _export(run, store, checkpoint)

    return _act("save", framework, model, work)


def collect(framework: Framework, model: KerasModel | None) -> ReclaimOutcome:
    """Release traces of dead models, collect garbage and give free pages back."""
    return _act("collect", framework, model, _collect)


def reload(
    framework: Framework,
    model: KerasModel,
    store: CheckpointStore,
    *,
    tag: CheckpointTag,
    mode: ReloadMode | None = None,
    agreement: ReloadAgreement | None = None,
) -> ReclaimOutcome:
    """Save, drop the model's functions, clear the session, restore: training continues unchanged.

    Args:
        model: The model, in training or not.
        tag: Position in the run.
        mode: "assign" restores into the existing variables. "recreate" creates new ones if that is
            safe, else the outcome says why not. None: "assign".
        agreement: Agreement with the other workers that train the model; None: there are none. A
            worker that is not the chief keeps the state in memory and writes nothing.
    """
    state_store = store if agreement is None or agreement.is_chief else InMemoryStateStore()

    def work(run: _ActionContext) -> None:
        had_functions = save_and_restore(run, state_store, tag, mode or "assign", agreement)
        _name_not_saved(run)
        _judge_reload(run, had_functions=had_functions)

    return _act("reload", framework, model, work, is_alone=agreement is None)


def skipped_reload(framework: Framework, model: KerasModel, why: str) -> ReclaimOutcome:
    """Outcome of a reload that was not started, for this reason."""

    def work(run: _ActionContext) -> None:
        raise _ActionFailed(why)

    return _act("reload", framework, model, work, is_alone=False)


def predict_reload_effect(framework: Framework, model: KerasModel) -> str:
    """Effect of a reload on this model's result, as text, before one is requested.

    Known once a step was traced. Empty if a reload is exact, or the effect is unknown.
    """
    try:
        steps = framework.reclaim_steps()
        return "" if steps is None else steps.inexact(model)
    except Exception:  # noqa: BLE001 - a guess that fails must never end the training
        return ""


class _ActionFailed(Exception):
    """An action that was not completed; `why` is for the user."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(slots=True)
class _ActionContext:
    framework: Framework
    steps: ReclaimSteps
    model: KerasModel
    outcome: ReclaimOutcome
    notes: list[str]
    held_values: list[Any] = field(default_factory=list[Any])
    """Values of the state that are held in the variables' own memory; empty if they are not."""

    def update_outcome(self, **known: Any) -> None:
        self.outcome = replace(self.outcome, **known)

    def measure(self) -> None:
        """Take the footprint after the action."""
        self.update_outcome(after=read_footprint(self.framework, self.model))


def _act(
    action: ReclaimAction,
    framework: Framework,
    model: KerasModel | None,
    work: Callable[[_ActionContext], None],
    *,
    is_alone: bool = True,
) -> ReclaimOutcome:
    clock = SystemClock()
    started_s = clock.monotonic_s()
    nothing = ReclaimOutcome(ok=False, action=action, seconds=0.0, before=Footprint())
    context: _ActionContext | None = None
    SIGNALS.watch()
    try:
        nothing = replace(nothing, before=read_footprint(framework, model))
        steps = _steps(framework, model if is_alone else None, action)
        context = _ActionContext(framework, steps, model, replace(nothing, ok=True), [])
        work(context)
        outcome = replace(context.outcome, why="; ".join(context.notes)[:_MOST_WHY])
    except (_ActionFailed, SaveRefused, StateUnreadable) as exc:
        outcome = _failed(context, nothing, exc.why)
    except Exception as exc:  # noqa: BLE001 - a reclaim that fails must never end the training
        outcome = _failed(context, nothing, _failure_text(exc))
    return replace(outcome, seconds=clock.monotonic_s() - started_s)


def _steps(framework: Framework, model: KerasModel | None, action: ReclaimAction) -> ReclaimSteps:
    steps = framework.reclaim_steps()
    why = framework.info().unavailable.get(action, "")
    if steps is None or why:
        raise _ActionFailed(why or f"{action} is not available here")
    if model is not None and isinstance(steps, VetoesActions):
        why = steps.why_vetoed(model, action)
        if why:
            raise _ActionFailed(why)
    return steps


def _failed(context: _ActionContext | None, nothing: ReclaimOutcome, why: str) -> ReclaimOutcome:
    known = context.outcome if context is not None else nothing
    notes = context.notes if context is not None else []
    return replace(known, ok=False, why="; ".join([why, *notes])[:_MOST_WHY])


def _failure_text(exc: BaseException) -> str:
    """Reason why an action failed, for the user."""
    if isinstance(exc, _ActionFailed):
        return exc.why
    if isinstance(exc, NotACheckpoint):
        return f"the checkpoint is damaged: {exc.why}"
    return guard.describe_exception(exc)


def _save(
    context: _ActionContext,
    store: StateStore,
    tag: CheckpointTag,
    *,
    architecture: str = "",
    drop: bool = True,
    held: bool = False,
) -> tuple[list[StateVariable], Checkpoint]:
    state = context.steps.state(context.model)
    context.held_values = _hold_values(context, state) if held else []
    values = context.held_values or [each.variable for each in state]
    pairs = zip(state, values, strict=True)
    stored = [VariableToStore(each.path, each.n_bytes, value) for each, value in pairs]
    read = _itself if context.held_values else context.steps.read
    checkpoint = store.save(stored, read, tag=tag, architecture=architecture, drop=drop)
    context.update_outcome(
        variables=len(state),
        state_bytes=checkpoint.state_bytes,
        checkpoint=checkpoint.path.name,
        checksum=checkpoint.checksum,
    )
    return state, checkpoint


def _itself(value: Any) -> Any:
    return value


def _export(context: _ActionContext, store: CheckpointStore, checkpoint: Checkpoint) -> None:
    try:
        if isinstance(context.steps, VetoesActions) and (
            why := context.steps.why_vetoed(context.model, "export")
        ):
            raise ExportFailed(why)  # noqa: TRY301 - as when Keras cannot
        exported = export_model(context.model, checkpoint.path, store.free_bytes)
    except ExportFailed as exc:
        context.notes.append(f"saved, but not exported: {exc.why}")
    else:
        context.update_outcome(export=exported.name)


def _name_not_saved(context: _ActionContext) -> None:
    if isinstance(context.steps, HasModelParts):
        context.update_outcome(not_saved=context.steps.not_saved(context.model))


def _collect(context: _ActionContext) -> None:
    SIGNALS.hold()
    collect_garbage()
    _release(context)
    collect_garbage()
    return_free_pages()
    context.measure()
    if not freed_something(context.outcome):
        context.update_outcome(unchanged=nothing_freed_text(context.outcome))


def _release(context: _ActionContext) -> bool:
    """Release retained traces; True if there were any, which a garbage collection now frees."""
    released: ReleasedTraces = context.steps.release_retained()
    context.update_outcome(
        released_traces=context.outcome.released_traces + released.traces,
        released_models=context.outcome.released_models + released.models,
        disused_traces=context.outcome.disused_traces + released.disused,
        held=released.held,
    )
    note = f"retained traces not released: {released.why}"
    if released.why and note not in context.notes:
        context.notes.append(note)
    return released.traces > 0


def save_and_restore(
    context: _ActionContext,
    store: StateStore,
    tag: CheckpointTag,
    mode: ReloadMode,
    agreement: ReloadAgreement | None,
) -> bool:
    """Reload; True if the model had step functions of Keras, which were recreated."""
    if inexact := context.steps.inexact(context.model):
        context.notes.append(inexact)
    with contextlib.nullcontext() if inexact else _traced_again(context, mode):
        state, checkpoint = _save(context, store, tag, drop=False, held=True)
        if agreement is not None and (why := agreement.all_prepared()):
            raise _ActionFailed(why)
        SIGNALS.hold()
        with store.dropping(), _without_step_functions(context) as dropped:
            clear_model(context)
            _restore_values(context, state, store, checkpoint, mode)
    context.measure()
    return bool(dropped)


_TRACE_BYTES: Final = 64 * MIB
"""Memory that must be free before a step is traced again, bytes: TensorFlow crashes without it."""


@contextlib.contextmanager
def _traced_again(context: _ActionContext, mode: ReloadMode) -> Generator[None]:
    """Trace new step functions that equal the old ones, ready to replace them in the block.

    Raises:
        _ActionFailed: The new step functions differ from the old ones.
    """
    steps = context.steps
    if not isinstance(steps, ChecksRetracing):
        yield
        return
    if is_memory_short(_TRACE_BYTES):
        short = f"less than {_TRACE_BYTES // MIB} MiB of memory is available"
        raise _ActionFailed(f"{short}, too little to trace the step again")
    try:
        for model in _models_of(context):
            if why := steps.trace_again(model):
                raise _ActionFailed(why)
        if mode == "recreate":  # which makes variables that they do not know
            steps.forget_traced()
        yield
    finally:
        steps.forget_traced()


def _models_of(context: _ActionContext) -> list[KerasModel]:
    return (
        context.steps.models_in(context.model)
        if isinstance(context.steps, HasModelParts)
        else [context.model]
    )


@contextlib.contextmanager
def _without_step_functions(context: _ActionContext) -> Generator[list[str]]:
    # Whatever happens between: a fit that goes on needs its step function.
    with contextlib.ExitStack() as stack:
        names: list[str] = []
        for model in _models_of(context):
            dropped = context.steps.drop_functions(model)
            stack.callback(context.steps.make_functions, model, dropped)
            names += dropped
        yield names


def clear_model(context: _ActionContext) -> None:
    _release(context)
    left_out = context.steps.clear_session()
    if left_out:
        context.notes.append(left_out)
    collect_garbage()
    # Traces of functions that only that collection released are dead since.
    if _release(context):
        collect_garbage()
    return_free_pages()


_NO_STEP: Final = (
    "Keras has not created a step function for this model, so there was nothing to reload"
)


def _judge_reload(context: _ActionContext, *, had_functions: bool) -> None:
    if freed_something(context.outcome) or context.outcome.mode == "recreate":
        return
    if not had_functions:
        # A loop that calls a step of the script's own: there was nothing to reload.
        raise _ActionFailed(f"{_NO_STEP}; {nothing_freed_text(context.outcome)}")
    context.update_outcome(unchanged=nothing_freed_text(context.outcome))


def _hold_values(context: _ActionContext, state: Sequence[StateVariable]) -> list[Any]:
    """Values held in place, so that `_restore_values` can check that they are unchanged.

    Or none.
    """
    held: list[Any] = []
    if isinstance(context.steps, HoldsValues):
        for state_variable in state:
            value = context.steps.hold(state_variable.variable)
            if value is None:
                return []
            held.append(value)
    return held


def _restore_values(
    context: _ActionContext,
    state: Sequence[StateVariable],
    store: StateStore,
    checkpoint: Checkpoint,
    mode: ReloadMode,
) -> None:
    """Give every variable its saved value, and note the mode of the restore.

    Raises:
        _ActionFailed: Restoring failed; the text says if the state is unchanged or damaged.
    """
    try:
        recreated = mode == "recreate" and _recreate(context, state, store, checkpoint)
        if not (recreated or _are_held(context, state)):
            _make_as_saved(context, state, store, checkpoint)
        context.update_outcome(mode="recreate" if recreated else "assign")
    except Exception as exc:  # noqa: BLE001 - whatever a framework raises; the state is judged below
        _settle(context, state, store, checkpoint, _failure_text(exc))


def _recreate(
    context: _ActionContext,
    state: Sequence[StateVariable],
    store: StateStore,
    checkpoint: Checkpoint,
) -> bool:
    """Recreate the variables if that is safe; True if it was."""
    steps = context.steps
    if not isinstance(steps, RecreatesVariables):
        why = "not available with this framework"
    else:
        why = steps.why_not_recreate(context.model, state)
        if not why:
            context.held_values = []  # else the old values would stay in memory
            is_seen = steps.recreate(context.model, state, partial(store.read, checkpoint))
            if not is_seen:
                _make_as_saved(context, state, store, checkpoint)
            return True
    context.notes.append(f"variables assigned, not recreated: {why}")
    return False


def _settle(
    context: _ActionContext,
    state: Sequence[StateVariable],
    store: StateStore,
    checkpoint: Checkpoint,
    why: str,
) -> None:
    # Variables are assigned in place: after a failure they mostly still hold what was saved.
    try:
        _make_as_saved(context, state, store, checkpoint)
        is_whole = True
    except Exception as exc:  # noqa: BLE001 - whatever a framework raises: the state is not whole
        is_whole = False
        why = f"{why}; {_failure_text(exc)}"
    if not is_whole:
        raise _ActionFailed(
            f"the state is damaged; stop training and load {checkpoint.path.name}: {why}"
        )
    raise _ActionFailed(f"restoring failed, but the state is unchanged: {why}")


def _are_held(context: _ActionContext, state: Sequence[StateVariable]) -> bool:
    """True if no variable was written to since it was saved; releases the held values."""
    steps, held, context.held_values = context.steps, context.held_values, []
    return (
        bool(held)
        and isinstance(steps, HoldsValues)
        and all(
            steps.is_held(each.variable, value) for each, value in zip(state, held, strict=True)
        )
    )


def _make_as_saved(
    context: _ActionContext,
    state: Sequence[StateVariable],
    store: StateStore,
    checkpoint: Checkpoint,
) -> None:
    # Variables that still have every bit of what was saved need no second writing.
    if not _is_as_saved(context, state, store, checkpoint):
        _assign(context, state, store, checkpoint)


def _assign(
    context: _ActionContext,
    state: Sequence[StateVariable],
    store: StateStore,
    checkpoint: Checkpoint,
) -> None:
    # No loop variable and no zip: either would hold one value while the next is read.
    values = store.read(checkpoint)
    for state_variable in state:
        context.steps.assign(state_variable.variable, next(values))
    if next(values, None) is not None:
        raise NotACheckpoint("it holds more variables than the model")
    if not _is_as_saved(context, state, store, checkpoint):
        raise _ActionFailed("the restored state differs from the saved one")


def _is_as_saved(
    context: _ActionContext,
    state: Sequence[StateVariable],
    store: StateStore,
    checkpoint: Checkpoint,
) -> bool:
    # Comparing is quicker; of a file that was damaged or removed since, the checksum is known.
    values = (context.steps.read(each.variable) for each in state)
    return store.holds(checkpoint, values) or _checksum(context, state) == checkpoint.checksum


def _checksum(context: _ActionContext, state: Sequence[StateVariable]) -> str:
    checksum = Checksum()
    for state_variable in state:
        checksum.add(context.steps.read(state_variable.variable))
    return checksum.text()


def read_footprint(framework: Framework, model: KerasModel | None) -> Footprint:
    """Memory and graph size now; unreadable values are None."""
    graph = framework.graph(model)
    has_functions = graph.operations is not None and framework.function_count().value is not None
    return Footprint(
        ram_process_bytes=read_held().value,
        allocator_in_use_bytes=framework.allocator().in_use.value,
        graph_operations=graph.operations,
        functions=graph.functions if has_functions else None,
        retained=graph.step_entries,
    )


def collect_garbage() -> None:
    """Free Python's unreachable objects, whatever the script's garbage collection settings are."""
    gc.collect()


def return_free_pages() -> None:
    """Ask the C library to return free pages; only glibc can."""
    if sys.platform != "linux":
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
    if trim is not None:
        trim(0)
