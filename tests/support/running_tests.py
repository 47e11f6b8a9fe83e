"""Pytest hooks: each test's limit, notes of which one runs and what came of all, what failed.

The hooks are imported by `tests/conftest.py`. `packaging/run_tests.py` names the folder for the
notes and reads them when the whole run takes too long: nothing else can say it where every process
hangs.
"""

import json
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.waiting import set_test_limit

LIMIT_S: Final = 120.0
"""Longest time of a test with its fixtures (`timeout` in pyproject.toml)."""

LONG_LIMIT_S: Final = 900.0

LONG: Final = pytest.mark.timeout(LONG_LIMIT_S)
"""Mark of tests that take more than seven seconds on a quiet machine."""

FULL_LIMIT_S: Final = 7000.0
"""Longest time of a test that only `make test-full` runs."""

IN_WORKER = "PYTEST_XDIST_WORKER"
"""Variable that only the processes of xdist have that run tests for another."""

NOTES = "KMONITOR_RUNNING_TESTS"
"""Variable with the folder in which each process notes its test, and what came of all of them."""

REPEATS = "KMONITOR_TEST_REPEATS"
"""Variable with the number of times that each test marked `exposed` runs."""

COUNTED: Final = ("failed", "passed", "skipped", "xfailed", "error")
"""pytest's words for what came of a test."""


def give_limits(items: list[pytest.Item]) -> None:
    """Give tests of `make test-full` their longer limit."""
    for item in items:
        if item.get_closest_marker("full"):
            # The first one counts, and a mark of the test itself comes before those of its file.
            item.add_marker(pytest.mark.timeout(FULL_LIMIT_S), append=False)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Have the tests that are most exposed to timing run as often as `REPEATS` says."""
    times = int(os.environ.get(REPEATS, "1"))
    if times > 1 and metafunc.definition.get_closest_marker("exposed"):
        metafunc.fixturenames.append("repeat")
        metafunc.parametrize("repeat", range(times), indirect=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note the test that runs, and start its limit for waits."""
    limit = item.get_closest_marker("timeout")
    set_test_limit(LIMIT_S if limit is None else float(limit.args[0]))
    folder = os.environ.get(NOTES)
    if not folder:
        return (yield)
    note = Path(folder, str(os.getpid()))
    note.write_text(item.nodeid, encoding="utf-8")
    try:
        return (yield)
    finally:
        note.unlink(missing_ok=True)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Print the name of a test that failed at once: a run that is ended has no summary."""
    if report.failed and os.environ.get(NOTES) and IN_WORKER not in os.environ:
        sys.stdout.write(f"\nFAILED {report.nodeid} ({report.when})\n")
        sys.stdout.flush()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Note how many tests passed and which did not, for the run of which this is a part."""
    reporter: Any = config.pluginmanager.getplugin("terminalreporter")
    folder = os.environ.get(NOTES)
    if not folder or IN_WORKER in os.environ or reporter is None:
        return
    reports: dict[str, list[Any]] = reporter.stats
    counts = {name: len(reports.get(name, ())) for name in COUNTED}
    failed = [
        f"{report.nodeid} ({getattr(report, 'when', 'collect')})"
        for name in ("failed", "error")
        for report in reports.get(name, ())
    ]
    note = Path(folder, f"{os.getpid()}.json")
    note.write_text(json.dumps({"counts": counts, "failed": failed}), encoding="utf-8")
