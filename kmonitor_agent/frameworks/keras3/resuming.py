# pyright: basic
"""Resuming of a Keras 3 `fit`: the model is built again, its data continue where they were.

A `tf.data` shuffle draws a new seed for every iterator over it, and with `steps_per_epoch` one
iterator serves several epochs: so a fit that continues at a later epoch, or is left out, must
create the iterators of the epochs before, and take the batches that they took. On JAX and PyTorch
an iterator over arrays draws its order from numpy's or PyTorch's generator when its first batch is
taken; where it serves several epochs, it begins again from the states of that moment.
"""

import contextlib
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import GeneratorType
from typing import Any, Literal

from kmonitor_agent.call_stacks import frame_locals
from kmonitor_agent.frameworks.base import KerasModel
from kmonitor_agent.frameworks.global_state import write_random_states
from kmonitor_agent.frameworks.keras3.state import optimizers_of
from kmonitor_agent.frameworks.model_building import build_with_optimizers
from kmonitor_agent.frameworks.model_parts import strategy_of, variables_within
from kmonitor_agent.frameworks.resuming import IteratorStart, find_fit_frame
from kmonitor_agent.frameworks.script_values import (
    has_attribute,
    instance_dict,
    is_instance,
    items_of,
    safe_getattr,
)

_BACKENDS = ("tensorflow", "jax", "torch")
_VALIDATION = ("val_x", "val_y", "val_sample_weight")
BatchesTaken = Literal["nothing", "first", "all"]


@dataclass(frozen=True, slots=True)
class Keras3FitData:
    """Data in the frame of Keras' `fit`; implements `FitData`.

    Attributes:
        iterator: `EpochIterator` of the fit.
        validation: Arguments for the `EpochIterator` of the validation; empty without a
            validation.
        epochs: Argument `epochs` of the script.
    """

    iterator: Any
    validation: dict[str, Any]
    epochs: int

    def has_iterator(self) -> bool | None:
        if not self._lasts_and_draws() or self.iterator._steps_seen:  # noqa: SLF001
            return None
        return self.iterator._current_iterator is not None  # noqa: SLF001

    def skip_epochs(self, epochs: int, *, goes_on: bool, start: IteratorStart | None) -> None:
        iterator = self.iterator
        if goes_on and start is not None and self._lasts_and_draws():
            for _ in range(start.epochs):
                _run_through(iterator, "nothing")
            self._begin_again(start)
            for _ in range(epochs - start.epochs):
                _run_through(iterator, "all")
            return
        eats = self._batches_taken(goes_on=goes_on)
        for _ in range(epochs):
            _run_through(iterator, eats)

    def skip_evaluations(self, model: Any, evaluations: int) -> None:
        arguments = self.validation
        if not evaluations or not arguments or not _has_state(arguments["x"]):
            return
        iterator = type(self.iterator)(**arguments, shuffle=False)
        for _ in range(evaluations):
            iterator.reset()
            is_python = _adapter(iterator) == "GeneratorDataAdapter"
            eats = "all" if is_python or not iterator.num_batches else _least(iterator)
            _run_through(iterator, eats)
        model._eval_epoch_iterator = iterator  # noqa: SLF001 - private, looked for; as `fit` does

    def settle(self) -> None:
        """Do nothing: Keras 3 finishes an epoch before `on_epoch_end`."""

    def begin_first_epoch(self) -> None:
        """Do nothing: `skip_epochs` did it."""

    def read_generators(self) -> list[Any]:
        """States of PyTorch's loaders, for training and validation."""
        return [each.get_state().numpy().copy() for each in self._generators()]

    def write_generators(self, states: Sequence[Any]) -> None:
        torch = sys.modules.get("torch")
        for generator, state in zip(self._generators(), states, strict=False):
            generator.set_state(torch.from_numpy(state.copy()))  # pyright: ignore[reportOptionalMemberAccess]

    def _generators(self) -> list[Any]:
        loaders = (
            getattr(self.iterator.data_adapter, "_dataloader", None),
            self.validation.get("x"),
        )
        generators = {id(each): each for loader in loaders for each in _loader_generators(loader)}
        return list(generators.values())

    def _lasts_and_draws(self) -> bool:
        # An iterator of TensorFlow's draws by seeds of its own, but where Python orders the data.
        iterator = self.iterator
        if iterator.steps_per_epoch is None or not getattr(iterator, "_num_batches", None):
            return False
        return not _is_tensorflows(iterator) or _adapter(iterator) == "PyDatasetAdapter"

    def _begin_again(self, start: IteratorStart) -> None:
        iterator = self.iterator
        iterator._current_iterator = None  # noqa: SLF001
        iterator._steps_seen = 0  # noqa: SLF001
        if start.existed:
            iterator._current_iterator = iter(iterator._get_iterator())  # noqa: SLF001
        write_random_states(start.random)
        self.write_generators(start.generators)

    def _batches_taken(self, *, goes_on: bool) -> BatchesTaken:
        iterator = self.iterator
        knows_length = bool(iterator.num_batches)
        lasts = iterator.steps_per_epoch is not None or not knows_length
        is_python = _adapter(iterator) == "GeneratorDataAdapter"
        if (lasts and goes_on) or is_python or not knows_length:
            return "all"
        return _least(iterator)


