"""Transfer of a fold's files, from a node that does not see the study's folder to that folder."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from kmonitor_agent.studies.ray.messages import FilePart
from kmonitor_agent.studies.study_folder import StudyPaths
from kmonitor_agent.wire.local.private_files import is_plain, make_folder, open_private

_PART_BYTES: Final = 4 * 2**20
_FOLD: Final = "fold/"


def file_parts(paths: StudyPaths, fold: int, *, with_files: bool) -> Iterator[FilePart]:
    """Files of an attempt, in parts.

    Args:
        with_files: True to include the value and the fold's own folder, besides the printed text.

    Raises:
        OSError: A file cannot be read.
    """
    yield from _parts("output", paths.output_file(fold))
    if not with_files:
        return
    folder = paths.fold_folder(fold)
    for path in sorted(folder.rglob("*")):
        if is_plain(path):
            yield from _parts(f"{_FOLD}{path.relative_to(folder).as_posix()}", path)
    yield from _parts("value", paths.value_file(fold))


class FileReceiver:
    """Writes one attempt's parts into the study's folder."""

    def __init__(self, paths: StudyPaths, fold: int) -> None:
        self._paths = paths
        self._fold = fold
        value = paths.value_file(fold)
        self._fresh = value.with_name(f"{value.name}.new")

    def write_part(self, part: FilePart) -> None:
        """Write a part; parts of one file must come in order.

        Raises:
            OSError: The part cannot be written.
            ValueError: The part's name leads outside of the fold's folder.
        """
        if part.name == "output":
            self._write(self._paths.output_file(self._fold), part.data, is_first=False)
        elif part.name == "value":
            self._write(self._fresh, part.data, is_first=part.is_first)
        else:
            self._write(self._target_path(part.name), part.data, is_first=part.is_first)

    def commit(self) -> None:
        """Commit the value after all parts were written. Raises: OSError."""
        if self._fresh.exists():
            self._fresh.replace(self._paths.value_file(self._fold))

    def _target_path(self, name: str) -> Path:
        path = PurePosixPath(name.removeprefix(_FOLD))
        if not name.startswith(_FOLD) or path.is_absolute() or ".." in path.parts:
            raise ValueError(f"does not belong to a fold: {name!r}")
        target = self._paths.fold_folder(self._fold) / path
        make_folder(target.parent)
        return target

    def _write(self, path: Path, data: bytes, *, is_first: bool) -> None:
        with open_private(path, "wb" if is_first else "ab") as file:
            file.write(data)


def _parts(name: str, path: Path) -> Iterator[FilePart]:
    if not is_plain(path):
        return
    with open_private(path, "rb") as file:
        is_first = True
        while (data := file.read(_PART_BYTES)) or is_first:
            yield FilePart(name, data, is_first)
            is_first = False
