# pyright: basic
"""Child process that opens an HDF5 file; it may crash or run out of memory without harm."""

import sys
import zipfile
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from kmonitor.memory.model_files.hdf5 import Dataset, Hdf5Contents

_SIGNATURE: Final = b"\x89HDF\r\n\x1a\n"
_MOST_MEMORY_BYTES: Final = 2 * 1024**3
"""Limit of address space: many times the names and shapes of the largest model."""

_LONGEST_TEXT: Final = 64 * 1024**2
_MOST_THINGS: Final = 1_000_000


def main(request: dict[str, Any]) -> None:
    """Write the contents of a file to standard output, as JSON.

    Args:
        request: The fields "path" and "member".
    """
    _bound_memory()
    sys.stdout.buffer.write(
        msgspec.json.encode(_contents(Path(request["path"]), request["member"]))
    )
    sys.stdout.flush()


def _bound_memory() -> None:
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - not on Windows

    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY_BYTES, _MOST_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _contents(path: Path, member: str) -> Hdf5Contents:
    try:
        if not member:
            with path.open("rb") as file:
                return _read(file)
        with zipfile.ZipFile(path) as archive, archive.open(member) as inner:
            return _read(inner)
    except ImportError:
        return Hdf5Contents(error="HDF5 files are read with h5py, which is not installed here")
    except KeyError:
        return Hdf5Contents(error=f"it contains no {member}")
    except MemoryError:
        return Hdf5Contents(
            error="it would need more memory than kmonitor allows for reading a model"
        )
    except Exception as exc:  # noqa: BLE001 - h5py raises whatever the library says
        return Hdf5Contents(error=f"it is damaged or not an HDF5 file ({exc})"[:500])


def _read(file: IO[bytes]) -> Hdf5Contents:
    if file.read(len(_SIGNATURE)) != _SIGNATURE:
        return Hdf5Contents(error="it is not an HDF5 file")
    file.seek(0)
    import h5py  # noqa: PLC0415 - only in this process

    datasets: list[Dataset] = []
    attributes: dict[str, str] = {}

    def met(path: str, found: Any) -> None:
        if len(datasets) + len(attributes) > _MOST_THINGS:
            raise ValueError("it contains more objects than kmonitor reads from a model file")
        if isinstance(found, h5py.Dataset):
            datasets.append(
                Dataset(path, tuple(map(int, found.shape)), str(found.dtype),
                        int(found.id.get_storage_size()))
            )  # fmt: skip
        attributes.update(_texts(path, found))

    with h5py.File(file, "r") as opened:
        attributes.update(_texts("", opened))
        opened.visititems(met)
    return Hdf5Contents(datasets, attributes)


def _texts(path: str, found: Any) -> dict[str, str]:
    """Attributes whose value is a single text."""
    texts: dict[str, str] = {}
    for name in found.attrs:
        value = found.attrs[name]
        text = value.decode(errors="replace") if isinstance(value, bytes) else value
        if isinstance(text, str) and len(text) <= _LONGEST_TEXT:
            texts[f"{path}@{name}" if path else name] = text
    return texts
