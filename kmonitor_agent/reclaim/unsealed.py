"""Checkpoints of an earlier kmonitor: HDF5 alone, which only HDF5's own library can read.

One wrong bit in such a file can crash that library, and with it the process. So another process
reads a file first (`unsealed_child`); here it is opened once that one came through. A training
opens such a file only where its script names it.
"""

import contextlib
import importlib
import json
import subprocess
import sys
import zlib
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from kmonitor_agent.reclaim.state_facts import NotAStateFile, StateHeader, StoredFacts, Tag
from kmonitor_agent.reclaim.state_file import ARCHITECTURE, FORMAT, Checksum, dtype_named

_CHILD: Final = (
    "import json, sys; asked = json.loads(sys.stdin.readline()); sys.path[:] = asked['sys_path']\n"
    "from kmonitor_agent.reclaim.unsealed_child import answer; answer(asked)"
)
_PATIENCE_S: Final = 60.0
_SLOWEST_BYTES_PER_S: Final = 10e6
"""A damaged file may have the library run for ever: longer than a slow disk takes is too long."""


def damage_of(paths: Sequence[Path]) -> dict[Path, str]:
    """What is wrong with files, as other processes found; empty texts for those that are whole.

    Args:
        paths: Files that begin as HDF5 does.
    """
    found: dict[Path, str] = {}
    left = list(paths)
    while left:
        answers = _asked(left)
        found.update(zip(left, answers, strict=False))
        left = left[len(answers) :]
        if left:
            found[left.pop(0)] = "reading it ended or stopped the process that tried"
    return found


def _asked(paths: Sequence[Path]) -> list[str]:
    """The answers of one process, as far as it came."""
    asked = {"sys_path": sys.path, "paths": [str(path) for path in paths]}
    n_bytes = 0
    for path in paths:
        with contextlib.suppress(OSError):
            n_bytes += path.lstat().st_size
    try:
        answered = subprocess.run(  # noqa: S603 - our own code
            [sys.executable, "-P", "-c", _CHILD],
            input=json.dumps(asked).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE_S + n_bytes / _SLOWEST_BYTES_PER_S,
            check=False,
        ).stdout
    except subprocess.TimeoutExpired as exc:
        answered = exc.stdout or b""
    except (OSError, ValueError) as exc:
        return [f"no process can be started to read it: {exc}"] * len(paths)
    lines = answered.splitlines(keepends=True)
    return [str(json.loads(line)) for line in lines if line.endswith(b"\n")]


def read_header(path: Path) -> StateHeader:
    """A file's header.

    Raises:
        NotAStateFile: It is not a whole checkpoint.
        OSError: It cannot be read, or is no HDF5 file.
    """
    with _open(path) as file:
        return _read_header(file)


def read_facts(path: Path) -> list[StoredFacts]:
    """What a file holds, in order, without reading the values.

    Raises:
        NotAStateFile: A variable is missing or malformed.
        OSError: The file cannot be read, or is no HDF5 file.
    """
    with _open(path) as file:
        header = _read_header(file)
        return [_facts(file, str(ordinal)) for ordinal in range(header.variables)]


def read_variables(path: Path) -> Iterator[Any]:
    """Values in order as numpy arrays, each checked before it is given.

    Raises:
        NotAStateFile: One is missing or damaged.
        OSError: The file cannot be read, or is no HDF5 file.
    """
    checksum = Checksum()
    with _open(path) as file:
        header = _read_header(file)
        for ordinal in range(header.variables):
            array, crc = _read_array(file, str(ordinal))
            checksum.add_crc(crc)
            yield array
            del array  # or two would be in memory while the next one is read
    if checksum.text() != header.checksum:
        raise NotAStateFile(f"its state is {checksum.text()}, not {header.checksum}")


def read_architecture(path: Path) -> str:
    """What a file says of its model's making; empty if nothing.

    Raises:
        NotAStateFile: It is damaged.
        OSError: The file cannot be read, or is no HDF5 file.
    """
    with _open(path) as file:
        header = _read_header(file)
        with _sound(ARCHITECTURE):
            if ARCHITECTURE not in file and len(file) == header.variables:
                return ""
        text, _ = _read_array(file, ARCHITECTURE)
    return text.tobytes().decode()


def _open(path: Path) -> Any:
    # Nobody writes to a whole file, and locks fail on NFS.
    return importlib.import_module("h5py").File(path, "r", locking=False)


def _facts(file: Any, name: str) -> StoredFacts:
    with _sound(name):
        dataset = file[name]
        shape = tuple(int(length) for length in dataset.shape)
        return StoredFacts(str(dataset.attrs["path"]), shape, str(dataset.attrs["dtype"]))


def _read_array(file: Any, name: str) -> tuple[Any, int]:
    with _sound(name):
        dataset = file[name]
        wanted = int(dataset.attrs["crc32"])
        array = np.asarray(dataset[()], order="C").view(dtype_named(str(dataset.attrs["dtype"])))
        array = array.reshape(dataset.shape)
    if zlib.crc32(array.tobytes()) != wanted:
        raise NotAStateFile(f"{_called(name)} has another checksum")
    return array, wanted


@contextlib.contextmanager
def _sound(name: str) -> Generator[None]:
    """Tell what HDF5 and numpy raise of a dataset that is not as it was written."""
    try:
        yield
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as exc:
        raise NotAStateFile(f"{_called(name)} is missing or malformed: {exc}") from exc


def _called(name: str) -> str:
    return "what it says of the model" if name == ARCHITECTURE else f"variable {name}"


def _read_header(file: Any) -> StateHeader:
    try:
        attributes = file.attrs
        if attributes.get("format") != FORMAT:
            raise NotAStateFile(f"it is not of format {FORMAT}")
        return StateHeader(
            tag=Tag(
                run=str(attributes["run"]),
                fit=int(attributes["fit"]),
                epoch=int(attributes["epoch"]),
                step=int(attributes["step"]),
            ),
            wall_s=float(attributes["wall_s"]),
            variables=int(attributes["variables"]),
            state_bytes=int(attributes["state_bytes"]),
            checksum=str(attributes["checksum"]),
        )
    except (KeyError, RuntimeError, TypeError, ValueError) as exc:
        raise NotAStateFile(f"its header is not whole: {exc}") from exc
