# pyright: basic
"""Resuming of a tf_keras `fit`: the model is built again, its data continue where they were.

Over arrays, generators and with `steps_per_epoch` one iterator serves all epochs of a `fit`: it is
created when the first epoch begins, and the batches of the epochs before are skipped then.
Otherwise one is created for each epoch, and one more before the first.
"""

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kmonitor_agent.call_stacks import frame_locals
from kmonitor_agent.frameworks.base import KerasModel
from kmonitor_agent.frameworks.global_state import read_random_states, write_random_states
from kmonitor_agent.frameworks.model_building import PARTS, build_with_optimizers
from kmonitor_agent.frameworks.model_parts import strategy_of, variables_within, wrapped_optimizer
from kmonitor_agent.frameworks.resuming import IteratorStart, find_fit_frame
from kmonitor_agent.frameworks.script_values import (
    class_bases,
    class_name,
    class_package,
    has_attribute,
    instance_dict,
    is_instance,
    items_of,
)
from kmonitor_agent.frameworks.tf_keras.state import optimizers_of

_HANDLER = "data_handler"
"""Variable of `fit` that holds the data."""

_VALIDATION = ("val_x", "val_y", "val_sample_weight")
_PASSED_ON = ("max_queue_size", "workers", "use_multiprocessing")
_LOOKED_FOR = ("_training_state", "_maybe_load_initial_counters_from_ckpt", "_steps_per_execution")


@dataclass(slots=True)
class TfKerasFitData:
    """Data in the frame of tf_keras' `fit`; implements `FitData`.

    Attributes:
        handler: `DataHandler` of the fit.
        validation: Arguments for the `DataHandler` of the validation; empty without a validation.
        epochs: Argument `epochs` of the script.
        behind: Number of epochs whose batches have yet to be taken from the iterator.
        ended: Number of epochs that ran; the data handler has yet to finish the last one.
    """

    handler: Any
    validation: dict[str, Any]
    epochs: int
    behind: int = field(default=0)
    ended: int = field(default=0)

    def has_iterator(self) -> bool | None:
        """Always None: TensorFlow's iterators draw by seeds of their own."""
        return None

    def skip_epochs(self, epochs: int, *, goes_on: bool, start: IteratorStart | None) -> None:
        del start
        adapter = self.handler._adapter  # noqa: SLF001 - private, looked for
        self.ended = epochs
        if adapter.should_recreate_iterator():
            for n in range(epochs):
                if n:
                    adapter.on_epoch_end()
                _pass(self.handler)
        elif goes_on:
            self.behind = epochs
        elif type(adapter).__name__ == "GeneratorDataAdapter":
            # The script's generator may serve its next fit as well.
            self._consume(iter(self.handler._dataset), epochs)  # noqa: SLF001

    def skip_evaluations(self, model: Any, evaluations: int) -> None:
        arguments = self.validation
        if not evaluations or not arguments or not _has_state(arguments["x"]):
            return
        handler = type(self.handler)(
            **arguments,
            initial_epoch=0,
            epochs=1,
            model=model,
            steps_per_execution=model._steps_per_execution,  # noqa: SLF001
        )
        for _ in range(evaluations):
            _evaluate(handler)
        model._eval_data_handler = handler  # noqa: SLF001 - private, looked for; as `fit` does

    def settle(self) -> None:
        """End the last epoch: tf_keras does so after the callbacks, and so after the saving."""
        if self.ended:
            self.handler._adapter.on_epoch_end()  # noqa: SLF001

    def begin_first_epoch(self) -> None:
        """Take batches from the iterator with which `fit` continues."""
        epochs, self.behind = self.behind, 0
        if not epochs:
            return
        iterator = _local("iterator")
        if iterator is not None:
            # Callbacks may have drawn since the states were put back.
            states = read_random_states()
            self._consume(iterator, epochs)
            write_random_states(states)

    def read_generators(self) -> list[Any]:
        return []

    def write_generators(self, states: Sequence[Any]) -> None:
        pass

    def _consume(self, iterator: Any, epochs: int) -> None:
        steps = self.handler.inferred_steps
        left = None if steps is None else steps * epochs
        while left is None or left > 0:
            if next(iterator, None) is None:
                return
            left = None if left is None else left - 1


def _local(name: str) -> Any:
    frame = find_fit_frame(_HANDLER)
    if frame is None:
        return None
    with frame_locals(frame) as fit_locals:
        return fit_locals.get(name)


def _has_state(data: Any) -> bool:
    """True if passing through data changes what the next pass gives: arrays stay the same."""
    tf = sys.modules["tensorflow"]
    is_iterator = hasattr(data, "__next__")
    return is_iterator or isinstance(data, tf.data.Dataset) or hasattr(data, "on_epoch_end")


def _pass(handler: Any) -> None:
    """One epoch's iterator; run through where that gives the data's length, or moves them on."""
    iterator = iter(handler._dataset)  # noqa: SLF001
    if handler.inferred_steps is None or _is_pythons(handler):
        eaten = sum(1 for _ in iterator)
        if handler.inferred_steps is None:
            handler._inferred_steps = eaten  # noqa: SLF001


