"""Folder of a study: its facts, attempts and values; and the lock against a second start.

| file | what |
|---|---|
| `study.json` | function and folds |
| `attempts.jsonl` | one line for each attempt that began, one when it ended |
| `attempts.txt` | the table, after the study ended |
| `lock` | held while the study runs |
| `carried/N.npy` | large arrays that the function uses, while the study runs |
| `splits/N-train.npy`, `N-test.npy` | indices of the folds, where they were given |
| `values/N.value` | value that fold N returned |
| `output/N.txt` | last part of the text that fold N printed |
| `fold-N/` | fold N's own folder |
"""

import hashlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from kmonitor_agent.studies.attempts import Attempt, Attempts, AttemptsFile
from kmonitor_agent.studies.carried_function import FoldsRefused
from kmonitor_agent.studies.fold import splits_folder
from kmonitor_agent.studies.values import unpack_value, unseal_value
from kmonitor_agent.wire.local.fold_identity import Noun
from kmonitor_agent.wire.local.folder_lock import FolderLock
from kmonitor_agent.wire.local.private_files import (
    SETTING_BYTES,
    make_folder,
    open_private,
    read_plain,
    write_private,
)
from kmonitor_agent.wire.messages.fields import Count, Id, Name, Text

_BEFORE_BEGIN: Final = frozenset({"carried", "space", "splits", "values", "output", "lock"})
"""Entries that a folder may have before its study has begun: arrays and splits are written
first."""

VALUE_BYTES: Final = 8 * 2**30
"""Maximum size of a fold's value, bytes; the value fitted into one process's memory."""


class StudyFacts(msgspec.Struct, frozen=True):
    """Facts of a study, the same at every start.

    Attributes:
        id: Random id.
        function: File or module, and name of the function.
        folds: Number of folds.
        splits: Checksum of the folds' indices; empty if only their number was given.
        arguments: Checksum of the function's further arguments; empty if there are none.
    """

    id: Id
    function: Text
    folds: Count
    splits: Name = ""
    arguments: Name = ""


class StudyPaths:
    def __init__(self, path: Path) -> None:
        self.path = path

    def value_file(self, index: int) -> Path:
        return self.path / "values" / f"{index}.value"

    def output_file(self, index: int) -> Path:
        """File for the text that a fold prints."""
        return self.path / "output" / f"{index}.txt"

    def resume_folder(self, index: int) -> Path:
        """Folder in which a fold's attempts leave their state for the next attempt."""
        return self.path / "resume" / str(index)

    def fold_folder(self, index: int) -> Path:
        """Create and return a fold's own folder. Raises: OSError."""
        folder = self.fold_path(index)
        make_folder(folder)
        return folder

    def fold_path(self, index: int) -> Path:
        """Path of a fold's own folder, existing or not."""
        return self.path / f"fold-{index}"

    def make(self) -> None:
        """Create the folders that folds write to, again if a fold removed them.

        Raises: OSError.
        """
        for name in ("values", "output"):
            make_folder(self.path / name)


def _to_nobody(line: str) -> None:
    del line


