# pyright: basic
"""The data of a running `fit`, brought to where an earlier process had left them.

A `tf.data` shuffle draws a new seed for every iterator that is made of it, and with
`steps_per_epoch` one iterator serves several epochs: so a fit that goes on at a later epoch, or
is left out, must make the iterators of the epochs before, and eat what they had eaten.
"""

import contextlib
import inspect
import sys
import warnings
from dataclasses import dataclass
from types import FrameType
from typing import Any

_VALIDATION = ("val_x", "val_y", "val_sample_weight")


@dataclass(frozen=True, slots=True)
class FitData:
    """What the frame of Keras' `fit` holds.

    Attributes:
        iterator: Its `EpochIterator`.
        validation: Arguments for that of the validation; empty without one.
        initial_epoch: As the script gave it.
        epochs: Likewise.
    """

    iterator: Any
    validation: dict[str, Any]
    initial_epoch: int
    epochs: int


def find_fit_data() -> FitData | None:
    """The data of the innermost `fit` among this function's callers; None if none is found."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name == "fit" and "epoch_iterator" in frame.f_code.co_varnames:
            return _read(frame)
        frame = frame.f_back
    return None


def skip_epochs(data: FitData, epochs: int, *, goes_on: bool) -> None:
    """Make the iterators of that many epochs.

    Args:
        data: Of the running fit.
        epochs: How many ran before.
        goes_on: Whether epochs follow; else only what outlives the fit is moved.
    """
    iterator = data.iterator
    adapter = type(iterator.data_adapter).__name__
    knows_length = bool(iterator.num_batches)
    is_python = adapter == "GeneratorDataAdapter"
    lasts = iterator.steps_per_epoch is not None or not knows_length
    for _ in range(epochs):
        _run_through(iterator, eats=(lasts and goes_on) or is_python or not knows_length)


def skip_evaluations(model: Any, data: FitData, evaluations: int) -> None:
    """The same for the validations; Keras then goes on with the iterator made here."""
    found = data.validation
    if not evaluations or not found or not _has_state(found["x"]):
        return
    iterator = type(data.iterator)(**found, shuffle=False)
    for _ in range(evaluations):
        iterator.reset()
        is_python = type(iterator.data_adapter).__name__ == "GeneratorDataAdapter"
        _run_through(iterator, eats=is_python or not iterator.num_batches)
    model._eval_epoch_iterator = iterator  # noqa: SLF001 - private, looked for; `fit` makes it so


def _read(frame: FrameType) -> FitData | None:
    found: Any = frame.f_locals
    try:
        iterator = found.get("epoch_iterator")
        if iterator is None:
            return None
        return FitData(
            iterator,
            _validation(found, iterator),
            int(found.get("initial_epoch") or 0),
            int(found.get("epochs") or 0),
        )
    finally:
        if isinstance(found, dict):
            # Up to Python 3.12 this is a snapshot that the frame keeps: it would hold the data
            # of the fit a second time. Clearing it leaves the frame's variables alone.
            found.clear()


def _validation(found: Any, iterator: Any) -> dict[str, Any]:
    if found.get("validation_data") is None:
        return {}
    x, y, weights = (found.get(name) for name in _VALIDATION)
    arguments = {
        "x": x,
        "y": y,
        "sample_weight": weights,
        "batch_size": found.get("validation_batch_size") or found.get("batch_size"),
        "steps_per_epoch": found.get("validation_steps"),
        "steps_per_execution": iterator.steps_per_execution,
    }
    strategy = getattr(iterator, "_distribute_strategy", None)
    return arguments if strategy is None else {**arguments, "distribute_strategy": strategy}


def _has_state(data: Any) -> bool:
    """Whether passing through data changes what the next pass gives: arrays stay the same."""
    tf = sys.modules.get("tensorflow")
    return inspect.isgenerator(data) or (tf is not None and isinstance(data, tf.data.Dataset))


def _run_through(iterator: Any, *, eats: bool) -> None:
    # As in `fit`, but that the step function eats the batches there. Running out of data is
    # told again when the epochs go on.
    with warnings.catch_warnings(), contextlib.ExitStack() as ended:
        warnings.simplefilter("ignore")
        ended.enter_context(iterator.catch_stop_iteration())
        # Keras 3.6 has no iterator there, and one number less in what it gives.
        steps = iterator if hasattr(iterator, "__iter__") else iterator.enumerate_epoch()
        for *_, batches in steps:
            if eats and hasattr(batches, "__next__"):
                for _ in range(iterator.steps_per_execution):
                    next(batches)
