"""The guide's page about leaks that people reported, from the results of `make bench-leaks`.

    make bench-leaks ARGS="--forms both --guide"
    python -m tests.leaks.guide_page leaks.json [more.json ...]

Titles and sentences stay as they are, in each language; tables get new rows. For a script that
is in several files the last one counts.
"""

import json
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from tests.leaks.report import ROOT

GUIDE: Final = ROOT / "resources" / "guide"
PAGE: Final = "reported-leaks.md"
_PACKAGES: Final = ("keras", "tensorflow", "tensorflow-cpu", "numpy")
_MIB: Final = 2.0**20
_LEAST_MIB: Final = 0.1

_HARMLESS_KINDS: Final = frozenset(
    {"mapped files", "buffers", "curriculum", "collector", "warm-up"}
)

_GROUPS: Final = ("grows", "harmless", "gone")
"""Tables of the page, in order."""


def filled(page: str, results: Mapping[str, dict[str, Any]]) -> str:
    """The page with these results: its tables' rows, and the line of versions.

    Args:
        page: As it stands, in any language.
        results: Records of the benchmark by the names of their runs.
    """
    groups: dict[str, list[dict[str, Any]]] = {group: [] for group in _GROUPS}
    for name, one in sorted(results.items()):
        if " fixed" not in name and not one["problem"] and one["growth"]:
            groups[_group(one)].append(one)
    tables = iter(_GROUPS)
    lines: list[str] = []
    for line in page.splitlines():
        if line.startswith("| ---"):
            members = sorted(groups[next(tables)], key=_grown, reverse=True)
            n_cells = line.count("|") - 1
            rows = [_row(_cells(one, results)[:n_cells]) for one in members]
            lines += [line, *rows]
        elif line.startswith("Python "):
            lines.append(f"{', '.join(_versions())}; {datetime.now(UTC):%Y-%m-%d}.")
        elif not line.startswith("| ["):
            lines.append(line)
    return "\n".join(lines) + "\n"


def _group(one: dict[str, Any]) -> str:
    if one["expected"] in {"leak", "growing"} and _grown(one) >= _LEAST_MIB:
        return "grows"
    return "harmless" if one["report"]["kind"] in _HARMLESS_KINDS else "gone"


def _grown(one: dict[str, Any]) -> float:
    growth = one["growth"]
    return (growth.get("anonymous", 0.0) + growth.get("children", 0.0)) / _MIB


def _cells(one: dict[str, Any], results: Mapping[str, dict[str, Any]]) -> list[str]:
    report, said = one["report"], one["said"]
    fixed = results.get(f"{one['script']} fixed")
    then = f"{_grown(fixed):.1f}" if fixed and not fixed["problem"] and fixed["growth"] else "-"
    state = said["state"] or "-"
    if said["called_at"]:
        state = f"growing, {said['per']} {said['called_at']}: {said['cause'].replace('_', ' ')}"
    grown = f"{_grown(one):.1f}"
    return [_link(report["thread"]), report["cause"], grown, state, report["remedy"], then]


def _link(thread: str) -> str:
    repository, _, number = thread.partition("#")
    if not number:
        return f"[{thread.removeprefix('https://')}]({thread})"
    return f"[{thread}](https://github.com/{repository}/issues/{number})"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _versions() -> list[str]:
    found = [f"Python {platform.python_version()}"]
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return found


def write(results: Mapping[str, dict[str, Any]]) -> None:
    """Write the page in both languages; as of `filled`."""
    for folder in (GUIDE, GUIDE / "zh_CN"):
        file = folder / PAGE
        file.write_text(filled(file.read_text(encoding="utf-8"), results), encoding="utf-8")


def main(files: Sequence[str]) -> int:
    """Write the page in both languages."""
    results: dict[str, dict[str, Any]] = {}
    for file in files:
        for one in json.loads(Path(file).read_text(encoding="utf-8")):
            results[one["script"]] = one
    write(results)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
