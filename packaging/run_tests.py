"""Runs pytest as `make test` and `make test-full` do, and ends it where it takes too long."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from parts_of_tests import cut, file_of, files_of, name_of  # noqa: E402

from tests.support.not_run import is_refused, what_is_not_run  # noqa: E402
from tests.support.running_tests import NOTES, REPEATS  # noqa: E402

TESTS = ROOT / "tests"

LIMIT_S = 40 * 60
FULL_LIMIT_S = 6 * 60 * 60
"""Longest time of a run, several times what it takes on two quiet cores."""

_PART_BYTES = 2 * 2**30
"""Memory of a part with the processes that its tests start, with some to spare."""

AT_ONCE = max(2, min((os.cpu_count() or 1) + 1, psutil.virtual_memory().available // _PART_BYTES))
"""Parts that run side by side: one more than cores, since tests often wait for a process."""

_TIMES = 30
"""Runs of each test that is most exposed to timing."""

_BUSY = 4 * (os.cpu_count() or 1)
"""Processes that compute beside those runs."""

EXIT_TOO_LONG = 124
"""Exit status of a run that was ended, as that of timeout(1)."""

_NO_TESTS = pytest.ExitCode.NO_TESTS_COLLECTED
_FINE = {pytest.ExitCode.OK, _NO_TESTS}


def main(arguments: list[str]) -> int:
    """Run the tests and give pytest's status.

    Args:
        arguments: `--full` for all of them, `--limit-s` for another limit; paths choose tests, and
            others go to pytest.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--limit-s", type=float)
    given, others = parser.parse_known_args(arguments)
    paths = [each for each in others if _is_chosen(each)]
    options = [each for each in others if each not in paths]
    files = files_of(ROOT, paths or [str(TESTS)])
    # Few tests are picked by name from all files: most parts would only import theirs.
    is_picked = any(each.startswith("-k") for each in options)
    parts = [files[at::AT_ONCE] for at in range(AT_ONCE)] if is_picked else cut(ROOT, files)
    limit_s = given.limit_s or (FULL_LIMIT_S if given.full else LIMIT_S)
    began_s = time.monotonic()
    quick = ["-m", "not full", *_without_qt_plugin(), *options]
    status = run([part for part in parts if part], quick, limit_s, is_all_printed=bool(options))
    if not given.full or status == EXIT_TOO_LONG:
        return status
    # One file holds most of the slowest tests: they are shared test by test.
    shared = ["-n", str(AT_ONCE), "--dist", "worksteal", "--max-worker-restart=0"]
    shared += [*_without_qt_plugin(), *options]
    whole = [paths or [str(TESTS)]]
    until_s = began_s + limit_s
    slowest = run(whole, ["-m", "full", *shared], until_s - time.monotonic())
    if slowest == EXIT_TOO_LONG:
        return slowest
    return _worst({status, slowest, _run_exposed(whole, shared, until_s - time.monotonic())})


def _run_exposed(parts: list[list[str]], options: list[str], limit_s: float) -> int:
    """Run the tests that are most exposed to timing again and again on a busy machine."""
    print(
        f"tests most exposed to timing, {_TIMES} times beside {_BUSY} busy processes", flush=True
    )
    os.environ[REPEATS] = str(_TIMES)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(_BUSY)]
    try:
        return run(parts, ["-m", "exposed", *options], limit_s)
    finally:
        for each in busy:
            each.kill()
            each.wait()
        del os.environ[REPEATS]


def run(
    parts: list[list[str]], options: list[str], limit_s: float, *, is_all_printed: bool = False
) -> int:
    """Run each part in a pytest of its own, at most for `limit_s` seconds altogether.

    A single part prints as it goes, of several each when it ends.

    Args:
        parts: Files, folders or ids of the tests of each part.
        options: Options for each pytest.
        limit_s: Longest time.
        is_all_printed: Print also what a part prints that passed.

    Returns:
        pytest's status, or `EXIT_TOO_LONG`.
    """
    with tempfile.TemporaryDirectory(prefix="kmonitor-tests-") as folder:
        ran = _Run(parts, options, Path(folder), is_all_printed=is_all_printed)
        return ran.finish(limit_s)


