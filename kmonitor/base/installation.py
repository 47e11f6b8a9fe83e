"""The installation: advice for adding a missing extra, and the location of resources."""

import importlib.metadata
import sys
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import msgspec

DISTRIBUTION: Final = "kmonitor-keras"
"""Name of the distribution: "kmonitor" on the package index is a Kubernetes tool by someone else.

The distribution is not published yet: a command to install it needs a clone or a wheel.
"""

_PIP: Final = "python -m pip install"


def how_to_add(extra: str) -> str:
    """Remedy for missing packages of an extra: a sentence with the command to run.

    Args:
        extra: Name of the extra in pyproject.toml.
    """
    in_clone = f'{_PIP} ".[{extra}]"'
    if getattr(sys, "frozen", False):
        return (
            "Packages cannot be added to this bundled program. Install kmonitor from a clone"
            f" of its repository into a Python environment: {in_clone}"
        )
    wheel = _wheel()
    if wheel:
        return (
            f'Run this with the wheel that kmonitor was installed from: {_PIP} "{wheel}[{extra}]"'
        )
    return f"Run this in your clone of kmonitor: {in_clone}"


class _Source(msgspec.Struct, frozen=True):
    url: str = ""


def _wheel() -> str:
    """Path of the wheel that kmonitor was installed from; empty for a folder or if unknown."""
    try:
        text = importlib.metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
        url = urlsplit(msgspec.json.decode(text or "{}", type=_Source).url)
    except (importlib.metadata.PackageNotFoundError, msgspec.MsgspecError, ValueError):
        return ""
    return unquote(url.path) if url.scheme == "file" and url.path.endswith(".whl") else ""


_INSTALLED = Path(__file__).parent.parent / "resources"
_CLONE = Path(__file__).parents[2] / "resources"


def resource_path(*parts: str) -> Path:
    """Path of a file or folder below `resources/`.

    In a wheel the folder lies inside the package; in a clone beside it.

    Raises:
        FileNotFoundError: There is no such resource.
    """
    root = _INSTALLED if _INSTALLED.is_dir() else _CLONE
    path = root.joinpath(*parts)
    if not path.exists():
        raise FileNotFoundError(f"resource {'/'.join(parts)} is missing under {root}")
    return path
