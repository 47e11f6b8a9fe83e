"""Save, collect and reload, on the training thread, inside a running `fit` or between two.

None of them raises. When a step fails, the model is left or put back as it was and training goes
on; the outcome says what failed.
"""

import contextlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kmonitor_agent.frameworks.base import (
    Framework,
    KerasModel,
    KnowsWorkers,
    ReclaimSteps,
    RecreatesVariables,
    Released,
    StateUnreadable,
    StateVariable,
)
from kmonitor_agent.frameworks.keras_architecture import architecture_of
from kmonitor_agent.local.clock import SystemClock
from kmonitor_agent.protocol.facts import Footprint
from kmonitor_agent.reclaim.agreement import Agreement, StateKeeper
from kmonitor_agent.reclaim.archive import Checkpoint, CheckpointStore, SaveRefused
from kmonitor_agent.reclaim.export import NotExported, export_model
from kmonitor_agent.reclaim.held_state import HeldState
from kmonitor_agent.reclaim.memory import collect_garbage, footprint, give_pages_back
from kmonitor_agent.reclaim.outcome import ActionName, Mode, Outcome
from kmonitor_agent.reclaim.state_file import Checksum, NotAStateFile, StoredVariable, Tag

__all__ = ["Mode", "Outcome", "Tag", "collect", "foretell", "not_reloaded", "reload", "save"]

_MOST_WHY = 4000


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

    def work(run: _Run) -> None:
        _, checkpoint = _save(run, store, tag, architecture=architecture_of(model))
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

    def work(run: _Run) -> None:
        _reload(run, keeper, tag, mode or "assign", agreement)

    return _act("reload", framework, model, work, is_alone=agreement is None)


def not_reloaded(framework: Framework, model: KerasModel, why: str) -> Outcome:
    """The outcome of a reload that was not begun, for this reason."""

    def work(run: _Run) -> None:
        raise _Failed(why)

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


