"""A study's folder: what it is, what ended how, the values; and the lock against a second start.

| file | what |
|---|---|
| `study.json` | function and folds |
| `ledger.jsonl` | one line for each attempt that ended |
| `ledger.txt` | the table, when the study ended |
| `lock` | held while the study runs |
| `splits/N-train.npy`, `N-test.npy` | indices of the folds, where they were given |
| `values/N.value` | what fold N returned |
| `output/N.txt` | what fold N printed, its last part |
| `fold-N/` | fold N's own folder |
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from kmonitor_agent.folds.fold import splits_folder
from kmonitor_agent.folds.function_source import FoldsRefused
from kmonitor_agent.folds.ledger import Attempt, Ledger
from kmonitor_agent.folds.plain import unpacked
from kmonitor_agent.local.run_lock import RunLock
from kmonitor_agent.local.run_spool import write_private

_ATTEMPT: Final = msgspec.json.Decoder(Attempt)

_BEFORE_BEGIN: Final = frozenset({"data", "space", "splits", "values", "output", "lock"})
"""What a study that is not begun yet may have in its folder: data and splits come first."""


class StudyFacts(msgspec.Struct, frozen=True):
    """What a study is; the same at every start.

    Attributes:
        id: Random.
        function: File or module and name.
        folds: How many.
        splits: Checksum of the folds' indices; empty when they are only counted.
        arguments: Checksum of the function's further arguments; empty without.
    """

    id: str
    function: str
    folds: int
    splits: str = ""
    arguments: str = ""


class StudyPaths:
    """Where things lie in a study's folder.

    Attributes:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        """Name them; nothing is made."""
        self.path = path

    def value_file(self, index: int) -> Path:
        """Where a fold's value goes."""
        return self.path / "values" / f"{index}.value"

    def output_file(self, index: int) -> Path:
        """Where goes what a fold prints."""
        return self.path / "output" / f"{index}.txt"

    def resume_folder(self, index: int) -> Path:
        """Where a fold's attempts leave what the next one goes on from."""
        return self.path / "resume" / str(index)

    def fold_folder(self, index: int) -> Path:
        """A fold's own folder; made. Raises: OSError."""
        folder = self.path / f"fold-{index}"
        folder.mkdir(exist_ok=True)
        return folder


