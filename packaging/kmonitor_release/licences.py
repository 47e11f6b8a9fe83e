"""Under which licence a package is, as SPDX writes it, and whether it may come along."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution
from pathlib import Path

from kmonitor_setup.lock_file import plain_name

TABLE = Path(__file__).resolve().parents[1] / "dependencies.toml"

UNKNOWN = "unknown"
"""Licence of a package that names none clearly and is in no table."""

_SPELLINGS = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "apache-2.0": "Apache-2.0",
    "bsd 2-clause license": "BSD-2-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "mit": "MIT",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "mpl-2.0": "MPL-2.0",
    "psf-2.0": "PSF-2.0",
    "python software foundation license": "PSF-2.0",
}
"""Ways in which packages write their licence, in small letters. "BSD" alone says too little."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Contents of `packaging/dependencies.toml`.

    Attributes:
        why: A direct dependency's name and its reason.
        allowed: Licences, as SPDX writes them.
        looked_up: Licences of packages that do not say theirs clearly.
        texts: Names of our own copies of licences, for packages that bring none along.
    """

    why: Mapping[str, str]
    allowed: frozenset[str]
    looked_up: Mapping[str, str]
    texts: Mapping[str, Sequence[str]]


def read_rules(table: Path = TABLE) -> Rules:
    """The rules as they stand in the table."""
    told = tomllib.loads(table.read_text(encoding="utf-8"))
    licences = told["licences"]
    return Rules(
        told["why"], frozenset(licences["allowed"]), licences["looked_up"], licences["texts"]
    )


def licence_of(distribution: Distribution, rules: Rules) -> str:
    """An SPDX expression, or `UNKNOWN`.

    Args:
        distribution: An installed one.
        rules: Rules whose table comes first.
    """
    said = distribution.metadata
    name = plain_name(said["Name"])
    if name in rules.looked_up:
        return rules.looked_up[name]
    # To read what is not said by its name alone is deprecated.
    expression, short = (
        (said.get_all(field) or ("",))[0] for field in ("License-Expression", "License")
    )
    if expression:
        return expression
    if " OR " in short or " AND " in short:
        return short
    marked = [
        one.rpartition(" :: ")[2]
        for one in said.get_all("Classifier") or ()
        if one.startswith("License :: ")
    ]
    spelled = (_SPELLINGS.get(one.strip().lower()) for one in (short, *marked))
    return next((one for one in spelled if one), UNKNOWN)


def own_text(name: str) -> str:
    """Our own copy of a licence."""
    return (TABLE.parent / "licences" / f"{name}.txt").read_text(encoding="utf-8")


def is_allowed(expression: str, rules: Rules) -> bool:
    """True if all licences of one of its alternatives are allowed.

    Args:
        expression: As SPDX writes it; AND binds closer than OR, and an expression with brackets
            is refused.
        rules: Rules with the allowed licences.
    """
    return any(
        all(part.strip() in rules.allowed for part in alternative.split(" AND "))
        for alternative in expression.split(" OR ")
    )
