# pyright: basic
"""A KerasTuner trial in its own process: the model is built, checked, trained and saved."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import keras_tuner as kt
import msgspec

from kmonitor.integrations.model_size import (
    MinimumSize,
    ModelTooLarge,
    build_without_values,
    check_step_fits,
    check_training_fits,
    find_minimum_size,
)
from kmonitor_agent.studies.fold import Fold
from kmonitor_agent.studies.host_resources import visible_gpus

FAILED: Final = "failed"

FATAL: Final = "fatal"

RESULTS: Final = "results"

HYPERPARAMETERS: Final = "hyperparameters"

REQUEST: Final = "facts"

TOO_LARGE: Final = "too large: "

_DATA: Final = ("x", "y", "validation_data", "sample_weight", "callbacks")
_DEFAULT_BATCH: Final = 32
"""Default batch size of Keras' `fit`."""


def trial_in_a_process(fold: Fold, **arguments: Any) -> dict[str, Any]:
    """Run one execution of a trial; return its results as plain data.

    Args:
        fold: Connection for requesting the trial; takes the checkpoint of the best epoch.
        arguments: The tuner's class, hypermodel and settings; `args` and `named` of `search`.
    """
    request = fold.ask("trial")
    trial = kt.engine.trial.Trial(
        hyperparameters=kt.HyperParameters.from_config(request[HYPERPARAMETERS]),
        trial_id=request["id"],
    )
    size = fold.ask("size") if request["memory_bytes"] is not None else {}
    tuner = _tuner(arguments, request, size, fold.directory)
    try:
        results = tuner.run_trial(trial, *_args(arguments), **_named(arguments))
    except ModelTooLarge as exc:
        fold.set_outcome("too_large", exc.why)
        return {FAILED: f"{TOO_LARGE}{exc.why}"}
    except kt.errors.FailedTrialError as exc:
        fold.set_outcome("failed", str(exc))
        return {FAILED: str(exc)}
    except kt.errors.FatalError as exc:
        why = f"{type(exc).__name__}: {exc}"
        fold.set_outcome("failed", why)
        return {FATAL: why}
    config = trial.hyperparameters.get_config()
    return {RESULTS: _plain(results), HYPERPARAMETERS: config, REQUEST: request}


def _tuner(arguments: dict[str, Any], request: dict[str, Any], size: Any, folder: Path) -> Any:
    """The user's tuner, created without its `__init__`, which would begin a search."""
    kind = arguments["tuner"]
    tuner = kind.__new__(kind)
    tuner.own_trial = (request["id"], str(folder))
    objectives = [kt.Objective(name, direction) for name, direction in request["objective"]]
    objective = objectives if len(objectives) > 1 else objectives[0] if objectives else None
    kt.Tuner.__init__(
        tuner,
        oracle=kt.Oracle(objective=objective),
        hypermodel=_hypermodel(arguments, request["memory_bytes"], size),
        directory=request["directory"],
        project_name=request["project_name"],
        **arguments["settings"],
    )
    return tuner


def _args(arguments: dict[str, Any]) -> list[Any]:
    return [_data_of(each) for each in arguments["args"]]


def _named(arguments: dict[str, Any]) -> dict[str, Any]:
    from kmonitor_agent import MonitorCallback  # noqa: PLC0415 - it brings Keras along

    named = {
        name: _data_of(each) if name in _DATA else each
        for name, each in arguments["named"].items()
    }
    named["callbacks"] = [*(named.get("callbacks") or []), MonitorCallback()]
    return named


def _data_of(value: Any) -> Any:
    """The data, or the result of the user's function called in this process."""
    return value() if isinstance(value, Callable) and not hasattr(value, "__array__") else value


def _plain(results: Any) -> Any:
    """The results of `run_trial` as plain data; for a history its values."""
    if isinstance(results, list):
        return [_plain(each) for each in results]
    history = getattr(results, "history", None)
    return {"history": history} if history is not None else {"value": results}


def size_in_a_process(fold: Fold, **arguments: Any) -> dict[str, Any]:
    """Return the least memory for training a trial's model, as plain data; nothing is trained.

    Args:
        fold: Connection for requesting the trial.
        arguments: See `trial_in_a_process`.
    """
    request = fold.ask("size")
    hypermodel = _build_hypermodel(arguments)
    least = MinimumSize()
    if _is_bounded(hypermodel):
        hp = kt.HyperParameters.from_config(request[HYPERPARAMETERS])
        least = find_minimum_size(
            _keras3(), lambda: hypermodel.build(hp.copy()), request["memory_bytes"]
        )
    return msgspec.to_builtins(least)


