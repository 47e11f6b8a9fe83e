"""Queries the package index for known vulnerabilities in locked packages: `make audit`.

Exit status 0 only when every locked package was answered for and none is vulnerable; 1 when one
is; 3 when it was not run, or not for all: an index that does not answer is no good news.
"""

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kmonitor_setup.lock_file import Pin, read_lock

LOCK = Path(__file__).resolve().parent / "lock.txt"

INDEX = "https://pypi.org/pypi"
"""Answers `NAME/VERSION/json` with a list of advisories. Source: PyPI's JSON API."""

KNOWN_BAD = ("jinja2", "2.4.1")
"""Has advisories since 2019. An index that knows of none does not list them at all."""

FOUND, NOT_RUN = 1, 3

_PATIENCE_S = 20.0
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Hole:
    """One advisory.

    Attributes:
        name: The package's name.
        version: The locked one.
        advisory: Its identifiers, the best known first.
        mended_in: Versions without it; may be empty.
    """

    name: str
    version: str
    advisory: str
    mended_in: tuple[str, ...]


class NoAnswer(Exception):
    """The index did not say what it knows of a package; says why."""


def main() -> int:
    """Print the findings and give the exit status."""
    index = os.environ.get("KMONITOR_ADVISORIES", INDEX).rstrip("/")
    return audit(read_lock(LOCK), lambda name, version: ask(index, name, version))


def audit(pins: Sequence[Pin], ask_for: Callable[[str, str], list[Hole]]) -> int:
    """Look up every pin, print the advisories, and return the exit status.

    Args:
        pins: Pins from the lock.
        ask_for: Gives the holes of one version of a package, or raises NoAnswer.
    """
    try:
        knows = ask_for(*KNOWN_BAD)
    except NoAnswer as exc:
        print(f"audit: NOT RUN: {exc}")
        return NOT_RUN
    if not knows:
        print("audit: NOT RUN: the index answers, but tells no advisories")
        return NOT_RUN
    versions = sorted({(pin.name, _version_of(pin)) for pin in pins})
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="audit") as several:
        answers = list(several.map(lambda one: _answer(ask_for, *one), versions))
    holes = [hole for one in answers if isinstance(one, list) for hole in one]
    silent = [one for one in answers if isinstance(one, NoAnswer)]
    for hole in holes:
        mended = f"; mended in {', '.join(hole.mended_in)}" if hole.mended_in else ""
        print(f"audit: {hole.name} {hole.version}: {hole.advisory}{mended}")
    for why in silent:
        print(f"audit: NOT RUN: {why}")
    print(f"audit: {len(versions) - len(silent)} of {len(versions)} packages, {len(holes)} holes")
    if holes:
        return FOUND
    return NOT_RUN if silent else 0


def ask(index: str, name: str, version: str) -> list[Hole]:
    """Advisories in the index for one version of a package.

    Raises:
        NoAnswer: Nothing that can be read.
    """
    asked = f"{index}/{name}/{version}/json"
    try:
        # The address is ours, or of who runs this.
        with urllib.request.urlopen(asked, timeout=_PATIENCE_S) as answer:  # noqa: S310
            told = json.load(answer)["vulnerabilities"]
        return [_hole(name, version, one) for one in told if not one.get("withdrawn")]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as exc:
        why = exc.reason if isinstance(exc, urllib.error.URLError) else exc
        raise NoAnswer(
            f"{asked} does not say what is known of it ({type(exc).__name__}: {why})"
        ) from exc


def _hole(name: str, version: str, told: dict[str, list[str]]) -> Hole:
    also = [one for one in told.get("aliases", ()) if one.startswith("CVE-")]
    identifiers = ", ".join([*also, str(told["id"])])
    return Hole(name, version, identifiers, tuple(told.get("fixed_in", ())))


def _answer(
    ask_for: Callable[[str, str], list[Hole]], name: str, version: str
) -> "list[Hole] | NoAnswer":
    try:
        return ask_for(name, version)
    except NoAnswer as exc:
        return exc


def _version_of(pin: Pin) -> str:
    return pin.requirement.partition("==")[2].partition(";")[0].strip()


if __name__ == "__main__":
    sys.exit(main())
