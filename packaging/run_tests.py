"""Runs pytest as `make test` and `make test-full` do, and ends it where it takes too long."""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]

LIMIT_S = 40 * 60
FULL_LIMIT_S = 6 * 60 * 60
"""Longest time of a run, several times what it takes on two quiet cores."""

EXIT_TOO_LONG = 124
"""Exit status of a run that was ended, as that of timeout(1)."""

NOTES = "KMONITOR_RUNNING_TESTS"
"""Folder in which each process of pytest notes its test (`tests/support/running_tests.py`)."""


def main(arguments: list[str]) -> int:
    """Run the tests and give pytest's status.

    Args:
        arguments: `--full` for all of them, `--limit-s` for another limit; others go to pytest.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--limit-s", type=float)
    given, options = parser.parse_known_args(arguments)
    command = [sys.executable, "-m", "pytest", "-q", *_without_qt_plugin()]
    if not given.full:
        command += ["-m", "not full"]
    # Two workers are as many as the smallest machine that we promise has cores. A file stays on
    # one worker, so that what its fixtures start is started once; of the slowest tests one file
    # holds most, which both workers share.
    command += ["-n", "2", "--dist", "worksteal" if given.full else "loadfile"]
    # A worker that died is not replaced: xdist 3.8 deadlocks when a new one joins `loadfile`.
    # Without it the other worker continues, and the test that died is named.
    command += ["--max-worker-restart=0", *options]
    return run(command, given.limit_s or (FULL_LIMIT_S if given.full else LIMIT_S))


def run(command: list[str], limit_s: float) -> int:
    """Run pytest, at most for `limit_s` seconds; its status, or `EXIT_TOO_LONG`."""
    with tempfile.TemporaryDirectory(prefix="kmonitor-tests-") as notes:
        environ = {**os.environ, NOTES: notes}
        # Compiled modules are kept: each training, window and command of a test is a process that
        # would compile ours again.
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        process = subprocess.Popen(command, cwd=ROOT, env=environ, stdin=subprocess.DEVNULL)
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            running = _running(Path(notes))
            print(f"\nThe tests took more than {limit_s:g} s and were ended. Still running:")
            print("\n".join(f"  {name}" for name in running) or "  no test", flush=True)
            return EXIT_TOO_LONG
        except KeyboardInterrupt:
            return process.wait()  # pytest got it too, and ends with its summary
        finally:
            _end_with_children(process)


def _running(notes: Path) -> list[str]:
    """Names of the tests of processes that still live."""
    alive = [note for note in notes.iterdir() if psutil.pid_exists(int(note.name))]
    return sorted(note.read_text(encoding="utf-8") for note in alive)


def _end_with_children(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is not None:
        return
    top = psutil.Process(process.pid)
    for one in [*top.children(recursive=True), top]:
        try:
            one.kill()
        except psutil.NoSuchProcess:
            continue
    process.wait()


def _without_qt_plugin() -> list[str]:
    """pytest-qt ends the whole session where Qt cannot be imported; the conftest reports it."""
    tried = subprocess.run(
        [sys.executable, "-c", "import PySide6.QtWidgets"], capture_output=True, check=False
    )
    return [] if tried.returncode == 0 else ["-p", "no:pytest-qt"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
