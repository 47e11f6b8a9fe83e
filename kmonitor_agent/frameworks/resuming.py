"""Protocols for resuming a fit in another process; each Keras implements them.

`detection.fit_resumer` gives the `FitResumer` of a model. All of it runs on the training thread,
the data (`FitData`) inside of `fit`, from its callbacks.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol

from kmonitor_agent.frameworks.base import KerasModel


@dataclass(frozen=True, slots=True)
class IteratorStart:
    """Where the iterator began that serves several epochs of a fit, and what it drew from.

    Attributes:
        epochs: Epochs that had run before.
        existed: True if it was made before the random states were read.
        random: States of the random generators at that epoch's begin.
        generators: Those of the data's own.
    """

    epochs: int
    existed: bool
    random: dict[str, Any]
    generators: list[Any] = field(default_factory=list[Any])


class FitData(Protocol):
    """The data of a running `fit`, brought to where an earlier process had left them."""

    @property
    def epochs(self) -> int:
        """As the script gave it."""
        ...

    def has_iterator(self) -> bool | None:
        """Before an epoch: True if the iterator that serves it and later ones is made already.

        None where that makes no difference: it serves one epoch, is in use already, or draws
        nothing.
        """
        ...

    def skip_epochs(self, epochs: int, *, goes_on: bool, start: IteratorStart | None) -> None:
        """Make the iterators of the epochs that ran before.

        Args:
            epochs: How many ran.
            goes_on: True if epochs follow; else only what outlives the fit is moved.
            start: Where the iterator began that serves the next epoch too; None if none does.
        """
        ...

    def skip_evaluations(self, model: KerasModel, evaluations: int) -> None:
        """The same for that many validations; Keras goes on with the iterator made here."""
        ...

    def settle(self) -> None:
        """Do what follows the last epoch that ran; the random states are put back by now."""
        ...

    def begin_first_epoch(self) -> None:
        """Skip what earlier epochs took of the iterator; the first epoch begins and has it."""
        ...

    def read_generators(self) -> list[Any]:
        """States of the data's own random generators, as arrays."""
        ...

    def write_generators(self, states: Sequence[Any]) -> None:
        """Put them back."""
        ...


class FitResumer(Protocol):
    """Resumes fits of a Keras in another process."""

    def why_not_resumable(self, model: KerasModel, callbacks: Sequence[Any]) -> str:
        """Why another process could not take this model's fit up; empty when it could.

        To be called while a fit's `on_train_begin` runs.
        """
        ...

    def find_data(self) -> FitData | None:
        """The data of the innermost `fit` among this function's callers; None if none is found."""
        ...

    def why_not_exact(self, inexact: str) -> str:
        """Why a fit whose step was traced could not go on the same elsewhere; empty if it could.

        Args:
            inexact: Result of `ReclaimSteps.inexact`.
        """
        ...

    def read_trained(self, model: KerasModel) -> tuple[tuple[int, ...], ...]:
        """For each of the model's optimizers, which of the model's variables it trains."""
        ...

    def build_again(
        self, model: KerasModel, config: Any, trained: Sequence[Sequence[int]]
    ) -> None:
        """Build model and optimizers as they were. Raises: `CannotBuild`."""
        ...

    def make_global_seed(self) -> None:
        """Make the global seed generator, which the process before had made."""
        ...

    def begin_at(self, model: KerasModel, epoch: int | None) -> None:
        """Have the `fit` whose `on_train_begin` runs start at an epoch; None: as called."""
        ...


def find_fit_frame(variable: str) -> FrameType | None:
    """Frame of the innermost `fit` with such a variable among this function's callers."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name == "fit" and variable in frame.f_code.co_varnames:
            return frame
        frame = frame.f_back
    return None