class StudyFolder(StudyPaths):
    """The folder of one study; owned by the thread that runs it.

    Failures to write are reported, and do not end the study.

    Attributes:
        is_new: True if this start created the folder.
        attempts: Attempts of earlier starts, then those of this one.
    """

    def __init__(self, path: Path, print_line: Callable[[str], None] = _to_nobody) -> None:
        """Open or create the folder, and lock it.

        Args:
            print_line: Prints a line for the user; called on any thread.

        Raises:
            FoldsRefused: The study runs already, or the folder cannot be used, or has other
                contents.
        """
        super().__init__(path)
        self.is_new = not path.exists()
        self._refuse_another_folder()
        try:
            self.make()
            lock = FolderLock.acquire(path)
        except OSError as exc:
            raise FoldsRefused(f"run_folds: study={str(path)!r} cannot be used: {exc}") from exc
        if lock is None:
            raise FoldsRefused(
                f"run_folds: study={str(path)!r} is already running in another process. Wait for "
                "it to finish, or choose another folder."
            )
        self._lock = lock
        self.attempts: list[Attempt] = []
        self._print_line = print_line
        self._id = ""
        self._attempts_file = AttemptsFile(path / "attempts.jsonl")
        self._held: dict[int, Any] = {}
        self._unread: dict[int, str] = {}
        self._why_unwritten = ""

    def _refuse_another_folder(self) -> None:
        """Refuse a folder with other contents: a study deletes files in its folder."""
        with suppress(OSError):  # it is not there yet, or reported below
            names = {each.name for each in self.path.iterdir()}
            other = sorted(names - _BEFORE_BEGIN)
            if other and "study.json" not in names:
                raise FoldsRefused(
                    f"run_folds: study={str(self.path)!r} is not a study folder: it"
                    f" contains {other[0]!r}. Choose a new or empty folder."
                )

    def begin(self, facts: StudyFacts) -> StudyFacts:
        """Check that a study begun here is the same one; return the facts in force.

        Raises:
            FoldsRefused: Another study was begun here.
        """
        known = self._facts()
        if known is None:
            write_private(self.path / "study.json", msgspec.json.encode(facts))
            self._id = facts.id
            return facts
        for name in ("function", "folds", "splits", "arguments"):
            was = getattr(known, name)
            wanted = getattr(facts, name)
            if was != wanted:
                difference = (
                    "are different"
                    if name in {"splits", "arguments"}
                    else f"{was} then, {wanted} now"
                )
                raise FoldsRefused(
                    f"run_folds: study={str(self.path)!r} was started with different {name} "
                    f"({difference}). Choose another folder, or call run_folds with the same "
                    "arguments as before; shuffled splits need a random_state."
                )
        self._id = known.id
        self.attempts, cut = self._attempts_file.read()
        for attempt in cut:
            self.note(attempt)
        return known

    @property
    def arrays_folder(self) -> Path:
        """Folder for large arrays that the function uses; removed when the study ends."""
        return self.path / "carried"

    def close(self) -> None:
        """Release the lock."""
        shutil.rmtree(self.arrays_folder, ignore_errors=True)
        self._lock.release()

    def discard(self) -> None:
        """Remove the folder with its contents."""
        shutil.rmtree(self.path, ignore_errors=True)

    def note_start(self, fold: int, attempt: int, noun: Noun) -> None:
        """Record that an attempt is about to run.

        Args:
            attempt: Number of the attempt, from 1.
            noun: Word for the fold in texts: "fold" or "trial".
        """
        try:
            self._attempts_file.append_start(fold, attempt, noun)
        except OSError as exc:
            self.fails(exc)

    def note(self, attempt: Attempt) -> None:
        """Record an ended attempt.

        On the disk when this returns, else `fails` reports the failure.
        """
        self.attempts.append(attempt)
        if attempt.cause == "finished":
            self._hold(attempt)
        try:
            self._attempts_file.append_end(attempt)
            self._why_unwritten = ""
        except OSError as exc:
            self.fails(exc)

    def _hold(self, attempt: Attempt) -> None:
        fold = attempt.fold
        try:
            self._held[fold] = self._read(fold)
            self._unread.pop(fold, None)
        except (OSError, ValueError) as exc:
            self._unread[fold] = f"its return value cannot be read back: {exc}"
            self._print_line(f"kmonitor: {attempt.noun} {fold}: {self._unread[fold]}")

    def fails(self, exc: Exception) -> None:
        """Report, once, that something cannot be written."""
        is_new = not self._why_unwritten
        self._why_unwritten = str(exc)
        if is_new:
            self._print_line(f"kmonitor: {self.trouble}")

    @property
    def trouble(self) -> str:
        """Message if results could not be written; empty if all were."""
        if not self._why_unwritten:
            return ""
        return (
            f"results are not being saved in {self.path}: {self._why_unwritten}; a second call"
            " would run these folds again"
        )

    def write_table(self) -> None:
        """Write the table beside the lines."""
        table = f"{Attempts(self.attempts, self.trouble)}\n"
        with suppress(OSError):  # its lines are there, or were reported as missing
            write_private(self.path / "attempts.txt", table.encode())

    def tried(self) -> Counter[int]:
        """Number of attempts of each fold, without interrupted ones."""
        return Counter(each.fold for each in self.attempts if each.cause != "interrupted")

    def value(self, index: int) -> Any:
        """Value that a fold returned; dropped from memory by this call.

        Raises: OSError, ValueError.
        """
        return self._held.pop(index) if index in self._held else self._read(index)

    def _read(self, index: int) -> Any:
        data = read_plain(self.value_file(index), VALUE_BYTES)
        return unpack_value(unseal_value(data, self._id, index))

    def unread(self, index: int) -> str:
        """Reason why the value of a fold cannot be read, for people; empty if it can."""
        return self._unread.get(index, "")

    def finished(self) -> set[int]:
        """Folds that finished and whose value can be read."""
        return {
            each.fold
            for each in self.attempts
            if each.cause == "finished" and self._is_readable(each)
        }

    def write_splits(self, splits: Iterable[Any]) -> tuple[int, str]:
        """Write the folds' indices into the folder; return the number of folds and a checksum.

        Raises:
            FoldsRefused: An item is not a pair of indices.
        """
        digest = hashlib.sha256()
        count = 0
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
        make_folder(folder)
        with open_private(folder / f"{name}.new", "wb") as file:
            np.save(file, indices, allow_pickle=False)
        (folder / f"{name}.new").replace(folder / name)

    def _facts(self) -> StudyFacts | None:
        try:
            return msgspec.json.decode(read_study_facts(self.path), type=StudyFacts)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
            raise FoldsRefused(
                f"run_folds: {self.path / 'study.json'}, which describes the study, cannot be "
                f"read ({exc}). Restore that file, or start over with another study=."
            ) from exc

    def _is_readable(self, attempt: Attempt) -> bool:
        fold = attempt.fold
        if fold in self._held:
            return True
        try:
            self._read(fold)
        except (OSError, ValueError) as exc:
            if fold not in self._unread:
                self._unread[fold] = f"its return value cannot be read: {exc}"
                self._print_line(
                    f"kmonitor: {attempt.noun} {fold}: {self._unread[fold]}; it will be run again"
                )
            return False
        return True


def read_study_facts(study: Path) -> bytes:
    """Contents of `study.json`. Raises: OSError."""
    return read_plain(study / "study.json", SETTING_BYTES)


def _pair(pair: Any) -> tuple[Any, Any]:
    import numpy as np  # noqa: PLC0415 - only for folds with indices

    try:
        train, test = (np.asarray(each) for each in pair)
    except (TypeError, ValueError):
        train = test = np.asarray(None)
    if train.dtype.kind not in "iub" or test.dtype.kind not in "iub":
        raise FoldsRefused(
            f"run_folds: folds= yields {pair!r:.80}, which is not a pair of indices (train, test);"
            " use a number, or KFold(5).split(x)."
        )
    return train, test
