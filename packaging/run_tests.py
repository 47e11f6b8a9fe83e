"""Runs pytest as `make test` and `make test-full` do."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(arguments: list[str]) -> int:
    """Run the tests and give pytest's status.

    Args:
        arguments: `--full` for all of them, then options for pytest.
    """
    full = "--full" in arguments
    options = [one for one in arguments if one != "--full"]
    command = [sys.executable, "-m", "pytest", "-q", *_without_qt_plugin()]
    if not full:
        command += ["-m", "not full"]
    # Two workers are as many as the smallest machine that we promise has cores. A file stays on
    # one worker, so that what its fixtures start is started once; of the slowest tests one file
    # holds most, which both workers share.
    # A worker that died is not replaced: xdist 3.8 deadlocks when a new one joins `loadfile`, while
    # without it the other worker goes on and the test that died is named.
    command += ["-n", "2", "--dist", "worksteal" if full else "loadfile"]
    command += ["--max-worker-restart=0", *options]
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, cwd=ROOT, env=environ, stdin=subprocess.DEVNULL, check=False
    ).returncode


def _without_qt_plugin() -> list[str]:
    """pytest-qt ends the whole session where Qt cannot be imported; the conftest reports it."""
    tried = subprocess.run(
        [sys.executable, "-c", "import PySide6.QtWidgets"], capture_output=True, check=False
    )
    return [] if tried.returncode == 0 else ["-p", "no:pytest-qt"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
