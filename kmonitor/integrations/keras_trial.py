# pyright: basic
"""A trial of KerasTuner's in its own process: its model is made, checked, trained and kept."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import keras_tuner as kt

from kmonitor.integrations.handed_over import taken
from kmonitor.integrations.model_size import (
    TooLarge,
    check_step,
    check_training,
    weights_within,
    without_values,
)
from kmonitor_agent.folds.fold import Fold
from kmonitor_agent.folds.host import devices

FAILED: Final = "failed"
FATAL: Final = "fatal"
RESULTS: Final = "results"
HYPERPARAMETERS: Final = "hyperparameters"
ASKED: Final = "asked"
TOO_LARGE: Final = "too large: "

_DATA: Final = ("x", "y", "validation_data", "sample_weight", "callbacks")
_DEFAULT_BATCH: Final = 32
"""Of Keras' `fit`."""


def space_in_a_process(fold: Fold, *, told: list[Any], **parts: Any) -> dict[str, Any]:
    """Every hyperparameter that the hypermodel asks for, as KerasTuner finds them.

    Args:
        fold: Asks for those that are known.
        told: See `trial_in_a_process`.
        parts: Likewise.
    """
    asked, given = fold.ask("space"), taken(told, parts)
    known = kt.HyperParameters.from_config(asked[HYPERPARAMETERS])
    oracle = kt.Oracle(hyperparameters=known)
    hypermodel = _hypermodel(given, asked["memory_bytes"], for_space=True)
    kt.Tuner(
        oracle, hypermodel, directory=str(fold.directory), project_name="space", overwrite=True
    )
    return oracle.get_space().get_config()


def trial_in_a_process(fold: Fold, *, told: list[Any], **parts: Any) -> dict[str, Any]:
    """Run one execution of a trial; what came of it, as plain data.

    Args:
        fold: Asks which trial it is; takes the checkpoint of its best epoch.
        told: The search, see `HandedOver`.
        parts: Functions and classes of it.
    """
    asked, given = fold.ask("trial"), taken(told, parts)
    trial = kt.engine.trial.Trial(
        hyperparameters=kt.HyperParameters.from_config(asked[HYPERPARAMETERS]),
        trial_id=asked["id"],
    )
    tuner = _tuner(given, asked, fold.directory)
    try:
        results = tuner.run_trial(trial, *_args(given), **_named(given))
    except TooLarge as exc:
        fold.came_to("too_large", exc.why)
        return {FAILED: f"{TOO_LARGE}{exc.why}"}
    except kt.errors.FailedTrialError as exc:
        fold.came_to("failed", str(exc))
        return {FAILED: str(exc)}
    except kt.errors.FatalError as exc:
        why = f"{type(exc).__name__}: {exc}"
        fold.came_to("failed", why)
        return {FATAL: why}
    config = trial.hyperparameters.get_config()
    return {RESULTS: _plain(results), HYPERPARAMETERS: config, ASKED: asked}


def _tuner(given: dict[str, Any], asked: dict[str, Any], folder: Path) -> Any:
    """The user's tuner, made without its `__init__`, which would begin a search."""
    kind = given["tuner"]
    tuner = kind.__new__(kind)
    tuner.own_trial = (asked["id"], str(folder))
    objectives = [kt.Objective(name, direction) for name, direction in asked["objective"]]
    objective = objectives if len(objectives) > 1 else objectives[0] if objectives else None
    kt.Tuner.__init__(
        tuner,
        oracle=kt.Oracle(objective=objective),
        hypermodel=_hypermodel(given, asked["memory_bytes"]),
        directory=asked["directory"],
        project_name=asked["project_name"],
        **given["settings"],
    )
    return tuner


def _hypermodel(given: dict[str, Any], bound: int | None, *, for_space: bool = False) -> Any:
    """The user's, which refuses models that do not fit; for the space they need no values."""
    found = given["hypermodel"]
    if isinstance(found, kt.HyperModel):
        kt.HyperModel.__init__(found, name=found.name, tunable=found.tunable)
    elif found is not None:
        found = _OfFunction(found)
    keras = _keras3()
    if found is None or bound is None or keras is None or devices():
        return found  # a GPU has the model, and the bound is of RAM
    build, fit = found.build, found.fit
    is_own_fit = type(found).fit is not kt.HyperModel.fit

    def built(hp: Any, *args: Any, **named: Any) -> Any:
        if for_space:
            return without_values(keras, lambda: build(hp, *args, **named), bound)
        check_training(keras, lambda: build(hp.copy(), *args, **named), bound)
        with weights_within(keras, bound):
            return build(hp, *args, **named)

    def fitted(hp: Any, model: Any, *args: Any, **named: Any) -> Any:
        check_step(model, _batch(hp, named, args, is_own_fit=is_own_fit), bound)
        return fit(hp, model, *args, **named)

    found.build, found.fit = built, fitted
    return found


class _OfFunction(kt.HyperModel):
    """As KerasTuner's own, which it keeps to itself."""

    def __init__(self, build: Callable[[Any], Any]) -> None:
        super().__init__()
        self.build: Any = build


def _keras3() -> Any:
    import keras

    return keras if keras.__version__ >= "3" else None


def _batch(hp: Any, named: dict[str, Any], args: tuple[Any, ...], *, is_own_fit: bool) -> int:
    """Examples a step; where nothing tells, 1, with which no model is skipped that would fit."""
    found = named.get("batch_size") or hp.values.get("batch_size")
    if isinstance(found, int):
        return found
    x: Any = named.get("x", args[0] if args else None)
    is_array = hasattr(x, "shape") and not is_own_fit
    return min(_DEFAULT_BATCH, len(x)) if is_array else 1


def _args(given: dict[str, Any]) -> list[Any]:
    return [_made(each) for each in given["args"]]


def _named(given: dict[str, Any]) -> dict[str, Any]:
    from kmonitor_agent import MonitorCallback  # noqa: PLC0415 - it brings Keras along

    named = {name: _made(each) if name in _DATA else each for name, each in given["named"].items()}
    named["callbacks"] = [*(named.get("callbacks") or []), MonitorCallback()]
    return named


def _made(value: Any) -> Any:
    """Data, or what a function of the user's makes of it here."""
    return value() if isinstance(value, Callable) and not hasattr(value, "__array__") else value


def _plain(results: Any) -> Any:
    """What `run_trial` returned: histories are told by what they noted."""
    if isinstance(results, list):
        return [_plain(each) for each in results]
    history = getattr(results, "history", None)
    return {"history": history} if history is not None else {"value": results}