def _has_state(data: Any) -> bool:
    """True if passing through data changes what the next pass gives: arrays stay the same."""
    tf = sys.modules.get("tensorflow")
    kinds = (GeneratorType, *(() if tf is None else (tf.data.Dataset,)))
    return is_instance(data, *kinds)


def _adapter(iterator: Any) -> str:
    return type(iterator.data_adapter).__name__


def _is_tensorflows(iterator: Any) -> bool:
    return hasattr(iterator, "_distributed_dataset")


def _least(iterator: Any) -> BatchesTaken:
    """Batches to take of an epoch that is skipped."""
    # Elsewhere than on TensorFlow its iterators are made when the first batch is taken.
    is_lazy = _adapter(iterator) == "TFDatasetAdapter" and not _is_tensorflows(iterator)
    return "first" if is_lazy else "nothing"


def _run_through(iterator: Any, batches_taken: BatchesTaken) -> None:
    # As in `fit`, where the step function takes the batches. Keras warns of running out of data
    # again when the epochs go on.
    if batches_taken == "first":
        next(iter(iterator._get_iterator()), None)  # noqa: SLF001
        return
    with warnings.catch_warnings(), contextlib.ExitStack() as ended:
        warnings.simplefilter("ignore")
        ended.enter_context(iterator.catch_stop_iteration())
        for *_, batches in _steps(iterator, batches_taken):
            if batches_taken == "all" and hasattr(batches, "__next__"):
                for _ in range(iterator.steps_per_execution):
                    next(batches)


def _steps(iterator: Any, batches_taken: BatchesTaken) -> Any:
    if batches_taken == "nothing" and type(iterator).__name__ == "TorchEpochIterator":
        return iterator._enumerate_iterator()  # noqa: SLF001 - its own `next` takes the batches
    # Keras 3.6 has no iterator there, and one number less in what it gives.
    return iterator if hasattr(iterator, "__iter__") else iterator.enumerate_epoch()


def _loader_generators(loader: Any) -> Iterator[Any]:
    """Generators of a `torch.utils.data.DataLoader` and its samplers; none for anything else."""
    torch = sys.modules.get("torch")
    if torch is None or not is_instance(loader, torch.utils.data.DataLoader):
        return
    batches = safe_getattr(loader, "batch_sampler")
    for holder in (loader, safe_getattr(loader, "sampler"), safe_getattr(batches, "sampler")):
        generator = safe_getattr(holder, "generator")
        if is_instance(generator, torch.Generator):
            yield generator


