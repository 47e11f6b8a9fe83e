"""Chooses the versions in `packaging/lock.txt`: one set for Python 3.11 to 3.13 and all systems.

The file says which version of a package is taken if one is, with the hashes of its files, and
names no index. Run by `make lock`; `--upgrade` takes the newest versions instead of keeping those
that still fit.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

from kmonitor_setup.environment import Project
from kmonitor_setup.resolver import provide_resolver
from kmonitor_setup.words import CannotSetUp, complain

ROOT = Path(__file__).resolve().parents[1]
PEERS = "tests/benchmarks/peers/requirements"
"""Tools that kmonitor is compared with have their own environment and lock."""


def main() -> int:
    """Write the lock and give the exit status."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = settings["dependency-groups"]
    try:
        resolver = provide_resolver(Project.at(ROOT))
    except CannotSetUp as failure:
        complain(failure)
        return 1
    asked = ["pyproject.toml", "--all-extras"]
    asked += [word for name in groups for word in ("--group", name)]
    locks = ((asked, "packaging/lock.txt"), ([f"{PEERS}.in"], f"{PEERS}.txt"))
    return next(filter(None, (_lock(resolver, *one) for one in locks)), 0)


def _lock(resolver: Path, asked: list[str], file: str) -> int:
    command = [
        str(resolver),
        *("pip", "compile", *asked),
        *("--universal", "--python-version", "3.11"),
        *("--generate-hashes", "--only-binary", ":all:"),
        *("--custom-compile-command", "make lock"),
        *("--quiet", "--output-file", file),
        *sys.argv[1:],
    ]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
