"""Cost of loading a model, with separate processes for each method, and a recommendation."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from kmonitor.base.errors import UserError
from kmonitor.memory.model_files.description import ModelSource, answer_of, never_cancelled, remedy
from kmonitor.memory.model_files.inspection import inspect_file

LoadingMethod = Literal["compiled", "uncompiled", "weights", "recompiled", "built"]
Optimizer = Literal["whole", "without state", "lost"]

_CHILD: Final = "from kmonitor_agent.describing.load_child import main; main()"

REPEATS: Final = 5
"""Processes per method: memory of equal loads differs by up to 9%, medians of five by some 2%.
Source: measured on a ResNet50 with Keras 3.15."""

_CHUNK_BYTES: Final = 2**20

LOADING_METHODS: Final[dict[LoadingMethod, str]] = {
    "compiled": "load_model(compile=True)",
    "uncompiled": "load_model(compile=False)",
    "weights": "architecture, then load_weights",
    "recompiled": "architecture, compiled, then load_weights",
    "built": "architecture only, no weights",
}


class LoadCost(msgspec.Struct, frozen=True):
    """Cost of one method, over all its processes.

    Attributes:
        loading_method: See `LOADING_METHODS`.
        peak_bytes: Median of the highest resident set beyond that of the imported framework.
        resident_bytes: Median of the memory that stays after the load.
        seconds: Least duration of the load alone, as other load can only add to it.
        optimizer: "whole": with its state; "without state": as if new; "lost".
        can_train_on: True if training can continue exactly with these weights and this optimizer.
        repeats: Number of processes.
        error: Reason why this method does not work; empty if it does.
    """

    loading_method: LoadingMethod
    peak_bytes: int = 0
    resident_bytes: int = 0
    seconds: float = 0.0
    optimizer: Optimizer = "lost"
    can_train_on: bool = False
    repeats: int = 0
    error: str = ""


class Recommendation(msgspec.Struct, frozen=True):
    """Methods with the least memory.

    Attributes:
        predict: Method for predictions only; None if none works.
        train: Method for continuing the training exactly; None if none can.
    """

    predict: LoadingMethod | None
    train: LoadingMethod | None


class LoadCostReply(msgspec.Struct, frozen=True):
    peak_bytes: int = 0
    resident_bytes: int = 0
    seconds: float = 0.0
    optimizer: Optimizer = "lost"
    error: str = ""


def loading_methods(path: Path, *, has_architecture: bool) -> tuple[LoadingMethod, ...]:
    """Return the methods by which a file can be loaded.

    Args:
        path: A `.keras` or `.h5` file.
        has_architecture: True if the file contains the model's architecture.
    """
    if path.suffix == ".keras" or has_architecture:
        return ("compiled", "uncompiled", "weights", "recompiled", "built")
    return ("weights", "built")


def possible_methods(path: Path) -> tuple[LoadingMethod, ...]:
    """Return the methods for a file from its contents, read before a process is started.

    Raises:
        UserError: The file is damaged, of another kind, or has no weights.
    """
    found = inspect_file(path)
    if found.form == "json":
        raise UserError(
            f"{path} contains only an architecture; there are no weights to load.",
            "Pass the file with the weights, and pass this one with --config.",
        )
    return loading_methods(path, has_architecture=found.form != "weights")


def measure(
    path: Path,
    source: ModelSource,
    methods: Sequence[LoadingMethod],
    *,
    repeats: int = REPEATS,
    on_progress: Callable[[int, int], None] | None = None,
    is_cancelled: Callable[[], bool] = never_cancelled,
) -> list[LoadCost]:
    """Load a file by each method in turn, each time in a new process.

    Args:
        source: Source of the architecture, with checked classes.
        repeats: Processes per method, at least 1.
        on_progress: Called with the number of finished and of all processes.
        is_cancelled: Called several times a second; True cancels the measurement.

    Raises:
        UserError: No method works.
        DescriptionCancelled: The caller cancelled the measurement.
    """
    _warm(path)
    found: dict[LoadingMethod, list[LoadCostReply]] = {method: [] for method in methods}
    total = repeats * len(methods)
    for n_done, method in enumerate(_interleaved(methods, repeats), start=1):
        before = found[method]
        if not (before and before[-1].error):
            before.append(_measure_once(path, source, method, is_cancelled))
        if on_progress is not None:
            on_progress(n_done, total)
    costs = [_medians(method, found[method]) for method in methods]
    if all(each.error for each in costs):
        why = costs[0].error
        raise UserError(f"{path} cannot be loaded: {why}", remedy(why))
    return costs


def recommend(costs: Sequence[LoadCost]) -> Recommendation:
    """Method with the lowest peak for each purpose; resident memory decides between equals."""
    usable = [each for each in costs if not each.error and each.loading_method != "built"]
    able = [each for each in usable if each.can_train_on]
    return Recommendation(_least(usable), _least(able))


def _interleaved(methods: Sequence[LoadingMethod], repeats: int) -> Iterator[LoadingMethod]:
    """Methods in alternating order, so that none always has warmer caches."""
    for n in range(repeats):
        yield from methods if n % 2 == 0 else reversed(methods)


def _warm(path: Path) -> None:
    """Read the file once, so that the first method has no colder cache than the others."""
    try:
        with path.open("rb") as file:
            while file.read(_CHUNK_BYTES):
                pass
    except OSError:
        pass  # each way says so


def _measure_once(
    path: Path, source: ModelSource, method: LoadingMethod, is_cancelled: Callable[[], bool]
) -> LoadCostReply:
    request = {"file": str(path.absolute()), "mode": method, "source": source}
    try:
        return answer_of(_CHILD, request, LoadCostReply, "loads the model", is_cancelled)
    except UserError as exc:
        return LoadCostReply(error=exc.what)


def _medians(method: LoadingMethod, replies: Sequence[LoadCostReply]) -> LoadCost:
    error = next((each.error for each in replies if each.error), "")
    if error:
        return LoadCost(method, error=error)
    optimizer: Optimizer = replies[0].optimizer
    return LoadCost(
        loading_method=method,
        peak_bytes=int(statistics.median(each.peak_bytes for each in replies)),
        resident_bytes=int(statistics.median(each.resident_bytes for each in replies)),
        seconds=min(each.seconds for each in replies),
        optimizer=optimizer,
        can_train_on=optimizer == "whole",
        repeats=len(replies),
    )


def _least(costs: Sequence[LoadCost]) -> LoadingMethod | None:
    found = min(costs, key=lambda each: (each.peak_bytes, each.resident_bytes), default=None)
    return None if found is None else found.loading_method
