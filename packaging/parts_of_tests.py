"""Cuts the tests into parts, each for a process of its own.

A process that has run the tests of half the project holds what all of them imported, traced and
kept: it needs 1.6 GiB, and every test that counts objects walks through all of it.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from tests.support.capabilities import CAPABILITIES

FILES_OF_A_PART = 16
TRAINING_FILES_OF_A_PART = 6
"""Most files of a part; those that train a model are slower, and leave more behind."""

_FRAMEWORK = next(one for one in CAPABILITIES if one.marker == "keras")


def files_of(root: Path, paths: Iterable[str]) -> list[str]:
    """Test files below these paths that this machine can import; a test's id stays as it is."""
    found: list[str] = []
    for path in paths:
        folder = root / path
        if folder.is_dir():
            found += [os.path.relpath(each, root) for each in sorted(folder.rglob("test_*.py"))]
        else:
            found.append(path)
    missing = [one for one in CAPABILITIES if one.missing()]
    return [
        name
        for name in found
        if not any(one.is_needed_by(root / file_of(name)) for one in missing)
    ]


def file_of(test: str) -> str:
    """File of a test's id."""
    return test.partition("::")[0]


def name_of(part: list[str]) -> str:
    """A part in words: what its files have in common, and how many they are."""
    common = os.path.commonpath([file_of(each) for each in part])
    return common if len(part) == 1 else f"{common} ({len(part)} files)"


def cut(root: Path, files: Iterable[str]) -> list[list[str]]:
    """Files in parts: those that train apart from others and first, neighbours together."""
    groups: dict[tuple[bool, tuple[str, ...]], list[str]] = {}
    for name in files:
        file = Path(file_of(name))
        key = (not _FRAMEWORK.is_needed_by(root / file), file.parts[:2])
        groups.setdefault(key, []).append(name)
    return [
        part
        for (is_light, _), names in sorted(groups.items())
        for part in _evenly(names, FILES_OF_A_PART if is_light else TRAINING_FILES_OF_A_PART)
    ]


def _evenly(names: list[str], most: int) -> list[list[str]]:
    parts = -(-len(names) // most)
    size = -(-len(names) // parts)
    return [names[at : at + size] for at in range(0, len(names), size)]
