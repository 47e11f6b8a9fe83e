"""Reload with a new model object: save the state, build the model again, assign the state."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kmonitor_agent.frameworks.base import (
    Framework,
    KerasModel,
    ReclaimSteps,
    ReleasedTraces,
    StateUnreadable,
)
from kmonitor_agent.frameworks.model_building import CannotRebuild, ModelFactory, keras_module
from kmonitor_agent.frameworks.model_rebuilder import (
    EagerRebuilder,
    ModelRebuilder,
    VariableShape,
    check_same_variables,
    variable_shapes,
)
from kmonitor_agent.frameworks.tf_keras.graph_mode import V1GraphFramework, v1_graph_rebuilder
from kmonitor_agent.guard import describe_exception
from kmonitor_agent.reclaim.actions import collect_garbage, read_footprint, return_free_pages, save
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag
from kmonitor_agent.reclaim.checkpoints import Checkpoint, CheckpointStore
from kmonitor_agent.reclaim.outcome import ReclaimOutcome
from kmonitor_agent.wire.local.clock import SystemClock

_MODE = "rebuild"


class ModelLost(Exception):
    """The old model's session was cleared and the new model could not be created.

    Attributes:
        why: The failure, as text.
        checkpoint: Path of the checkpoint with its exact state.
    """

    def __init__(self, why: str, checkpoint: Checkpoint) -> None:
        super().__init__(f"{why}; the exact state is in {checkpoint.path}")
        self.why = why
        self.checkpoint = checkpoint


@dataclass(frozen=True, slots=True)
class SavedModelState:
    """A model's state on disk, ready to be assigned to another object.

    Attributes:
        outcome: Outcome of the reload so far; not ok if nothing was saved.
        checkpoint: Checkpoint of the state; None if nothing was saved.
        shapes: Shapes of the saved variables, in order.
    """

    outcome: ReclaimOutcome
    checkpoint: Checkpoint | None = None
    shapes: tuple[VariableShape, ...] = ()


def rebuilder_for(framework: Framework, model: KerasModel) -> ModelRebuilder | None:
    """Rebuilder for this model; None if rebuilding changes the result and `reload` does not.

    tf_keras in eager mode shuffles arrays by one iterator for the whole `fit`, which a second
    call would begin again.
    """
    if isinstance(framework, V1GraphFramework):
        return v1_graph_rebuilder(model)
    return None if keras_module(model).__name__ == "tf_keras" else EagerRebuilder()


def save_for_rebuild(
    framework: Framework, model: KerasModel, store: CheckpointStore, *, tag: CheckpointTag
) -> SavedModelState:
    """Write the exact state; nothing else changes. Never raises."""
    steps = framework.reclaim_steps()
    how = rebuilder_for(framework, model)
    why = "" if how is None else how.why_forbidden()
    outcome = replace(save(framework, model, store, tag=tag), action="reload")
    checkpoint = store.latest() if outcome.ok else None
    if steps is None or why or checkpoint is None:
        return SavedModelState(replace(outcome, ok=False, why=why or outcome.why))
    notes = [text for text in (steps.inexact(model), outcome.why) if text]
    return SavedModelState(
        replace(outcome, why="; ".join(notes)),
        checkpoint,
        tuple(variable_shapes(steps.state(model))),
    )


def rebuild(
    framework: Framework,
    model: KerasModel,
    saved: SavedModelState,
    store: CheckpointStore,
    script: ModelFactory | None,
) -> tuple[KerasModel, ReclaimOutcome]:
    """Return the new model, or the old one if rebuilding failed, and the outcome.

    Args:
        model: The old model; its `fit` has ended.
        script: Function of the script that creates the model; None: use the configuration.

    Raises:
        ModelLost: The old model is gone and there is no new one.
    """
    clock = SystemClock()
    began_s = clock.monotonic_s()
    steps = framework.reclaim_steps()
    rebuilder = rebuilder_for(framework, model)
    checkpoint = saved.checkpoint
    if steps is None or rebuilder is None or checkpoint is None:
        return model, saved.outcome
    outcome = replace(saved.outcome, mode=_MODE)
    try:
        new_model = _make(steps, model, rebuilder, script)
        _restore(steps, new_model, saved.shapes, store, checkpoint)
    except Exception as exc:
        why = _why_not_rebuilt(exc, script)
        if rebuilder.destroys:
            raise ModelLost(why, checkpoint) from exc
        # Keras may have changed variables when the fit ended (averages of weights).
        _restore(steps, model, saved.shapes, store, checkpoint)
        new_model = model
        outcome = replace(outcome, ok=False, mode="", why=why)
    released = _release(steps)
    seconds = outcome.seconds + clock.monotonic_s() - began_s
    return new_model, replace(
        outcome,
        seconds=seconds,
        after=read_footprint(framework, new_model),
        released_traces=released.traces,
        released_models=released.models,
        disused_traces=released.disused,
        held=released.held,
    )


def _release(steps: ReclaimSteps) -> ReleasedTraces:
    collect_garbage()
    released = steps.release_retained()
    collect_garbage()
    return_free_pages()
    return released


def _why_not_rebuilt(exc: Exception, script: ModelFactory | None) -> str:
    if isinstance(exc, StateUnreadable):
        subject = "rebuild= returned a model that" if script else "the new model"
        return f"{subject} does not accept the state: {exc.why}"
    return exc.why if isinstance(exc, CannotRebuild) else describe_exception(exc)


def _make(
    steps: ReclaimSteps, model: KerasModel, how: ModelRebuilder, script: ModelFactory | None
) -> KerasModel:
    if not how.destroys:
        steps.drop_functions(model)
        collect_garbage()
        steps.release_retained()
        steps.clear_session()
    return how.make(model, script)


def _restore(
    steps: ReclaimSteps,
    model: KerasModel,
    shapes: Sequence[VariableShape],
    store: CheckpointStore,
    checkpoint: Checkpoint,
) -> None:
    state = steps.state(model)
    new = variable_shapes(state)
    check_same_variables(shapes, new)
    wanted = iter(
        [each.variable for each, shape in zip(state, new, strict=True) if shape.is_wanted]
    )
    seeds = iter([each.variable for each, shape in zip(state, new, strict=True) if shape.is_seed])
    for shape, value in zip(shapes, store.read(checkpoint), strict=True):
        target = next(wanted) if shape.is_wanted else next(seeds, None) if shape.is_seed else None
        if target is None:
            continue
        steps.assign(target, value)
        if steps.read(target).tobytes() != value.tobytes():
            raise CannotRebuild("a variable of the new model did not accept the saved value")
