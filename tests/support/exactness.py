"""Proof that a reclaim changes no training: one scenario run plain and reloaded, compared by bits.

Any Keras on any backend: nothing of one is imported before a scenario's model is made.
"""

import importlib
import random
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kmonitor_agent.frameworks.base import Framework
from kmonitor_agent.frameworks.detection import framework_for
from kmonitor_agent.reclaim.actions import reload
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag
from kmonitor_agent.reclaim.checkpoints import CheckpointStore
from kmonitor_agent.reclaim.outcome import ReclaimOutcome
from kmonitor_agent.wire.messages.commands import ReloadMode

Reloading = Callable[[Framework, Any, CheckpointStore, CheckpointTag], ReclaimOutcome]
"""Action at each chosen moment."""


def seed_keras(seed: int) -> None:
    """The same seeds each time, also of Keras 3's generator for what has no own seed."""
    keras = importlib.import_module("keras")
    generators = importlib.import_module("keras.src.random.seed_generator")
    generators.global_seed_generator()  # made first: making it draws a number
    keras.utils.set_random_seed(seed)
    # Keras 3.6 leaves the generator as it is; newer ones may have made another.
    generators.global_seed_generator().state.assign([seed, 0])


@dataclass(frozen=True)
class Scenario:
    """Recipe to make a model and fit it; every run starts from the same seeds.

    Attributes:
        name: For people and for the test's id.
        model: Makes the compiled model.
        data: Data for `fit`, made again for each run.
        fit: Further arguments of `fit`.
        callbacks: Those that run beside the one that reloads, made again for each run.
        epochs: Number of epochs.
        reload_last: True if the reloading callback comes behind the others.
        why_assign: Words of the reason why variables are not recreated here; empty: they are.
        inexact: Words of the announcement that a reload changes this result; empty: it does not.
        left_out: Words of what a reload leaves out here; empty: nothing.
        beside: Further state that the result depends on, as arrays.
        seed: Seeds everything before the model is made.
        seed_all: Function that seeds it.
    """

    name: str
    model: Callable[[], Any]
    data: Callable[[], dict[str, Any]]
    fit: dict[str, Any] = field(default_factory=dict[str, Any])
    callbacks: Callable[[], list[Any]] = list
    epochs: int = 3
    reload_last: bool = False
    why_assign: str = ""
    inexact: str = ""
    left_out: str = ""
    beside: Callable[[Any], list[Any]] = lambda _: []
    seed: int = 7
    seed_all: Callable[[int], None] = seed_keras


@dataclass(frozen=True)
class Moments:
    """When a training is reloaded.

    Attributes:
        name: For people and for the test's id.
        epochs: Ends of these epochs.
        batches: After these (epoch, batch); with several steps in one execution not every batch
            is reported: the next that is counts.
    """

    name: str
    epochs: Collection[int] = ()
    batches: Collection[tuple[int, int]] = ()


EPOCH_END = Moments("epoch end", epochs=(0,))
MID_EPOCH = Moments("mid-epoch", batches=((1, 2),))
THREE_TIMES = Moments("three times", epochs=(0,), batches=((1, 1), (2, 3)))
MOMENTS = (EPOCH_END, MID_EPOCH, THREE_TIMES)
"""Once at an epoch's end, once within one, and three times in one training."""


@dataclass(frozen=True)
class Result:
    """Results of a training.

    Attributes:
        history: Keras' History, all epochs.
        state: The exact state: values by the variables' places, without names that counters touch.
        extra: `Scenario.beside`, and what Python's and numpy's generators give next.
        outcomes: Outcome of each reload; none in a plain run.
    """

    history: dict[str, list[Any]]
    state: list[tuple[str, Any]]
    extra: list[Any]
    outcomes: list[ReclaimOutcome]


def run_plain(scenario: Scenario) -> Result:
    """Train without interruption."""
    return _run(scenario, ())


def run_reloaded(
    scenario: Scenario, moments: Moments, folder: Path, *, mode: ReloadMode | None = None
) -> Result:
    """The same training, reloaded at these moments.

    Args:
        scenario: Training to run.
        moments: Moments to reload at.
        folder: Folder for checkpoints.
        mode: Way in which variables come back, "assign" or "recreate"; None: the default.
    """

    def reloading(
        framework: Framework, model: Any, store: CheckpointStore, tag: CheckpointTag
    ) -> ReclaimOutcome:
        return reload(framework, model, store, tag=tag, mode=mode)

    return run_with(scenario, moments, folder, reloading)


def run_with(scenario: Scenario, moments: Moments, folder: Path, act: Reloading) -> Result:
    """The same training, with an action of the caller's at these moments."""
    outcomes: list[ReclaimOutcome] = []
    return _run(scenario, outcomes, lambda model: _callback(model, moments, folder, act, outcomes))


