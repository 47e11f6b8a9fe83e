"""The object that the function of a fold gets: its index, seed, folder and indices."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from kmonitor_agent.wire.messages.study_events import TrialOutcome

_SEEDS: Final = 2**31


class NotAnswered(Exception):
    """A fold's question was not answered.

    Attributes:
        kind: Name of the exception's type, where answering raised one.
        why: Its message.
    """

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind
        self.why = why


class Fold:
    """One fold, in its own process.

    Attributes:
        index: Number of the fold, from 0.
        seed: Seed below 2**31, always the same for this index. The generators of Python, numpy
            and, if imported, Keras are seeded with it before the function is called.
        directory: Folder of this fold; its files are kept, also between attempts.
        attempt: Number of the attempt, from 1; higher after an attempt was killed.
    """

    def __init__(
        self,
        index: int,
        directory: Path,
        *,
        attempt: int = 1,
        ask_study: Callable[[Any], Any] | None = None,
    ) -> None:
        """Keep the facts.

        Args:
            index: From 0.
            attempt: From 1.
            ask_study: Asks the study; None: nobody answers.
        """
        self.index = index
        self.seed = fold_seed(index)
        self.directory = directory
        self.attempt = attempt
        self._steps = 0
        self._of: int | None = None
        self._ask_study = ask_study
        self._outcome: tuple[TrialOutcome, str] = ("", "")

    @override
    def __repr__(self) -> str:
        return f"Fold(index={self.index}, seed={self.seed}, directory={str(self.directory)!r})"

    @property
    def train(self) -> Any:
        """Indices of the samples to train with, `[n_train]`; None when folds are only counted."""
        return self._indices("train")

    @property
    def test(self) -> Any:
        """Indices of the samples that are held back, `[n_test]`; None likewise."""
        return self._indices("test")

    @property
    def progress(self) -> tuple[int, int | None]:
        """Steps counted by `step` so far, and of how many."""
        return self._steps, self._of

    def step(self, of: int | None = None) -> None:
        """A step of a loop of your own was done; MonitorCallback counts those of a fit itself.

        By its steps it is seen how far a fold is and whether it hangs.

        Args:
            of: How many steps there will be; None: not known.
        """
        self._steps += 1
        self._of = of

    def ask(self, question: Any) -> Any:
        """Ask who runs the trials of a search; for a fold of `run_folds` nobody answers.

        Args:
            question: Plain data.

        Raises:
            NotAnswered: Nobody answers, or whoever does refused it.
            NotPlainData: The question is none.
        """
        if self._ask_study is None:
            raise NotAnswered("LookupError", "run_folds is not responding to its folds")
        return self._ask_study(question)

    @property
    def outcome(self) -> tuple[TrialOutcome, str]:
        """The outcome set by `set_outcome`."""
        return self._outcome

    def set_outcome(self, outcome: TrialOutcome, why: str) -> None:
        """A trial of a search will return, but no value."""
        self._outcome = (outcome, why)

    def _indices(self, name: str) -> Any:
        path = splits_folder(self.directory.parent) / f"{self.index}-{name}.npy"
        if not path.is_file():
            return None
        import numpy as np  # noqa: PLC0415 - only for folds with indices

        return np.load(path, allow_pickle=False)


def fold_seed(index: int) -> int:
    """The seed of a fold: the same in every study, on every machine."""
    digest = hashlib.sha256(f"kmonitor fold {index}".encode()).digest()
    return int.from_bytes(digest[:8]) % _SEEDS


def splits_folder(study: Path) -> Path:
    """Where the indices of a study's folds lie."""
    return study / "splits"