def space_in_a_process(fold: Fold, **arguments: Any) -> dict[str, Any]:
    """Return every hyperparameter that the hypermodel uses, as KerasTuner finds them.

    Args:
        fold: Connection for requesting the known hyperparameters.
        arguments: See `trial_in_a_process`.
    """
    request = fold.ask("space")
    known = kt.HyperParameters.from_config(request[HYPERPARAMETERS])
    oracle = kt.Oracle(hyperparameters=known)
    hypermodel = _hypermodel_of_space(arguments, request["memory_bytes"])
    kt.Tuner(
        oracle, hypermodel, directory=str(fold.directory), project_name="space", overwrite=True
    )
    return oracle.get_space().get_config()


def _hypermodel(arguments: dict[str, Any], bound: int | None, size: Any) -> Any:
    """The user's hypermodel, which refuses models that do not fit."""
    hypermodel = _build_hypermodel(arguments)
    if bound is None or not _is_bounded(hypermodel):
        return hypermodel
    build = hypermodel.build
    fit = hypermodel.fit
    is_own_fit = type(hypermodel).fit is not kt.HyperModel.fit
    least = msgspec.convert(size, MinimumSize)

    def built(hp: Any, *args: Any, **named: Any) -> Any:
        check_training_fits(least, bound)
        return build(hp, *args, **named)

    def fitted(hp: Any, model: Any, *args: Any, **named: Any) -> Any:
        check_step_fits(model, _batch(hp, named, args, is_own_fit=is_own_fit), bound)
        return fit(hp, model, *args, **named)

    hypermodel.build = built
    hypermodel.fit = fitted
    return hypermodel


def _batch(hp: Any, named: dict[str, Any], args: tuple[Any, ...], *, is_own_fit: bool) -> int:
    """Examples per step; 1 if unknown, so that no model that would fit is skipped."""
    batch_size = named.get("batch_size") or hp.values.get("batch_size")
    if isinstance(batch_size, int):
        return batch_size
    x: Any = named.get("x", args[0] if args else None)
    is_array = hasattr(x, "shape") and not is_own_fit
    return min(_DEFAULT_BATCH, len(x)) if is_array else 1


def _hypermodel_of_space(arguments: dict[str, Any], bound: int | None) -> Any:
    """The user's hypermodel, with models built without values, to find hyperparameters only."""
    hypermodel = _build_hypermodel(arguments)
    if bound is None or not _is_bounded(hypermodel):
        return hypermodel
    build = hypermodel.build

    def built(hp: Any, *args: Any, **named: Any) -> Any:
        return build_without_values(_keras3(), lambda: build(hp, *args, **named), bound)

    hypermodel.build = built
    return hypermodel


def _build_hypermodel(arguments: dict[str, Any]) -> Any:
    found = arguments["hypermodel"]
    return found if found is None or isinstance(found, kt.HyperModel) else _OfFunction(found)


def _is_bounded(hypermodel: Any) -> bool:
    """True if the RAM bound applies to the models; with a GPU they are in GPU memory."""
    return hypermodel is not None and _keras3() is not None and not visible_gpus()


class _OfFunction(kt.HyperModel):
    """Equivalent of KerasTuner's own class, which is private there."""

    def __init__(self, build: Callable[[Any], Any]) -> None:
        super().__init__()
        self.build: Any = build


def _keras3() -> Any:
    import keras

    return keras if keras.__version__ >= "3" else None


def results_of(plain: Any) -> Any:
    """Convert plain results back to the form that KerasTuner takes."""
    if isinstance(plain, list):
        return [results_of(each) for each in plain]
    if "value" in plain:
        return plain["value"]
    import keras

    history = keras.callbacks.History()
    history.history = plain["history"]
    return history


def failure_reason(message: str) -> str:
    """The reason without the traceback, which is that of the waiting process."""
    last = message.strip().rpartition("FailedTrialError: ")[2].rpartition("RuntimeError: ")[2]
    return last or message
