"""What came of a study: a result for each fold, in order, and the ledger of all attempts."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import override

from kmonitor_agent.studies.attempts import Attempt, Cause, Ledger, how_text
from kmonitor_agent.studies.study_folder import StudyFolder


@dataclass(frozen=True, slots=True)
class FoldResult:
    """What came of one fold.

    Attributes:
        index: From 0.
        ok: Whether its function returned.
        value: What it returned; None when it did not.
        cause: How its last attempt ended: "finished", "error", "out_of_memory", "timeout",
            "hang" or "killed".
        signal: Name of the signal that killed it; empty when none did.
        why: What is known of a fold that did not finish, in words.
        attempts: All its attempts, the oldest first.
        output: The file with what it printed, its last part.
        directory: Its own folder.
    """

    index: int
    ok: bool
    value: Any
    cause: Cause
    signal: str
    why: str
    attempts: tuple[Attempt, ...]
    output: Path
    directory: Path

    @override
    def __repr__(self) -> str:
        told = f"value={self.value!r:.80}" if self.ok else f"why={self.why!r:.200}"
        return f"FoldResult(index={self.index}, cause={self.cause!r}, {told})"


@dataclass(frozen=True, slots=True)
class Study:
    """What came of `run_folds`.

    Attributes:
        results: In the order of the folds.
        ledger: Every attempt; prints as a table.
        directory: Where the study is kept; `run_folds(..., study=directory)` goes on with it.
        folds: How many were asked for.
    """

    results: tuple[FoldResult, ...]
    ledger: Ledger
    directory: Path
    folds: int

    @property
    def complete(self) -> bool:
        """Whether each fold that was asked for came back, or its end is explained."""
        return [each.index for each in self.results] == list(range(self.folds))

    @property
    def ok(self) -> bool:
        """Whether each fold finished."""
        return self.complete and all(each.ok for each in self.results)

    @property
    def values(self) -> list[Any]:
        """What the folds returned, in order; None for one that did not finish."""
        return [each.value for each in self.results]

    @override
    def __repr__(self) -> str:
        finished = sum(each.ok for each in self.results)
        return f"Study({finished} of {self.folds} folds finished)\n{self.ledger}"


def study_of(folder: StudyFolder, folds: int) -> Study:
    """What came of a study that ended."""
    attempts = (each for each in folder.attempts if each.cause != "interrupted")
    ledger = Ledger(attempts, folder.trouble)
    finished = folder.finished()
    results = [
        _result(folder, [each for each in ledger if each.fold == index], index in finished)
        for index in range(folds)
        if any(each.fold == index for each in ledger)
    ]
    return Study(tuple(results), ledger, folder.path, folds)


def last_result(folder: StudyFolder, index: int) -> FoldResult:
    """What came of one fold at last.

    Raises:
        LookupError: It was never run to an end.
        OSError: What it returned cannot be read.
        ValueError: Likewise.
    """
    attempts = [
        each for each in folder.attempts if each.fold == index and each.cause != "interrupted"
    ]
    return _result(folder, attempts, attempts[-1].cause == "finished")


def _result(folder: StudyFolder, attempts: Sequence[Attempt], is_finished: bool) -> FoldResult:  # noqa: FBT001
    last = attempts[-1]
    with suppress(OSError):  # told as the study's trouble
        folder.fold_folder(last.fold)
    return FoldResult(
        index=last.fold,
        ok=is_finished,
        value=folder.value(last.fold) if is_finished else None,
        cause=last.cause,
        signal=last.signal,
        why="" if is_finished else folder.unread(last.fold) or last.why or how_text(last),
        attempts=tuple(attempts),
        output=folder.output_file(last.fold),
        directory=folder.fold_place(last.fold),
    )