def _evaluate(handler: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _, iterator in handler.enumerate_epochs():
            with handler.catch_stop_iteration():
                for step in handler.steps():
                    del step
                    if handler.inferred_steps is None or _is_pythons(handler):
                        next(iterator)


def _is_pythons(handler: Any) -> bool:
    return type(handler._adapter).__name__ == "GeneratorDataAdapter"  # noqa: SLF001


def is_keras2(model: KerasModel) -> bool:
    """True if a model is one of tf_keras 2, or of Keras up to 2.15."""
    return has_attribute(model, "_training_state")


class _GoesOnAt:
    """A training state like that of `fit`, which tells `fit` its first epoch."""

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch

    def maybe_load_initial_counters_from_ckpt(
        self, steps_per_epoch: Any, initial_epoch: int, mode: Any
    ) -> tuple[int, int]:
        del steps_per_epoch, initial_epoch, mode
        return self._epoch, 0


class TfKerasFitResumer:
    def why_not_resumable(self, model: KerasModel, callbacks: Sequence[Any]) -> str:
        tf: Any = sys.modules["tensorflow"]
        if not tf.compat.v1.executing_eagerly_outside_functions():
            return "in v1 graph mode, a fit cannot be resumed in another process"
        if not all(has_attribute(model, name) for name in _LOOKED_FOR):
            return "this version of tf_keras cannot start a fit at a later epoch"
        if any(map(_is_backup, callbacks)):
            return (
                "BackupAndRestore sets where a fit starts: remove it when using kmonitor "
                "run, which saves more state"
            )
        if getattr(strategy_of(model), "num_replicas_in_sync", 1) > 1:
            return "the model is trained under a strategy with several replicas"
        if self.find_data() is None:
            return (
                "this version of tf_keras does not keep the data of a fit where kmonitor expects"
                " it"
            )
        return ""

    def find_data(self) -> TfKerasFitData | None:
        frame = find_fit_frame(_HANDLER)
        if frame is None:
            return None
        with frame_locals(frame) as fit_locals:
            handler = fit_locals.get(_HANDLER)
            if not hasattr(handler, "enumerate_epochs") or not hasattr(handler, "_adapter"):
                return None
            return TfKerasFitData(
                handler, _validation(fit_locals), int(fit_locals.get("epochs") or 0)
            )

    def why_not_exact(self, inexact: str) -> str:
        """Non-empty if a traced step has stateful operations, which restart in a new process."""
        return inexact

    def read_trained(self, model: KerasModel) -> tuple[tuple[int, ...], ...]:
        variables = variables_within(model)
        return tuple(_trained_by(each, variables) for each in optimizers_of(model))

    def build_again(
        self, model: KerasModel, config: Any, trained: Sequence[Sequence[int]]
    ) -> None:
        has_shapes = bool(config) and (PARTS in config or config.get("input_shape") is not None)
        optimizers = [_inner(each) for each in optimizers_of(model)]
        build_with_optimizers(model, config if has_shapes else None, trained, optimizers, _build)

    def make_global_seed(self) -> None:
        """Do nothing: tf_keras' own generator is not among the variables."""

    def begin_at(self, model: KerasModel, epoch: int | None) -> None:
        # `fit` reads it once, after `on_train_begin`.
        if epoch is not None:
            instance_dict(model)["_training_state"] = _GoesOnAt(epoch)  # private, looked for
        elif is_instance(instance_dict(model).get("_training_state"), _GoesOnAt):
            instance_dict(model)["_training_state"] = None


def _is_backup(callback: object) -> bool:
    return any(
        class_name(base) == "BackupAndRestore" and class_package(base) in {"keras", "tf_keras"}
        for base in class_bases(type(callback))
    )


def _validation(fit_locals: Any) -> dict[str, Any]:
    data = fit_locals.get("validation_data")
    if data is None or (is_instance(data, list, tuple) and not items_of(data)):
        return {}
    x, y, weights = (fit_locals.get(name) for name in _VALIDATION)
    return {
        "x": x,
        "y": y,
        "sample_weight": weights,
        "batch_size": fit_locals.get("validation_batch_size") or fit_locals.get("batch_size"),
        "steps_per_epoch": fit_locals.get("validation_steps"),
        **{name: fit_locals[name] for name in _PASSED_ON if name in fit_locals},
    }


def _build(optimizer: Any, variables: list[Any]) -> None:
    tf: Any = sys.modules["tensorflow"]
    with tf.init_scope():
        if hasattr(optimizer, "_create_all_weights"):
            optimizer._create_all_weights(variables)  # noqa: SLF001 - private, looked for
        elif variables and not getattr(optimizer, "_built", False):
            optimizer.build(variables)


def _trained_by(optimizer: Any, variables: list[Any]) -> tuple[int, ...]:
    inner = _inner(optimizer)
    # Optimizers of before TensorFlow 2.11 keep slots by variable, in the order of the first step.
    values = instance_dict(inner)
    slot_keys = list(values.get("_index_dict") or values.get("_slots") or ())
    index_by_key = {_key(each): index for index, each in enumerate(variables)}
    return tuple(index_by_key[key] for key in slot_keys if key in index_by_key)


def _inner(optimizer: Any) -> Any:
    inner = wrapped_optimizer(optimizer)
    return optimizer if inner is None else inner


def _key(variable: Any) -> Any:
    return getattr(variable, "_unique_id", id(variable))
