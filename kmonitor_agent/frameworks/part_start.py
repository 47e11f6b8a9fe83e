# pyright: basic
"""What Keras does once more when a training in parts begins its next call of `fit`, undone.

A `fit` that begins tells the data of an epoch's end that was none, and reads a batch to learn its
shape where a new model has metrics that are not built: that draws from the generators that
shuffle, and counts names. Neither happens between two epochs of one `fit`.
"""

from typing import Final

from kmonitor_agent.frameworks.global_state import read_random_states, write_random_states
from kmonitor_agent.frameworks.keras_names import read_names, write_names

_SHUFFLING: Final = ("python", "numpy", "torch")
"""Generators that Keras 3 shuffles with; tf.data has its own."""

_TOLD: Final = ("on_epoch_begin", "on_epoch_end")


class PartStart:
    """Stands between two calls of Keras' `fit`; on the training thread."""

    def __init__(self, data: object) -> None:
        """Hold still what a `fit` that is about to begin would move.

        Args:
            data: What is trained on, the argument `x`.
        """
        states = read_random_states()
        self._states = {name: states.get(name) for name in _SHUFFLING}
        self._names = read_names()
        self._data = data if _is_py_dataset(data) else None
        self._hidden: list[str] = []
        for name in _TOLD if self._data is not None else ():
            # Only in the instance, and only until the first epoch; one that has it there keeps it.
            if name not in getattr(data, "__dict__", {name: None}):
                setattr(data, name, _untold)
                self._hidden.append(name)

    def over(self) -> None:
        """The first epoch of the part is about to begin: all is as after the epoch before."""
        for name in self._hidden:
            delattr(self._data, name)
        self._hidden = []
        write_random_states(self._states)
        self._states = {}
        write_names(self._names)


def _is_py_dataset(data: object) -> bool:
    return any(cls.__name__ == "PyDataset" for cls in type(data).__mro__)


def _untold() -> None:
    """An epoch that is none."""
