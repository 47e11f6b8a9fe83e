"""`cross_validate` for Keras models, like scikit-learn's, with each fold in a separate process.

from kmonitor.integrations.scikit_learn import cross_validate
scores = cross_validate(make_model, x, y, cv=StratifiedKFold(5), fit={"epochs": 20})
scores["test_accuracy"].mean()
"""

import functools
import importlib
import inspect
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from kmonitor_agent.studies.fold import Fold
from kmonitor_agent.studies.run_folds import Study, run_folds

__all__ = ["cross_validate"]

_NO_CALLBACKS: Final = (
    'cross_validate: fit={"callbacks": ...} cannot be sent to another process. Create the'
    " callbacks in your own function that calls fit with them, and pass that function to "
    "run_folds."
)

_NO_SCORING: Final = (
    "scores are the loss and the metrics that the model is compiled with:"
    ' compile(metrics=["accuracy"]).'
)

_CV: Final = (
    "cross_validate: cv={cv} is not valid; use a number of folds, a splitter (KFold(5)), or"
    " pairs of indices, [(train, test), ...]."
)


def cross_validate(  # noqa: PLR0913 - the user's arguments
    build_model: Callable[[], Any],
    x: Any,
    y: Any = None,
    *,
    cv: Any = 5,
    groups: Any = None,
    fit: Mapping[str, Any] | None = None,
    study: str | Path | None = None,
    **how: Any,
) -> dict[str, Any]:
    """Train and score a model for each fold.

    Args:
        build_model: Function that returns the model, compiled with its metrics.
        x: Samples, an array `[n_samples, ...]`; read by each fold from one file.
        y: Targets, an array `[n_samples, ...]`; None if the model needs none.
        cv: Number of folds, a splitter of scikit-learn (`KFold`, `StratifiedKFold`,
            `GroupKFold`, ...), or pairs of indices.
        groups: Groups for splitters that need them, `[n_samples]`.
        fit: Further arguments of `fit`, plain data: `{"epochs": 20, "batch_size": 64}`.
        study: See `run_folds`.
        **how: Arguments of `run_folds`: memory, timeout_s, retries, at_once.

    Returns:
        As in scikit-learn: "fit_time" and "score_time", seconds, and "test_loss" and "test_NAME"
        for
        each metric, arrays `[n_folds]` with NaN for an unfinished fold; and "study".

    Raises:
        TypeError: The data are no arrays of plain numbers or texts; `fit` has callbacks; an
            argument is not known; `cv` is no splitter.
        Whatever `run_folds` raises before the first fold.
    """
    if "callbacks" in (fit or {}):
        raise TypeError(_NO_CALLBACKS)
    _check_names(how)
    splits = list(_splits(cv, x, y, groups))
    data = {name: _array(name, each) for name, each in (("x", x), ("y", y)) if each is not None}
    function = functools.partial(train_and_score, build=build_model, fit=dict(fit or {}), **data)
    return _scores(run_folds(function, splits, study=study, **how))


def _check_names(how: Mapping[str, Any]) -> None:
    known = [*inspect.signature(run_folds).parameters]
    known_options = [name for name in known if name not in {"train_fold", "folds", "study"}]
    for name in how:
        if name in known_options:
            continue
        hint = _NO_SCORING if name == "scoring" else f"it also takes {', '.join(known_options)}."
        raise TypeError(f"cross_validate: unknown argument {name}=; {hint}")


def _splits(cv: Any, x: Any, y: Any, groups: Any) -> Iterable[Any]:
    if not _can_split(cv):
        raise TypeError(_CV.format(cv=f"{cv!r:.80}"))
    if isinstance(cv, int):
        selection: Any = importlib.import_module("sklearn.model_selection")
        kinds: Any = importlib.import_module("sklearn.utils.multiclass")
        is_classes = y is not None and kinds.type_of_target(y) in {"binary", "multiclass"}
        cv = selection.check_cv(cv, y, classifier=is_classes)
    return cv.split(x, y, groups) if hasattr(cv, "split") else cv


def _can_split(cv: object) -> bool:
    if isinstance(cv, str | type):  # both have a `split` or could be gone through, to no use
        return False
    return hasattr(cv, "split") or isinstance(cv, int | Iterable)


def _array(name: str, data: Any) -> Any:
    array = np.asarray(data)
    if array.dtype.hasobject or array.ndim == 0:
        raise TypeError(
            f"cross_validate: {name} is not an array of numbers or strings; for other data, use"
            " run_folds with a function that reads the data itself."
        )
    return array


def train_and_score(
    fold: Fold, *, build: Callable[[], Any], fit: dict[str, Any], **data: Any
) -> dict[str, Any]:
    """One fold, in its own process."""
    from kmonitor_agent import MonitorCallback  # noqa: PLC0415 - it brings Keras along

    keras = importlib.import_module("tf_keras" if "tf_keras" in sys.modules else "keras")
    keras.utils.set_random_seed(fold.seed)
    model = build()
    started_s = time.monotonic()
    train = [np.asarray(each[fold.train]) for each in data.values()]
    model.fit(*train, **{"verbose": 0, **fit}, callbacks=[MonitorCallback()])
    trained_s = time.monotonic()
    test = [np.asarray(each[fold.test]) for each in data.values()]
    scores = model.evaluate(*test, verbose=0, return_dict=True)
    return {
        "fit_time": trained_s - started_s,
        "score_time": time.monotonic() - trained_s,
        **{f"test_{name}": float(value) for name, value in scores.items()},
    }


def _scores(study: Study) -> dict[str, Any]:
    values: list[dict[str, Any]] = [each or {} for each in study.values]
    names = dict.fromkeys(["fit_time", "score_time", *(name for each in values for name in each)])
    scores: dict[str, Any] = {
        name: np.asarray([each.get(name, np.nan) for each in values]) for name in names
    }
    return {**scores, "study": study}
