"""`Fold`, the argument of a fold's function: index, seed, folder and sample indices."""

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
        kind: Name of the exception's type that answering raised; "LookupError" in `run_folds`.
        why: Its message.
    """

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind
        self.why = why


class Fold:
    """One fold, in its own process; the argument of the function passed to `run_folds`.

    Attributes:
        index: Number of the fold, from 0.
        seed: Seed below 2**31, always the same for this index. The generators of Python, numpy
            and, if imported, Keras are seeded with it before the function is called.
        directory: Folder of this fold. Its files are kept, also between attempts.
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
        """Training indices, integer or boolean array `[n_train]`; None if `folds` was a number."""
        return self._indices("train")

    @property
    def test(self) -> Any:
        """Test indices, integer or boolean array `[n_test]`; None if `folds` was a number."""
        return self._indices("test")

    @property
    def progress(self) -> tuple[int, int | None]:
        """(done, total) of the steps reported by `step`; total is None if unknown."""
        return self._steps, self._of

    def step(self, of: int | None = None) -> None:
        """Report one finished step of your own loop.

        kmonitor uses the steps for progress and to detect hangs. A MonitorCallback reports the
        steps of a fit itself.

        Args:
            of: Total number of steps. None: unknown.
        """
        self._steps += 1
        self._of = of

    def ask(self, question: Any) -> Any:
        """Send a question to the search that runs this trial. In `run_folds` it always raises.

        Args:
            question: Plain data: None, numbers, strings, bytes, lists, dicts, arrays.

        Raises:
            kmonitor_agent.studies.fold.NotAnswered: The search refused the question, or this is a
                fold of `run_folds`.
            kmonitor_agent.studies.values.NotPlainData: The question is not plain data.
        """
        if self._ask_study is None:
            raise NotAnswered("LookupError", "run_folds is not responding to its folds")
        return self._ask_study(question)

    @property
    def outcome(self) -> tuple[TrialOutcome, str]:
        """Outcome and reason set by `set_outcome`; ("", "") if there are none."""
        return self._outcome

    def set_outcome(self, outcome: TrialOutcome, why: str) -> None:
        """Mark a trial of a search as one without a value. Called by kmonitor's integrations."""
        self._outcome = (outcome, why)

    def _indices(self, name: str) -> Any:
        path = splits_folder(self.directory.parent) / f"{self.index}-{name}.npy"
        if not path.is_file():
            return None
        import numpy as np  # noqa: PLC0415 - only for folds with indices

        return np.load(path, allow_pickle=False)


def fold_seed(index: int) -> int:
    """Seed of a fold, the same in every study and on every machine."""
    digest = hashlib.sha256(f"kmonitor fold {index}".encode()).digest()
    return int.from_bytes(digest[:8]) % _SEEDS


def splits_folder(study: Path) -> Path:
    """Folder of the sample indices of a study's folds."""
    return study / "splits"
