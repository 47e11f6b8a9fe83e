"""Where icons, fonts, themes, the guide and the demo's data lie, installed or in a clone."""

from pathlib import Path

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
