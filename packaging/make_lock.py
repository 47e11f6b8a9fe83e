"""Chooses the versions in `packaging/lock.txt`: one set for Python 3.11 to 3.13 and all systems.

The file is a list of pip constraints: it says which version of a package is taken if one is, and
names no index. Run by `make lock`; `--upgrade` takes the newest versions instead of keeping those
that still fit.
"""

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOL = ROOT / ".setup" / "lock"
"""The resolver's own environment: it is no part of the project's."""


def main() -> int:
    """Write the lock and give the exit status."""
    if not (TOOL / "bin" / "uv").exists():
        venv.create(TOOL, with_pip=True, clear=True)
        pip = [str(TOOL / "bin" / "python"), "-m", "pip", "install", "--quiet", "uv"]
        subprocess.run(pip, check=True)
    command = [
        str(TOOL / "bin" / "uv"),
        *("pip", "compile", "pyproject.toml"),
        *("--universal", "--python-version", "3.11"),
        *("--all-extras", "--group", "build"),
        *("--custom-compile-command", "make lock"),
        *("--quiet", "--output-file", "packaging/lock.txt"),
        *sys.argv[1:],
    ]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
