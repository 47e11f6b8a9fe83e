# pyright: basic
"""The data of a running tf_keras `fit`, brought to where an earlier process had left them.

Over arrays, generators and with `steps_per_epoch` one iterator serves all epochs of a `fit`: it is
made when the first epoch begins, and eaten then as far as the epochs before had eaten it. Else
one is made for each epoch, and one more before the first.
"""

import inspect
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from kmonitor_agent.call_stacks import locals_of
from kmonitor_agent.frameworks.base import IteratorBegan
from kmonitor_agent.frameworks.global_state import read_random_states, write_random_states

_VALIDATION = ("val_x", "val_y", "val_sample_weight")
_PASSED_ON = ("max_queue_size", "workers", "use_multiprocessing")


@dataclass(slots=True)
class TfKerasData:
    """What the frame of tf_keras' `fit` holds; implements `RunningData`.

    Attributes:
        handler: Its `DataHandler`.
        validation: Arguments for that of the validation; empty without one.
        epochs: As the script gave it.
        behind: Epochs whose batches the iterator has yet to eat.
        ended: Epochs that ran, whose last one has yet to be told to the data.
    """

    handler: Any
    validation: dict[str, Any]
    epochs: int
    behind: int = field(default=0)
    ended: int = field(default=0)

    def is_begun(self) -> bool | None:
        """None: TensorFlow's iterators draw by seeds of their own."""
        return None

    def skip_epochs(self, epochs: int, *, goes_on: bool, began: IteratorBegan | None) -> None:
        """See `RunningData.skip_epochs`."""
        del began
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
            self._eat(iter(self.handler._dataset), epochs)  # noqa: SLF001

    def skip_evaluations(self, model: Any, evaluations: int) -> None:
        """See `RunningData.skip_evaluations`."""
        found = self.validation
        if not evaluations or not found or not _has_state(found["x"]):
            return
        handler = type(self.handler)(
            **found,
            initial_epoch=0,
            epochs=1,
            model=model,
            steps_per_execution=model._steps_per_execution,  # noqa: SLF001
        )
        for _ in range(evaluations):
            _evaluate(handler)
        model._eval_data_handler = handler  # noqa: SLF001 - private, looked for; as `fit` does

    def settle(self) -> None:
        """The data are told of an epoch's end after its callbacks, and so after the saving."""
        if self.ended:
            self.handler._adapter.on_epoch_end()  # noqa: SLF001

    def begin_first_epoch(self) -> None:
        """Eat from the iterator that `fit` goes on with."""
        epochs, self.behind = self.behind, 0
        if not epochs:
            return
        iterator = _local("iterator")
        if iterator is not None:
            # Callbacks may have drawn since the states were put back.
            states = read_random_states()
            self._eat(iterator, epochs)
            write_random_states(states)

    def read_generators(self) -> list[Any]:
        """None."""
        return []

    def write_generators(self, states: Sequence[Any]) -> None:
        """Nothing."""

    def _eat(self, iterator: Any, epochs: int) -> None:
        steps = self.handler.inferred_steps
        left = None if steps is None else steps * epochs
        while left is None or left > 0:
            if next(iterator, None) is None:
                return
            left = None if left is None else left - 1


def find_fit_data() -> TfKerasData | None:
    """The data of the innermost `fit` among this function's callers; None if none is found."""
    frame = _fit_frame()
    if frame is None:
        return None
    with locals_of(frame) as found:
        handler = found.get("data_handler")
        if not hasattr(handler, "enumerate_epochs") or not hasattr(handler, "_adapter"):
            return None
        return TfKerasData(handler, _validation(found), int(found.get("epochs") or 0))


def _fit_frame() -> FrameType | None:
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name == "fit" and "data_handler" in frame.f_code.co_varnames:
            return frame
        frame = frame.f_back
    return None


def _local(name: str) -> Any:
    frame = _fit_frame()
    if frame is None:
        return None
    with locals_of(frame) as found:
        return found.get(name)


def _validation(found: Any) -> dict[str, Any]:
    if not found.get("validation_data"):
        return {}
    x, y, weights = (found.get(name) for name in _VALIDATION)
    return {
        "x": x,
        "y": y,
        "sample_weight": weights,
        "batch_size": found.get("validation_batch_size") or found.get("batch_size"),
        "steps_per_epoch": found.get("validation_steps"),
        **{name: found[name] for name in _PASSED_ON if name in found},
    }


def _has_state(data: Any) -> bool:
    """Whether passing through data changes what the next pass gives: arrays stay the same."""
    tf = sys.modules["tensorflow"]
    is_iterator = hasattr(data, "__next__")
    return is_iterator or isinstance(data, tf.data.Dataset) or hasattr(data, "on_epoch_end")


def _pass(handler: Any) -> None:
    """One epoch's iterator; eaten where that tells how long the data are, or moves them on."""
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
