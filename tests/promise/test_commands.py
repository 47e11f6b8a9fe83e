"""No command line ends with a traceback, hangs, or leaves half a file."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from kmonitor_agent.wire.local.folders import find_folders
from tests.promise.commands import BASES, ENVIRONMENTS, LINES, fill, generated
from tests.promise.many_commands import run_all
from tests.support.command_line import kmonitor
from tests.support.running_tests import LONG
from tests.support.simulated_agent import SimulatedAgent

pytestmark = [pytest.mark.slow, LONG]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A home whose hub has one run; the files that the lines name are in the working folder."""
    environ = {"KMONITOR_HOME": str(tmp_path / "home")}
    ensured = kmonitor("hub", "ensure", environ=environ)
    assert ensured.status == 0, ensured.err
    with SimulatedAgent(find_folders({**environ, "HOME": str(tmp_path)})) as agent:
        agent.start_fit()
        agent.sample()
        agent.wait_acked()
    (tmp_path / "work").mkdir()
    fill(tmp_path / "work")
    yield environ
    kmonitor("hub", "stop", environ=environ)


def faults(words: Sequence[str], ran: dict[str, Any], right: set[int]) -> list[str]:
    """Faults in the end of a command line."""
    found: list[str] = []
    if ran["status"] is None:
        found.append("does not end")
    elif ran["status"] not in right:
        found.append(f"status {ran['status']}")
    if "Traceback" in ran["err"] + ran["out"]:
        found.append("a traceback")
    if ran["status"] in (1, 2) and not (ran["err"] + ran["out"]).strip():
        found.append("says nothing")
    if len(ran["out"]) >= 20_000 and "--json" not in words and words[0] != "export":
        found.append("prints without an end")
    return [f"{[w[:60] for w in words]}: {', '.join(found)}\n{ran['err'][-800:]}"] if found else []


# A run whose process answers no more is waited for as long as `--timeout` says.
_MORE_STATUSES: Final = {"run": {126, 127}, "command": {3}, "compare": {4}}


def left_over(folder: Path) -> list[str]:
    """Half files."""
    return [
        path.name[:80] for path in folder.rglob("*") if ".part" in path.name or ".tmp" in path.name
    ]


@pytest.mark.full
@pytest.mark.parametrize("command", BASES)
def test_a_command_takes_odd_values_or_says_what_is_wrong(
    command: str, home: dict[str, str], tmp_path: Path
):
    words = command.split()
    others = [one.split() for one in BASES if one != command and one.startswith(f"{command} ")]
    lines = [
        line
        for line in generated()
        if list(line[: len(words)]) == words and list(line[:2]) not in others
    ]
    results = run_all(lines, tmp_path / "work", home)

    wrong = [
        fault
        for line, ran in zip(lines, results, strict=True)
        for fault in faults(line, ran, {0, 1, 2} | _MORE_STATUSES.get(command, set()))
    ]
    assert not wrong, "\n".join(wrong)
    assert left_over(tmp_path / "work") == []


def test_lines_that_went_wrong_once_end_as_they_should(home: dict[str, str], tmp_path: Path):
    results = run_all([words for words, _ in LINES], tmp_path / "work", home)

    wrong = [
        fault
        for (words, right), ran in zip(LINES, results, strict=True)
        for fault in faults(words, ran, right)
    ]
    assert not wrong, "\n".join(wrong)
    assert left_over(tmp_path / "work") == []


def test_commands_end_well_in_odd_environments(home: dict[str, str], tmp_path: Path):
    results = run_all(
        [words for *_, words in ENVIRONMENTS],
        tmp_path / "work",
        home,
        [environ for _, environ, _ in ENVIRONMENTS],
    )

    wrong = [
        f"{name}: {fault}"
        for (name, _, words), ran in zip(ENVIRONMENTS, results, strict=True)
        for fault in faults(words, ran, {0, 1, 2} if "home" in name or "user" in name else {0, 1})
    ]
    assert not wrong, "\n".join(wrong)
