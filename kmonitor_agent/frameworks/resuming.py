"""What is asked of a Keras so that another process can take up its fits, and who answers."""

from collections.abc import Sequence
from typing import Any, Protocol

from kmonitor_agent.frameworks.base import IteratorStart, KerasModel
from kmonitor_agent.frameworks.keras3 import resuming
from kmonitor_agent.frameworks.keras3 import resuming as keras3_resuming
from kmonitor_agent.frameworks.tf_keras import resuming as tf_keras_resuming


class FitData(Protocol):
    """The data of a running `fit`, brought to where an earlier process had left them."""

    @property
    def epochs(self) -> int:
        """As the script gave it."""
        ...

    def has_iterator(self) -> bool | None:
        """Before an epoch: whether the iterator that serves it and later ones is made already.

        None where nothing has to be known of that: it serves one epoch, is in use already, or
        draws nothing.
        """
        ...

    def skip_epochs(self, epochs: int, *, goes_on: bool, start: IteratorStart | None) -> None:
        """Make the iterators of the epochs that ran before.

        Args:
            epochs: How many ran.
            goes_on: Whether epochs follow; else only what outlives the fit is moved.
            start: Where the iterator began that serves the next epoch too; None if none does.
        """
        ...

    def skip_evaluations(self, model: KerasModel, evaluations: int) -> None:
        """The same for that many validations; Keras goes on with the iterator made here."""
        ...

    def settle(self) -> None:
        """The random states are put back: do what follows the last epoch that ran."""
        ...

    def begin_first_epoch(self) -> None:
        """The first epoch begins and has its iterator: eat what earlier epochs had eaten."""
        ...

    def read_generators(self) -> list[Any]:
        """States of random generators that the data have of their own, as arrays."""
        ...

    def write_generators(self, states: Sequence[Any]) -> None:
        """Put them back."""
        ...


class FitResumer(Protocol):
    """What another process needs of a Keras; implemented by a module for each."""

    def why_not_resumable(self, model: KerasModel, callbacks: Sequence[Any], /) -> str:
        """Why another process could not take this model's fit up; empty when it could.

        Asked while a fit's callbacks are told of its begin.
        """
        ...

    def why_not_exact(self, inexact: str, /) -> str:
        """Why a fit whose step was traced could not go on the same elsewhere; empty if it could.

        Args:
            inexact: What `ReclaimSteps.inexact` says.
        """
        ...

    def read_trained(self, model: KerasModel, /) -> tuple[tuple[int, ...], ...]:
        """For each of the model's optimizers, which of the model's variables it trains."""
        ...

    def build_again(
        self, model: KerasModel, config: Any, trained: Sequence[Sequence[int]], /
    ) -> None:
        """Build model and optimizers as they were. Raises: `CannotBuild`."""
        ...

    def make_global_seed(self) -> None:
        """Make the global seed generator, which the process before had made."""
        ...

    def begin_at(self, model: KerasModel, epoch: int | None, /) -> None:
        """Have the `fit` whose begin is being told start at an epoch; None: as called."""
        ...


def fit_resumer(model: KerasModel) -> FitResumer:
    """Who takes up fits of this model's Keras."""
    return tf_keras_resuming if tf_keras_resuming.is_keras2(model) else keras3_resuming


def find_data(model: KerasModel) -> FitData | None:
    """The data of the innermost `fit` among this function's callers; None if none is found."""
    if tf_keras_resuming.is_keras2(model):
        return tf_keras_resuming.find_fit_data()
    return resuming.find_fit_data()