def assert_same(one: Result, other: Result) -> None:
    """Equal bit for bit: History, every variable, seeds, and what generators give next."""
    assert one.history.keys() == other.history.keys()
    for name, values in one.history.items():
        assert np.array_equal(values, other.history[name], equal_nan=True), name
    assert [path for path, _ in one.state] == [path for path, _ in other.state]
    for (path, ours), (_, theirs) in zip(one.state, other.state, strict=True):
        _assert_equal(path, ours, theirs)
    for n, (ours, theirs) in enumerate(zip(one.extra, other.extra, strict=True)):
        _assert_equal(f"extra {n}", ours, theirs)


def assert_reloaded(scenario: Scenario, result: Result, *, mode: ReloadMode | None = None) -> None:
    """Every reload succeeded, in the requested mode or with the reason why not."""
    assert result.outcomes, "no reload happened"
    recreated = mode == "recreate" and not scenario.why_assign
    for outcome in result.outcomes:
        assert outcome.ok, outcome.why
        assert outcome.mode == ("recreate" if recreated else "assign"), outcome.why
        expected = [scenario.inexact, scenario.left_out]
        expected += [scenario.why_assign] if mode == "recreate" else []
        for words in expected:
            assert words in outcome.why
        if not any(expected):
            assert outcome.why == ""


def state_of(model: Any) -> list[tuple[str, Any]]:
    """Every variable of the exact state, with a name that no counter touches."""
    steps = framework_for(model).reclaim_steps()
    assert steps is not None
    return [
        (
            f"{n}:{each.path.partition('/')[0]}:{tuple(each.variable.shape)}",
            np.array(steps.read(each.variable)),
        )
        for n, each in enumerate(steps.state(model))
    ]


def _run(
    scenario: Scenario,
    outcomes: Collection[ReclaimOutcome],
    reloading: Callable[[Any], Any] | None = None,
) -> Result:
    scenario.seed_all(scenario.seed)
    model = scenario.model()
    ours = [] if reloading is None else [reloading(model)]
    theirs = scenario.callbacks()
    callbacks = [*theirs, *ours] if scenario.reload_last else [*ours, *theirs]
    settings: dict[str, Any] = {"epochs": scenario.epochs, "verbose": 0, **scenario.fit}
    history = model.fit(**scenario.data(), **settings, callbacks=callbacks)
    drawn = [np.asarray(random.random()), np.asarray(np.random.random())]  # noqa: S311 - the global ones
    extra = [*(np.array(each) for each in scenario.beside(model)), *drawn]
    return Result(history.history, state_of(model), extra, list(outcomes))


def _callback(
    model: Any, moments: Moments, folder: Path, act: Reloading, outcomes: list[ReclaimOutcome]
) -> Any:
    """A callback of the model's own Keras that acts at the moments."""
    reloads = _Reloads(moments, CheckpointStore(folder), act, outcomes)
    keras = importlib.import_module(f"{_keras_of(model)}.callbacks")
    return type("Reloads", (_Hooks, keras.Callback), {"reloads": reloads})()


def _keras_of(model: Any) -> str:
    roots = {cls.__module__.partition(".")[0] for cls in type(model).__mro__}
    return "tf_keras" if "tf_keras" in roots else "keras"


class _Reloads:
    """Knows which moments are still to come."""

    def __init__(
        self,
        moments: Moments,
        store: CheckpointStore,
        act: Reloading,
        outcomes: list[ReclaimOutcome],
    ) -> None:
        self._epochs = frozenset(moments.epochs)
        self._batches = set(moments.batches)
        self._store = store
        self._act = act
        self._outcomes = outcomes
        self.epoch = 0

    def batch_ended(self, model: Any, batch: int) -> None:
        due = {(epoch, at) for epoch, at in self._batches if epoch == self.epoch and at <= batch}
        if due:
            self._batches -= due
            self._reload(model, batch + 1)

    def epoch_ended(self, model: Any, epoch: int) -> None:
        if epoch in self._epochs:
            self._reload(model, 0)

    def _reload(self, model: Any, step: int) -> None:
        tag = CheckpointTag("run", 1, self.epoch, step)
        self._outcomes.append(self._act(framework_for(model), model, self._store, tag))


class _Hooks:
    """Hooks that Keras calls; mixed with the callback class of the model's own Keras."""

    reloads: _Reloads
    model: Any

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.reloads.epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.reloads.batch_ended(self.model, batch)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.reloads.epoch_ended(self.model, epoch)


def _assert_equal(name: str, ours: Any, theirs: Any) -> None:
    assert ours.dtype == theirs.dtype, name
    assert ours.shape == theirs.shape, name
    assert ours.tobytes() == theirs.tobytes(), name
