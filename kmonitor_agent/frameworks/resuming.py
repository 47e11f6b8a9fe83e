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
    """Start of an iterator that serves several epochs of a fit, with its random states.

    Attributes:
        epochs: Number of epochs that had run before.
        existed: True if the iterator was created before the random states were read.
        random: States of the random generators at the begin of that epoch.
        generators: States of the data's own random generators.
    """

    epochs: int
    existed: bool
    random: dict[str, Any]
    generators: list[Any] = field(default_factory=list[Any])


class FitData(Protocol):
    """Data of a running `fit`, advanced to where an earlier process had left them."""

    @property
    def epochs(self) -> int:
        """Argument `epochs` of the script."""
        ...

    def has_iterator(self) -> bool | None:
        """Before an epoch: True if the iterator that serves it and later ones exists already.

        None if that makes no difference: the iterator serves one epoch, is in use already, or
            draws nothing.
        """
        ...

    def skip_epochs(self, epochs: int, *, goes_on: bool, start: IteratorStart | None) -> None:
        """Create the iterators of the epochs that ran before.

        Args:
            epochs: Number of epochs that ran.
            goes_on: True if epochs follow; else only state that outlives the fit is advanced.
            start: Start of the iterator that also serves the next epoch; None if there is none.
        """
        ...

    def skip_evaluations(self, model: KerasModel, evaluations: int) -> None:
        """Skip this many validations; Keras continues with the iterator created here."""
        ...

    def settle(self) -> None:
        """Finish the last epoch that ran; the random states are already restored."""
        ...

    def begin_first_epoch(self) -> None:
        """Skip batches that earlier epochs took from the iterator.

        The first epoch begins with it.
        """
        ...

    def read_generators(self) -> list[Any]:
        """States of the data's own random generators, as arrays."""
        ...

    def write_generators(self, states: Sequence[Any]) -> None: ...


class FitResumer(Protocol):
    """Resumes fits of a Keras in another process."""

    def why_not_resumable(self, model: KerasModel, callbacks: Sequence[Any]) -> str:
        """Reason why another process could not resume this model's fit; empty if it could.

        Call it while a fit's `on_train_begin` runs.
        """
        ...

    def find_data(self) -> FitData | None:
        """The data of the innermost `fit` among this function's callers; None if none is found."""
        ...

    def why_not_exact(self, inexact: str) -> str:
        """Reason why a fit with a traced step would continue differently elsewhere; empty if not.

        Args:
            inexact: Result of `ReclaimSteps.inexact`.
        """
        ...

    def read_trained(self, model: KerasModel) -> tuple[tuple[int, ...], ...]:
        """For each optimizer of the model, the indices of the model's variables that it trains."""
        ...

    def build_again(
        self, model: KerasModel, config: Any, trained: Sequence[Sequence[int]]
    ) -> None:
        """Build model and optimizers as they were. Raises: `CannotBuild`."""
        ...

    def make_global_seed(self) -> None:
        """Create the global seed generator, which the process before had created."""
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
