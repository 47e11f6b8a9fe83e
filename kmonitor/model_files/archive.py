"""The texts in a `.keras` file, read with bounded memory and without HDF5."""

import json
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from kmonitor.errors import Expected

CONFIG: Final = "config.json"
METADATA: Final = "metadata.json"
WEIGHTS: Final = "model.weights.h5"

_LARGEST_TEXT: Final = 64 * 1024**2
"""A configuration of a thousand layers takes about 2 MiB; more than this is no model."""

_MOST_MEMBERS: Final = 10_000


@dataclass(frozen=True, slots=True)
class KerasArchive:
    """What a `.keras` file says in text.

    Attributes:
        config: The model's, as it was written.
        metadata: Versions and date.
        members: Name to its size in the file, bytes.
    """

    config: dict[str, Any]
    metadata: dict[str, Any]
    members: dict[str, int]


def damaged(path: Path, why: str) -> Expected:
    """The error for a file that is not whole, or not what it should be."""
    return Expected(f"{path} cannot be read as a model: {why}.")


def read_archive(path: Path) -> KerasArchive:
    """The texts of a `.keras` file.

    Raises:
        Expected: It is damaged, no zip file, or no model.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            if len(infos) > _MOST_MEMBERS:
                raise damaged(path, f"it has {len(infos)} members")
            members = {info.filename: info.compress_size for info in infos}
            config = _json_of(path, archive, CONFIG)
            metadata = _json_of(path, archive, METADATA) if METADATA in members else {}
    except OSError as exc:
        raise damaged(path, exc.strerror or str(exc)) from exc
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError,
            ValueError) as exc:  # fmt: skip
        raise damaged(path, f"it is damaged or no .keras file ({exc})") from exc
    return KerasArchive(config, metadata, members)


def json_object(text: str | bytes, what: str) -> dict[str, Any]:
    """A JSON text that must be an object.

    Raises:
        ValueError: It is none; `what` is named.
    """
    try:
        found = json.loads(text)
    except (RecursionError, UnicodeDecodeError) as exc:
        raise ValueError(f"{what} is no JSON") from exc
    if not isinstance(found, dict):
        raise ValueError(f"{what} is no JSON object")  # noqa: TRY004 - of the file, not of ours
    return cast("dict[str, Any]", found)


def _json_of(path: Path, archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    try:
        with archive.open(name) as member:
            # What the directory says of the size may be a lie.
            text = member.read(_LARGEST_TEXT + 1)
    except KeyError as exc:
        raise damaged(path, f"there is no {name} in it") from exc
    if len(text) > _LARGEST_TEXT:
        raise damaged(path, f"its {name} is larger than any model's")
    return json_object(text, name)
