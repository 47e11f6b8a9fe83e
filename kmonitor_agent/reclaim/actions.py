"""Save, collect and reload, on the training thread, inside a running `fit` or between two.

None of them raises. When a step fails, the model is left or put back as it was and training goes
on; the outcome says what failed.
"""

import contextlib
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

from kmonitor_agent.frameworks.base import (
    Framework,
    KerasModel,
    KnowsParts,
    KnowsWorkers,
    ReclaimSteps,
    Released,
    StateUnreadable,
    StateVariable,
    TracesAgain,
)
from kmonitor_agent.frameworks.keras_architecture import architecture_of
from kmonitor_agent.reclaim.action_run import Failed, Run, described
from kmonitor_agent.reclaim.agreement import Agreement, StateKeeper
from kmonitor_agent.reclaim.checkpoint_file import StoredVariable, Tag
from kmonitor_agent.reclaim.checkpoints import Checkpoint, CheckpointStore, SaveRefused
from kmonitor_agent.reclaim.deferred_signals import SIGNALS
from kmonitor_agent.reclaim.effect import gave_back, why_nothing
from kmonitor_agent.reclaim.export import NotExported, export_model
from kmonitor_agent.reclaim.memory import collect_garbage, footprint, give_pages_back
from kmonitor_agent.reclaim.outcome import ActionName, Mode, Outcome
from kmonitor_agent.reclaim.put_back import hold, restore
from kmonitor_agent.reclaim.state_store import HeldState
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.local.free_resources import MIB, is_memory_short
from kmonitor_agent.wire.messages.events import Footprint

__all__ = ["Mode", "Outcome", "Tag", "collect", "foretell", "not_reloaded", "reload", "save"]

_MOST_WHY = 4000
_TRACE_BYTES = 64 * MIB
"""What has to be free before a step is traced again: TensorFlow crashes where there is none."""
_NO_STEP = "Keras has made no step function of this model, so there was nothing to reload"


def save(
    framework: Framework,
    model: KerasModel,
    store: CheckpointStore,
    *,
    tag: Tag,
    export: bool = False,
) -> Outcome:
    """Write the model's exact state to the store; nothing else changes.

    Args:
        framework: The model's.
        model: Being trained, or not.
        store: Where the state is saved.
        tag: Where in the run this is.
        export: Whether to write a `.keras` file beside it; if that fails the save stands, and the
            outcome says why.
    """

    def work(run: Run) -> None:
        _, checkpoint = _save(run, store, tag, architecture=architecture_of(model))
        _name_not_saved(run)
        if export:
            _export(run, store, checkpoint)

    return _act("save", framework, model, work)


def collect(framework: Framework, model: KerasModel | None) -> Outcome:
    """Let go of traces of dead models, collect garbage and give free pages back."""
    return _act("collect", framework, model, _collect)


def reload(
    framework: Framework,
    model: KerasModel,
    store: CheckpointStore,
    *,
    tag: Tag,
    mode: Mode | None = None,
    agreement: Agreement | None = None,
) -> Outcome:
    """Save, drop the model's functions, clear the session, restore: training goes on the same.

    Args:
        framework: The model's.
        model: Being trained, or not.
        store: Where the state is saved.
        tag: Where in the run this is.
        mode: "assign" restores into the variables that there are. "recreate" lets them go and
            makes them anew, where that is safe, else the outcome says why it was not done.
            None: assign.
        agreement: With the other workers that train the model; None: nobody else does. Who is not
            the chief keeps the state in memory and writes nothing.
    """
    keeper = store if agreement is None or agreement.is_chief else HeldState()

    def work(run: Run) -> None:
        had_functions = _reload(run, keeper, tag, mode or "assign", agreement)
        _name_not_saved(run)
        _judge_reload(run, had_functions=had_functions)

    return _act("reload", framework, model, work, is_alone=agreement is None)


def not_reloaded(framework: Framework, model: KerasModel, why: str) -> Outcome:
    """The outcome of a reload that was not begun, for this reason."""

    def work(run: Run) -> None:
        raise Failed(why)

    return _act("reload", framework, model, work, is_alone=False)


def foretell(framework: Framework, model: KerasModel) -> str:
    """What a reload of this model would change in its result, before one is asked for.

    Known once a step was traced. Empty when a reload is exact, or nothing can be told.
    """
    try:
        steps = framework.reclaim_steps()
        return "" if steps is None else steps.inexact(model)
    except Exception:  # noqa: BLE001 - a guess that fails must never end the training
        return ""


def _act(
    action: ActionName,
    framework: Framework,
    model: KerasModel | None,
    work: Callable[[Run], None],
    *,
    is_alone: bool = True,
) -> Outcome:
    clock = SystemClock()
    started_s = clock.monotonic_s()
    nothing = Outcome(ok=False, action=action, seconds=0.0, before=Footprint())
    run: Run | None = None
    SIGNALS.watch()
    try:
        nothing = replace(nothing, before=footprint(framework, model))
        steps = _steps(framework, model if is_alone else None, action)
        run = Run(framework, steps, model, replace(nothing, ok=True), [])
        work(run)
        outcome = replace(run.outcome, why="; ".join(run.notes)[:_MOST_WHY])
    except (Failed, SaveRefused, StateUnreadable) as exc:
        outcome = _failed(run, nothing, exc.why)
    except Exception as exc:  # noqa: BLE001 - a reclaim that fails must never end the training
        outcome = _failed(run, nothing, described(exc))
    return replace(outcome, seconds=clock.monotonic_s() - started_s)