class Keras3FitResumer:
    def why_not_resumable(self, model: KerasModel, callbacks: Sequence[Any]) -> str:
        del callbacks
        if not has_attribute(model, "_initial_epoch"):
            return "this version of Keras cannot start a fit at a later epoch"
        why = _why_unsupported(model)
        if not why and self.find_data() is None:
            return (
                "this version of Keras does not keep the data of a fit where kmonitor expects it"
            )
        return why

    def find_data(self) -> Keras3FitData | None:
        frame = find_fit_frame("epoch_iterator")
        if frame is None:
            return None
        with frame_locals(frame) as fit_locals:
            iterator = fit_locals.get("epoch_iterator")
            if iterator is None:
                return None
            validation = _validation(fit_locals, iterator)
            return Keras3FitData(iterator, validation, int(fit_locals.get("epochs") or 0))

    def why_not_exact(self, inexact: str) -> str:
        """Always empty: a step that may draw differently is reported, and left to the user."""
        del inexact
        return ""

    def read_trained(self, model: KerasModel) -> tuple[tuple[int, ...], ...]:
        """See `FitResumer.read_trained`.

        An optimizer that is not built yet trains no variables.
        """
        index_by_id = {id(each): index for index, each in enumerate(variables_within(model))}
        return tuple(
            tuple(
                index_by_id[id(each)] for each in _trained_by(optimizer) if id(each) in index_by_id
            )
            for optimizer in optimizers_of(model)
        )

    def build_again(
        self, model: KerasModel, config: Any, trained: Sequence[Sequence[int]]
    ) -> None:
        build_with_optimizers(model, config, trained, optimizers_of(model), _build)

    def make_global_seed(self) -> None:
        try:
            from keras.src.random import seed_generator

            seed_generator.global_seed_generator()
        except (ImportError, AttributeError, ValueError):
            return

    def begin_at(self, model: KerasModel, epoch: int | None) -> None:
        """See `FitResumer.begin_at`; Keras never resets the epoch by itself."""
        # Private, looked for; Keras' own callback sets it. The script's class may hear of it.
        instance_dict(model)["_initial_epoch"] = epoch


def _why_unsupported(model: KerasModel) -> str:
    keras: Any = sys.modules.get("keras")
    try:
        backend = str(keras.backend.backend())
        distribution = keras.distribution.distribution() if backend == "jax" else None
    except AttributeError:
        return "this version of Keras does not report its backend"
    if backend not in _BACKENDS:
        return (
            f"a restart is not supported with Keras on {backend}; it is supported on "
            f"{', '.join(_BACKENDS)}"
        )
    if distribution is not None:
        return "the model is trained under keras.distribution, across several devices"
    strategy = strategy_of(model) if backend == "tensorflow" else None
    if strategy is not None and getattr(strategy, "num_replicas_in_sync", 1) > 1:
        return "the model is trained under a strategy with several replicas"
    return ""


def _validation(fit_locals: Any, iterator: Any) -> dict[str, Any]:
    if fit_locals.get("validation_data") is None:
        return {}
    x, y, weights = (fit_locals.get(name) for name in _VALIDATION)
    arguments = {
        "x": x,
        "y": y,
        "sample_weight": weights,
        "batch_size": fit_locals.get("validation_batch_size") or fit_locals.get("batch_size"),
        "steps_per_epoch": fit_locals.get("validation_steps"),
        "steps_per_execution": iterator.steps_per_execution,
    }
    strategy = getattr(iterator, "_distribute_strategy", None)
    return arguments if strategy is None else {**arguments, "distribute_strategy": strategy}


def _build(optimizer: Any, variables: list[Any]) -> None:
    if variables and not getattr(optimizer, "built", True):
        optimizer.build(variables)


def _trained_by(optimizer: Any) -> list[Any]:
    inner = instance_dict(optimizer).get("inner_optimizer", optimizer)
    return items_of(instance_dict(inner).get("_trainable_variables"))
