"""Pytest hooks that leave out what this machine cannot run, and say so at the end.

The hooks are imported by `tests/conftest.py`. Under xdist the controller collects nothing, so the
report at the end depends on the machine and the reports only.
"""

import os
from pathlib import Path

import pytest

from tests.support.capabilities import CAPABILITIES, Capability
from tests.support.running_tests import NOTES

NOT_RUN = "NOT RUN: "
"""Begin of the reason of such a skip."""

EXIT_NOT_RUN = 1
"""Status of a session that passed what it ran but could not run everything."""


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Know pytest-qt's settings of pyproject.toml also where pytest-qt is not loaded."""
    if not pluginmanager.hasplugin("pytest-qt"):
        for name in ("qt_api", "qt_log_level_fail"):
            parser.addini(name, "of pytest-qt, which is not loaded")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out files that cannot be imported here."""
    if collection_path.suffix != ".py" or not collection_path.is_file():
        return None
    if any(one.missing() and one.is_needed_by(collection_path) for one in CAPABILITIES):
        return True
    return None


def skip_what_is_missing(items: list[pytest.Item]) -> None:
    """Skip tests whose marker names what is missing."""
    for one in CAPABILITIES:
        why = one.missing()
        if not why:
            continue
        for item in items:
            if item.get_closest_marker(one.marker):
                item.add_marker(pytest.mark.skip(reason=f"{NOT_RUN}{why}"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which tests were not run, why, and how to accept that."""
    if NOTES in os.environ:
        return  # the whole run says it once, for all its parts
    for line in what_is_not_run():
        terminalreporter.write_line(line, red=line.startswith(NOT_RUN))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a session that could not run everything, unless that was requested."""
    is_part = NOTES in os.environ or _is_worker(session.config)
    if exitstatus == pytest.ExitCode.OK and is_refused() and not is_part:
        session.exitstatus = EXIT_NOT_RUN


def what_is_not_run() -> list[str]:
    """Lines that say which tests were not run, why, and how to accept that."""
    lines: list[str] = []
    for one in _lacking():
        accepted = "" if not one.is_allowed_to_lack() else " (accepted)"
        lines.append(f"{NOT_RUN}{one.tests}: {one.missing()}{accepted}")
    if is_refused():
        variables = " ".join(sorted({f"{one.allowed_by}=1" for one in _refused()}))
        lines.append(f"To pass without them: make test {variables}")
    return lines


def is_refused() -> bool:
    """True if something is missing here that nobody accepted."""
    return bool(_refused())


def _lacking() -> list[Capability]:
    """Capabilities missing here; the screen is not listed separately when all of Qt is missing."""
    told: list[Capability] = []
    for one in CAPABILITIES:
        why = one.missing()
        if why and all(why != before.missing() for before in told):
            told.append(one)
    return told


def _refused() -> list[Capability]:
    return [one for one in _lacking() if not one.is_allowed_to_lack()]


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")