class _Run:
    """Parts of the tests on some processes at once.

    Args:
        parts: Files, folders or ids of the tests of each part.
        options: Options for each pytest.
        folder: Where the parts note which test runs, what they print, and what came of them.
        is_all_printed: Print also what a part prints that passed.
    """

    def __init__(
        self, parts: list[list[str]], options: list[str], folder: Path, *, is_all_printed: bool
    ) -> None:
        self._waiting = deque(parts)
        self._options = options
        self._folder = folder
        self._is_all_printed = is_all_printed
        self._is_single = len(parts) == 1
        self._lock = threading.Lock()
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._counts: Counter[str] = Counter()
        self._failed: list[str] = []
        self._statuses: set[int] = set()
        self._started = 0
        self._is_ended = False

    def finish(self, limit_s: float) -> int:
        """Run all parts, say what came of them, and give pytest's status or `EXIT_TOO_LONG`."""
        began_s = time.monotonic()
        print(f"parts of the tests: {len(self._waiting)}, {AT_ONCE} at once", flush=True)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            works = [pool.submit(self._work) for _ in range(AT_ONCE)]
            try:
                if wait(works, limit_s).not_done:
                    self._print_running(limit_s)
                    return EXIT_TOO_LONG
            except KeyboardInterrupt:
                self._waiting.clear()  # each pytest got it too, and ends with its summary
                wait(works)
            finally:
                self._end_all()
        for work in works:
            work.result()
        self._print_end(time.monotonic() - began_s)
        return self._status()

    def _work(self) -> None:
        while True:
            with self._lock:
                if self._is_ended or not self._waiting:
                    return
                part = self._waiting.popleft()
                self._started += 1
                name = f"part {self._started}"
                process = self._running[name] = self._start(part, name)
            began_s = time.monotonic()
            status = process.wait()
            with self._lock:
                if self._is_ended:
                    return
                del self._running[name]
                if status == pytest.ExitCode.USAGE_ERROR and status in self._statuses:
                    return  # each part says the same
                results = self._results(part, process.pid, status)
                self._take(results, status)
                if status != _NO_TESTS:
                    self._print(name, part, results, time.monotonic() - began_s)
                if status not in _FINE or (self._is_all_printed and status == 0):
                    self._print_output(name)

    def _start(self, part: list[str], name: str) -> "subprocess.Popen[bytes]":
        environ = {**os.environ, NOTES: str(self._folder)}
        # Compiled modules are kept: each training, window and command of a test is a process that
        # would compile ours again.
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, "-m", "pytest", "-q", *self._options, *part]
        if self._is_single:
            return subprocess.Popen(command, cwd=ROOT, env=environ, stdin=subprocess.DEVNULL)
        with (self._folder / name).open("wb") as file:
            return subprocess.Popen(
                command, cwd=ROOT, env=environ, stdin=subprocess.DEVNULL, stdout=file, stderr=file
            )

    def _results(self, part: list[str], pid: int, status: int) -> dict[str, Any]:
        """Read what a part noted; if it died, its other files are run again."""
        if status == pytest.ExitCode.USAGE_ERROR:
            return {"failed": [], "counts": {}}
        ended = self._folder / f"{pid}.json"
        if ended.exists():
            results = json.loads(ended.read_text(encoding="utf-8"))
            ended.unlink()  # another process may get the number
            is_named = status in {*_FINE, pytest.ExitCode.INTERRUPTED} or results["failed"]
            if not is_named:
                results["failed"] = [f"{name_of(part)} (exit status {status})"]
            return results
        note = self._folder / str(pid)
        died_in = note.read_text(encoding="utf-8") if note.exists() else "before its first test"
        others = [each for each in part if not file_of(each).endswith(file_of(died_in))]
        if others and len(others) < len(part):
            self._waiting.append(others)
        return {"failed": [f"{died_in} (the process died)"], "counts": {"failed": 1}}

    def _take(self, results: dict[str, Any], status: int) -> None:
        self._failed += results["failed"]
        self._counts.update(results["counts"])
        self._statuses.add(status if status >= 0 else pytest.ExitCode.TESTS_FAILED)
        is_last = status == pytest.ExitCode.USAGE_ERROR or bool(
            {"-x", "--exitfirst"} & set(self._options)
        )
        if is_last and status not in _FINE:
            self._waiting.clear()

    def _print(self, name: str, part: list[str], results: dict[str, Any], took_s: float) -> None:
        left = len(self._waiting) + len(self._running)
        what = _in_words(results["counts"])
        print(f"{took_s:4.0f} s  {name_of(part)}: {what}  ({name}, {left} left)", flush=True)

    def _print_output(self, name: str) -> None:
        if not self._is_single:
            text = (self._folder / name).read_text(encoding="utf-8", errors="replace")
            print(text, flush=True)

    def _print_running(self, limit_s: float) -> None:
        print(f"\nThe tests took more than {limit_s:g} s and were ended. What was still running:")
        for name in list(self._running):
            self._print_output(name)
        notes = [note for note in self._folder.iterdir() if note.name.isdecimal()]
        alive = [note for note in notes if psutil.pid_exists(int(note.name))]
        names = sorted(note.read_text(encoding="utf-8") for note in alive)
        print("\n".join(f"  {each}" for each in names) or "  no test", flush=True)

    def _print_end(self, took_s: float) -> None:
        for line in [*what_is_not_run(), *(f"FAILED {name}" for name in self._failed)]:
            print(line)
        # As pytest ends, for people and programs that look for it.
        took = timedelta(seconds=round(took_s))
        print(f"{_in_words(self._counts)} in {took_s:.2f}s ({took})", flush=True)

    def _end_all(self) -> None:
        with self._lock:
            self._is_ended = True
            for process in self._running.values():
                _end_with_children(process)

    def _status(self) -> int:
        worst = _worst(self._statuses)
        is_bad = worst not in _FINE
        return pytest.ExitCode.TESTS_FAILED if is_refused() and not is_bad else worst


def _is_chosen(argument: str) -> bool:
    """True for tests by path or id, and not for an option or its value (`--cov kmonitor`)."""
    path = ROOT / file_of(argument)
    return path.exists() and (path.is_relative_to(TESTS) or not path.is_relative_to(ROOT))


def _worst(statuses: set[int]) -> int:
    """The status of several runs of pytest; those without tests do not count beside others."""
    return max(statuses - {_NO_TESTS}, default=_NO_TESTS)


def _in_words(counts: dict[str, Any]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items() if number) or "no test"


def _end_with_children(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is not None:
        return
    top = psutil.Process(process.pid)
    for one in [*top.children(recursive=True), top]:
        try:
            one.kill()
        except psutil.NoSuchProcess:
            continue


def _without_qt_plugin() -> list[str]:
    """pytest-qt ends the whole session where Qt cannot be imported; the conftest reports it."""
    tried = subprocess.run(
        [sys.executable, "-c", "import PySide6.QtWidgets"], capture_output=True, check=False
    )
    return [] if tried.returncode == 0 else ["-p", "no:pytest-qt"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