class StudyFolder(StudyPaths):
    """The folder of one study; owned by the thread that runs it.

    Attributes:
        attempts: Those of earlier starts, then those of this one.
    """

    def __init__(self, path: Path) -> None:
        """Open or make it, and lock it.

        Raises:
            FoldsRefused: It runs already, or the folder cannot be used, or holds something else.
        """
        super().__init__(path)
        self._refuse_another_folder()
        try:
            for folder in (path, path / "values", path / "output"):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = RunLock.take(path)
        except OSError as exc:
            raise FoldsRefused(f"run_folds: study={str(path)!r} cannot be used: {exc}") from exc
        if lock is None:
            raise FoldsRefused(
                f"run_folds: study={str(path)!r} runs already, in another process. Wait for it, or"
                " name another folder."
            )
        self._lock = lock
        self.attempts: list[Attempt] = []

    def _refuse_another_folder(self) -> None:
        """A study tidies up in its folder: nobody else's things may lie there."""
        with suppress(OSError):  # it is not there yet, or told below why it cannot be used
            names = {each.name for each in self.path.iterdir()}
            other = sorted(names - _BEFORE_BEGIN)
            if other and "study.json" not in names:
                raise FoldsRefused(
                    f"run_folds: study={str(self.path)!r} is no folder of a study: it holds"
                    f" {other[0]!r}. Name a new folder, or an empty one."
                )

    def begin(self, facts: StudyFacts) -> StudyFacts:
        """See that this is the study that was begun here, if one was; the facts in force.

        Raises:
            FoldsRefused: Another one was.
        """
        known = self._facts()
        if known is None:
            write_private(self.path / "study.json", msgspec.json.encode(facts))
            return facts
        for name in ("function", "folds", "splits", "arguments"):
            was, now = getattr(known, name), getattr(facts, name)
            if was != now:
                told = (
                    "are others" if name in {"splits", "arguments"} else f"{was} then, {now} now"
                )
                raise FoldsRefused(
                    f"run_folds: study={str(self.path)!r} was begun with other {name} ({told})."
                    " Name another folder, or call it as then; splits that are shuffled need a"
                    " random_state to be the same again."
                )
        self.attempts = self._read_attempts()
        return known

    def close(self) -> None:
        """Let others have it."""
        self._lock.release()

    def note(self, attempt: Attempt) -> None:
        """An attempt ended; on the disk when this returns. Raises: OSError."""
        self.attempts.append(attempt)
        with (self.path / "ledger.jsonl").open("ab") as file:
            file.write(msgspec.json.encode(attempt) + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def write_table(self) -> None:
        """Keep the table beside the lines."""
        with suppress(OSError):
            (self.path / "ledger.txt").write_text(f"{Ledger(self.attempts)}\n", encoding="utf-8")

    def tried(self) -> Counter[int]:
        """How many attempts each fold had; those that were interrupted do not count."""
        return Counter(each.fold for each in self.attempts if each.cause != "interrupted")

    def value(self, index: int) -> Any:
        """What a fold returned. Raises: OSError, ValueError."""
        return unpacked(self.value_file(index).read_bytes())

    def finished(self) -> set[int]:
        """The folds that finished and whose value can be read."""
        return {
            each.fold
            for each in self.attempts
            if each.cause == "finished" and self._is_readable(each.fold)
        }

    def write_splits(self, splits: Iterable[Any]) -> tuple[int, str]:
        """Keep the folds' indices beside the study; how many there are, and their checksum.

        Raises:
            FoldsRefused: They are no pairs of indices.
        """
        digest, count = hashlib.sha256(), 0
        # The first start's stay: a second one with others is refused, and harms nothing.
        is_known = self._facts() is not None
        for index, pair in enumerate(splits):
            for name, indices in zip(("train", "test"), _pair(pair), strict=True):
                digest.update(f"{indices.dtype.str}{indices.shape}".encode() + indices.tobytes())
                if not is_known:
                    self._write_indices(f"{index}-{name}.npy", indices)
            count = index + 1
        return count, digest.hexdigest() if count else ""

    def _write_indices(self, name: str, indices: Any) -> None:
        import numpy as np  # noqa: PLC0415 - only for folds with indices

        folder = splits_folder(self.path)
        folder.mkdir(exist_ok=True)
        with (folder / f"{name}.new").open("wb") as file:
            np.save(file, indices, allow_pickle=False)
        (folder / f"{name}.new").replace(folder / name)

    def _facts(self) -> StudyFacts | None:
        try:
            return msgspec.json.decode((self.path / "study.json").read_bytes(), type=StudyFacts)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError) as exc:
            raise FoldsRefused(f"run_folds: {self.path / 'study.json'}: {exc}") from exc

    def _read_attempts(self) -> list[Attempt]:
        found: list[Attempt] = []
        with suppress(FileNotFoundError):
            data = (self.path / "ledger.jsonl").read_bytes()
            if data and not data.endswith(b"\n"):
                # A start was cut off within its last line: the next one begins a new line.
                with (self.path / "ledger.jsonl").open("ab") as file:
                    file.write(b"\n")
            for line in data.splitlines():
                with suppress(msgspec.MsgspecError):
                    found.append(_ATTEMPT.decode(line))
        return found

    def _is_readable(self, index: int) -> bool:
        try:
            self.value(index)
        except (OSError, ValueError):
            return False
        return True


def _pair(pair: Any) -> tuple[Any, Any]:
    import numpy as np  # noqa: PLC0415 - only for folds with indices

    try:
        train, test = (np.asarray(each) for each in pair)
    except (TypeError, ValueError):
        train = test = np.asarray(None)
    if train.dtype.kind not in "iub" or test.dtype.kind not in "iub":
        raise FoldsRefused(
            f"run_folds: folds= gives {pair!r:.80}, which is no pair of indices (train, test);"
            " write a number, or KFold(5).split(x)."
        )
    return train, test
