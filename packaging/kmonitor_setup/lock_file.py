"""The lock of versions and hashes: read, and the part of it that some requirements need.

Read line by line, in the form that the resolver writes: set-up has no package to parse it with.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kmonitor_setup.words import CannotSetUp

_PIN = re.compile(r"^(?P<name>[A-Za-z0-9][\w.-]*)==(?P<rest>.*)$")
_HASH = re.compile(r"--hash=(sha256:[0-9a-f]{64})")
_VIA = re.compile(r"^\s+#(?:\s+via)?\s+(?!via$)(?P<name>[A-Za-z0-9][\w.-]*)(?:\W|$)")


@dataclass(frozen=True, slots=True)
class Pin:
    """One version of a package that the lock names.

    Attributes:
        name: Name of the package, as `plain_name` writes it.
        requirement: With its version, and its marker if it is not for every machine.
        hashes: Hashes of all files of that version, "sha256:...".
        wanted_by: The packages that need it, the project itself among them.
    """

    name: str
    requirement: str
    hashes: tuple[str, ...]
    wanted_by: frozenset[str]

    def line(self) -> str:
        """As pip reads it in a file of requirements, with its hashes."""
        return " \\\n    ".join([self.requirement, *(f"--hash={one}" for one in self.hashes)])


def plain_name(text: str) -> str:
    """The name that a requirement begins with, in the one spelling of an index."""
    found = re.match(r"[A-Za-z0-9][\w.-]*", text.strip())
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else ""


def read_lock(lock: Path) -> list[Pin]:
    """Everything that a lock names, in its order.

    Raises:
        CannotSetUp: A package in it has no hash.
    """
    pins: list[Pin] = []
    for block in _blocks(lock.read_text(encoding="utf-8")):
        first = block[0].removesuffix("\\").strip()
        pin = Pin(
            plain_name(first),
            first,
            tuple(_HASH.findall("\n".join(block))),
            frozenset(plain_name(found["name"]) for line in block if (found := _VIA.match(line))),
        )
        if not pin.hashes:
            raise CannotSetUp(f"{lock} has no hash for {pin.name}.", "Run: make lock")
        pins.append(pin)
    return pins


def part_for(pins: Sequence[Pin], requirements: Iterable[str]) -> list[Pin]:
    """Those of the pins that requirements need, themselves included, in the lock's order."""
    needed = {plain_name(one) for one in requirements}
    grew = True
    while grew:
        more = {pin.name for pin in pins if pin.wanted_by & needed}
        grew = not more <= needed
        needed |= more
    return [pin for pin in pins if pin.name in needed]


def write_hashed(pins: Iterable[Pin], path: Path) -> None:
    """Write what `pip install --require-hashes --requirement` takes."""
    _write(path, (pin.line() for pin in pins))


def write_constraints(pins: Iterable[Pin], path: Path) -> None:
    """Write what `pip install --constraint` takes: versions only.

    With hashes in it pip would require the hash of the project's own folder, which has none.
    """
    _write(path, (pin.requirement for pin in pins))


def _write(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _blocks(text: str) -> list[list[str]]:
    """The lines of each package: its own, its hashes', and those that say who wants it."""
    blocks: list[list[str]] = []
    for line in text.splitlines():
        if _PIN.match(line):
            blocks.append([line])
        elif blocks:
            blocks[-1].append(line)
    return blocks