class _Failed(Exception):
    """An action that did not do what was asked; `why` for the user."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(slots=True)
class _Run:
    """One action while it runs: what it works on, and the outcome as far as it is known."""

    framework: Framework
    steps: ReclaimSteps
    model: KerasModel
    outcome: Outcome
    notes: list[str]

    def tell(self, **known: Any) -> None:
        """Fill in fields of the outcome."""
        self.outcome = replace(self.outcome, **known)

    def measure(self) -> None:
        """Take the footprint after the action."""
        self.tell(after=footprint(self.framework, self.model))


def _act(
    action: ActionName,
    framework: Framework,
    model: KerasModel | None,
    work: Callable[[_Run], None],
    *,
    is_alone: bool = True,
) -> Outcome:
    clock = SystemClock()
    started_s = clock.monotonic_s()
    nothing = Outcome(ok=False, action=action, seconds=0.0, before=Footprint())
    run: _Run | None = None
    try:
        nothing = replace(nothing, before=footprint(framework, model))
        steps = _steps(framework, model if is_alone else None, action)
        run = _Run(framework, steps, model, replace(nothing, ok=True), [])
        work(run)
        outcome = replace(run.outcome, why="; ".join(run.notes)[:_MOST_WHY])
    except (_Failed, SaveRefused, StateUnreadable) as exc:
        outcome = _failed(run, nothing, exc.why)
    except Exception as exc:  # noqa: BLE001 - a reclaim that fails must never end the training
        outcome = _failed(run, nothing, _described(exc))
    return replace(outcome, seconds=clock.monotonic_s() - started_s)


def _steps(framework: Framework, model: KerasModel | None, action: ActionName) -> ReclaimSteps:
    steps = framework.reclaim_steps()
    why = framework.probed().unavailable.get(action, "")
    if steps is None or why:
        raise _Failed(why or f"{action} is not available here")
    if model is not None and isinstance(steps, KnowsWorkers):
        why = steps.why_not_here(model, action)
        if why:
            raise _Failed(why)
    return steps


def _failed(run: _Run | None, nothing: Outcome, why: str) -> Outcome:
    known = run.outcome if run is not None else nothing
    notes = run.notes if run is not None else []
    return replace(known, ok=False, why="; ".join([why, *notes])[:_MOST_WHY])


def _save(
    run: _Run, store: StateKeeper, tag: Tag, *, architecture: str = "", drop: bool = True
) -> tuple[list[StateVariable], Checkpoint]:
    state = run.steps.state(run.model)
    stored = [StoredVariable(each.path, each.n_bytes, each.variable) for each in state]
    checkpoint = store.save(stored, run.steps.read, tag=tag, architecture=architecture, drop=drop)
    run.tell(
        variables=len(state),
        state_bytes=checkpoint.state_bytes,
        checkpoint=checkpoint.path.name,
        checksum=checkpoint.checksum,
    )
    return state, checkpoint


def _export(run: _Run, store: CheckpointStore, checkpoint: Checkpoint) -> None:
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


def _collect(run: _Run) -> None:
    collect_garbage()
    _release(run)
    collect_garbage()
    give_pages_back()
    run.measure()


def _release(run: _Run) -> None:
    released: Released = run.steps.release_retained()
    run.tell(released_traces=released.traces, released_models=released.models, held=released.held)
    if released.why:
        run.notes.append(f"retained traces not released: {released.why}")


def _reload(
    run: _Run, store: StateKeeper, tag: Tag, mode: Mode, agreement: Agreement | None
) -> None:
    inexact = run.steps.inexact(run.model)
    state, checkpoint = _save(run, store, tag, drop=False)
    if agreement is not None and (why := agreement.all_prepared()):
        raise _Failed(why)
    if inexact:
        run.notes.append(inexact)
    with store.dropping(), _functions_made_again(run):
        _clear(run)
        _restore(run, state, store, checkpoint, mode)
    run.measure()


@contextlib.contextmanager
def _functions_made_again(run: _Run) -> Generator[None]:
    # Whatever happens between: a fit that goes on needs its step function.
    dropped = run.steps.drop_functions(run.model)
    try:
        yield
    finally:
        run.steps.make_functions(run.model, dropped)


def _clear(run: _Run) -> None:
    # The first collection lets dropped functions go, so that their traces count as dead.
    collect_garbage()
    _release(run)
    left_out = run.steps.clear_session()
    if left_out:
        run.notes.append(left_out)
    collect_garbage()
    give_pages_back()


def _restore(
    run: _Run,
    state: Sequence[StateVariable],
    store: StateKeeper,
    checkpoint: Checkpoint,
    mode: Mode,
) -> None:
    try:
        recreated = mode == "recreate" and _recreate(run, state, store, checkpoint)
        # Variables that still hold every bit of what was saved need no second writing.
        if not _is_as_saved(run, state, store, checkpoint):
            _assign(run, state, store, checkpoint)
        run.tell(mode="recreate" if recreated else "assign")
    except Exception as exc:  # noqa: BLE001 - whatever a framework raises; the state is judged below
        _settle(run, state, store, checkpoint, _described(exc))


def _recreate(
    run: _Run,
    state: Sequence[StateVariable],
    store: StateKeeper,
    checkpoint: Checkpoint,
) -> bool:
    """Make the variables anew if that is safe; whether it was."""
    steps = run.steps
    if not isinstance(steps, RecreatesVariables):
        why = "not available with this framework"
    else:
        why = steps.why_not_recreate(run.model, state)
        if not why:
            steps.recreate(run.model, state, lambda: store.read(checkpoint))
            return True
    run.notes.append(f"variables assigned, not made anew: {why}")
    return False


def _settle(
    run: _Run,
    state: Sequence[StateVariable],
    store: StateKeeper,
    checkpoint: Checkpoint,
    why: str,
) -> None:
    # Variables are assigned in place: after a failure they mostly still hold what was saved.
    try:
        if not _is_as_saved(run, state, store, checkpoint):
            _assign(run, state, store, checkpoint)
        is_whole = True
    except Exception as exc:  # noqa: BLE001 - whatever a framework raises: the state is not whole
        is_whole, why = False, f"{why}; {_described(exc)}"
    if not is_whole:
        raise _Failed(f"the state is damaged, stop and load {checkpoint.path.name}: {why}")
    raise _Failed(f"restoring failed, the state is as it was saved: {why}")


def _assign(
    run: _Run,
    state: Sequence[StateVariable],
    store: StateKeeper,
    checkpoint: Checkpoint,
) -> None:
    # No loop variable and no zip: either would hold one value while the next is read.
    values = store.read(checkpoint)
    for each in state:
        run.steps.assign(each.variable, next(values))
    if next(values, None) is not None:
        raise NotAStateFile("it holds more variables than the model")
    if not _is_as_saved(run, state, store, checkpoint):
        raise _Failed("the restored state differs from the saved one")


def _is_as_saved(
    run: _Run,
    state: Sequence[StateVariable],
    store: StateKeeper,
    checkpoint: Checkpoint,
) -> bool:
    # Comparing is quicker; of a file that was damaged or removed since, the checksum is known.
    values = (run.steps.read(each.variable) for each in state)
    return store.holds(checkpoint, values) or _checksum(run, state) == checkpoint.checksum


def _checksum(run: _Run, state: Sequence[StateVariable]) -> str:
    checksum = Checksum()
    for each in state:
        checksum.add(run.steps.read(each.variable))
    return checksum.text()


def _described(exc: BaseException) -> str:
    if isinstance(exc, _Failed):
        return exc.why
    if isinstance(exc, NotAStateFile):
        return f"the checkpoint is damaged: {exc.why}"
    return f"{type(exc).__name__}: {exc}"[:1000]
