"""The last part of a reload: the state is in the variables again, every bit, or damage is told."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from kmonitor_agent.frameworks.base import HoldsValues, RecreatesVariables, StateVariable
from kmonitor_agent.reclaim.action_run import Failed, Run, described
from kmonitor_agent.reclaim.agreement import StateKeeper
from kmonitor_agent.reclaim.checkpoint_file import Checksum, NotAStateFile
from kmonitor_agent.reclaim.checkpoints import Checkpoint
from kmonitor_agent.reclaim.outcome import Mode


def hold(run: Run, state: Sequence[StateVariable]) -> list[Any]:
    """All values where they are, for `restore` to see that nobody wrote to them; or none."""
    held: list[Any] = []
    if isinstance(run.steps, HoldsValues):
        for each in state:
            value = run.steps.hold(each.variable)
            if value is None:
                return []
            held.append(value)
    return held


def restore(
    run: Run,
    state: Sequence[StateVariable],
    store: StateKeeper,
    checkpoint: Checkpoint,
    mode: Mode,
) -> None:
    """Have every variable hold what was saved, and tell in which mode that was done.

    Raises:
        Failed: It is as it was saved all the same, or it is damaged; the text says which.
    """
    try:
        recreated = mode == "recreate" and _recreate(run, state, store, checkpoint)
        if not (recreated or _are_held(run, state)):
            _make_as_saved(run, state, store, checkpoint)
        run.tell(mode="recreate" if recreated else "assign")
    except Exception as exc:  # noqa: BLE001 - whatever a framework raises; the state is judged below
        _settle(run, state, store, checkpoint, described(exc))


def _recreate(
    run: Run,
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
            run.held = []  # else the old values would stay in memory
            is_seen = steps.recreate(run.model, state, partial(store.read, checkpoint))
            if not is_seen:
                _make_as_saved(run, state, store, checkpoint)
            return True
    run.notes.append(f"variables assigned, not made anew: {why}")
    return False


def _settle(
    run: Run,
    state: Sequence[StateVariable],
    store: StateKeeper,
    checkpoint: Checkpoint,
    why: str,
) -> None:
    # Variables are assigned in place: after a failure they mostly still hold what was saved.
    try:
        _make_as_saved(run, state, store, checkpoint)
        is_whole = True
    except Exception as exc:  # noqa: BLE001 - whatever a framework raises: the state is not whole
        is_whole, why = False, f"{why}; {described(exc)}"
    if not is_whole:
        raise Failed(f"the state is damaged, stop and load {checkpoint.path.name}: {why}")
    raise Failed(f"restoring failed, the state is as it was saved: {why}")


def _are_held(run: Run, state: Sequence[StateVariable]) -> bool:
    """Whether no variable was written to since it was saved; nothing is held any more."""
    steps, held, run.held = run.steps, run.held, []
    return (
        bool(held)
        and isinstance(steps, HoldsValues)
        and all(
            steps.is_held(each.variable, value) for each, value in zip(state, held, strict=True)
        )
    )


def _make_as_saved(
    run: Run,
    state: Sequence[StateVariable],
    store: StateKeeper,
    checkpoint: Checkpoint,
) -> None:
    # Variables that still have every bit of what was saved need no second writing.
    if not _is_as_saved(run, state, store, checkpoint):
        _assign(run, state, store, checkpoint)


def _assign(
    run: Run,
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
        raise Failed("the restored state differs from the saved one")


def _is_as_saved(
    run: Run,
    state: Sequence[StateVariable],
    store: StateKeeper,
    checkpoint: Checkpoint,
) -> bool:
    # Comparing is quicker; of a file that was damaged or removed since, the checksum is known.
    values = (run.steps.read(each.variable) for each in state)
    return store.holds(checkpoint, values) or _checksum(run, state) == checkpoint.checksum


def _checksum(run: Run, state: Sequence[StateVariable]) -> str:
    checksum = Checksum()
    for each in state:
        checksum.add(run.steps.read(each.variable))
    return checksum.text()