def _steps(framework: Framework, model: KerasModel | None, action: ActionName) -> ReclaimSteps:
    steps = framework.reclaim_steps()
    why = framework.probed().unavailable.get(action, "")
    if steps is None or why:
        raise Failed(why or f"{action} is not available here")
    if model is not None and isinstance(steps, KnowsWorkers):
        why = steps.why_not_here(model, action)
        if why:
            raise Failed(why)
    return steps


def _failed(run: Run | None, nothing: Outcome, why: str) -> Outcome:
    known = run.outcome if run is not None else nothing
    notes = run.notes if run is not None else []
    return replace(known, ok=False, why="; ".join([why, *notes])[:_MOST_WHY])


def _save(
    run: Run,
    store: StateKeeper,
    tag: Tag,
    *,
    architecture: str = "",
    drop: bool = True,
    held: bool = False,
) -> tuple[list[StateVariable], Checkpoint]:
    state = run.steps.state(run.model)
    run.held = hold(run, state) if held else []
    given = run.held or [each.variable for each in state]
    pairs = zip(state, given, strict=True)
    stored = [StoredVariable(each.path, each.n_bytes, value) for each, value in pairs]
    read = _itself if run.held else run.steps.read
    checkpoint = store.save(stored, read, tag=tag, architecture=architecture, drop=drop)
    run.tell(
        variables=len(state),
        state_bytes=checkpoint.state_bytes,
        checkpoint=checkpoint.path.name,
        checksum=checkpoint.checksum,
    )
    return state, checkpoint


def _itself(value: Any) -> Any:
    return value


def _export(run: Run, store: CheckpointStore, checkpoint: Checkpoint) -> None:
    try:
        if isinstance(run.steps, KnowsWorkers) and (
            why := run.steps.why_not_here(run.model, "export")
        ):
            raise NotExported(why)  # noqa: TRY301 - as when Keras cannot
        exported = export_model(run.model, checkpoint.path, store.free_bytes)
    except NotExported as exc:
        run.notes.append(f"saved, but not exported: {exc.why}")
    else:
        run.tell(export=exported.name)


def _collect(run: Run) -> None:
    SIGNALS.hold()
    collect_garbage()
    _release(run)
    collect_garbage()
    give_pages_back()
    run.measure()
    if not gave_back(run.outcome):
        run.tell(unchanged=why_nothing(run.outcome))


def _name_not_saved(run: Run) -> None:
    if isinstance(run.steps, KnowsParts):
        run.tell(not_saved=run.steps.not_saved(run.model))


def _release(run: Run) -> bool:
    """Whether there was something that a collection now frees."""
    released: Released = run.steps.release_retained()
    run.tell(
        released_traces=run.outcome.released_traces + released.traces,
        released_models=run.outcome.released_models + released.models,
        disused_traces=run.outcome.disused_traces + released.disused,
        held=released.held,
    )
    note = f"retained traces not released: {released.why}"
    if released.why and note not in run.notes:
        run.notes.append(note)
    return released.traces > 0


def _reload(
    run: Run, store: StateKeeper, tag: Tag, mode: Mode, agreement: Agreement | None
) -> bool:
    """Whether the model had step functions of Keras, which were made again."""
    if inexact := run.steps.inexact(run.model):
        run.notes.append(inexact)
    with contextlib.nullcontext() if inexact else _traced_again(run, mode):
        state, checkpoint = _save(run, store, tag, drop=False, held=True)
        if agreement is not None and (why := agreement.all_prepared()):
            raise Failed(why)
        SIGNALS.hold()
        with store.dropping(), _functions_made_again(run) as dropped:
            _clear(run)
            restore(run, state, store, checkpoint, mode)
    run.measure()
    return bool(dropped)


@contextlib.contextmanager
def _traced_again(run: Run, mode: Mode) -> Generator[None]:
    """The step functions are the same when they are traced again, and are traced already.

    Raises:
        Failed: They are not the same.
    """
    steps = run.steps
    if not isinstance(steps, TracesAgain):
        yield
        return
    if is_memory_short(_TRACE_BYTES):
        short = f"less than {_TRACE_BYTES // MIB} MiB of memory can be had"
        raise Failed(f"{short}, too little to trace the step again")
    try:
        for model in _parts(run):
            if why := steps.trace_again(model):
                raise Failed(why)
        if mode == "recreate":  # which makes variables that they do not know
            steps.forget_traced()
        yield
    finally:
        steps.forget_traced()


def _parts(run: Run) -> list[KerasModel]:
    return run.steps.models_in(run.model) if isinstance(run.steps, KnowsParts) else [run.model]


def _judge_reload(run: Run, *, had_functions: bool) -> None:
    if gave_back(run.outcome) or run.outcome.mode == "recreate":
        return
    if not had_functions:
        # A loop that calls a step of the script's own: there was nothing to reload.
        raise Failed(f"{_NO_STEP}; {why_nothing(run.outcome)}")
    run.tell(unchanged=why_nothing(run.outcome))


@contextlib.contextmanager
def _functions_made_again(run: Run) -> Generator[list[str]]:
    # Whatever happens between: a fit that goes on needs its step function.
    with contextlib.ExitStack() as made_again:
        names: list[str] = []
        for model in _parts(run):
            dropped = run.steps.drop_functions(model)
            made_again.callback(run.steps.make_functions, model, dropped)
            names += dropped
        yield names


def _clear(run: Run) -> None:
    _release(run)
    left_out = run.steps.clear_session()
    if left_out:
        run.notes.append(left_out)
    collect_garbage()
    # Traces of functions that only that collection let go of are dead since.
    if _release(run):
        collect_garbage()
    give_pages_back()
