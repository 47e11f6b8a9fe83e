"""A run of the tests that does not end on its own is ended, with the names of what hung."""

import itertools
import subprocess
import sys
import tempfile
from concurrent import futures
from dataclasses import replace
from pathlib import Path
from typing import Any

import parts_of_tests
import pytest
import run_tests as run_tests_module
from parts_of_tests import FILES_OF_A_PART, cut, files_of

from tests.support.capabilities import CAPABILITIES
from tests.support.running_tests import IN_WORKER
from tests.support.waiting import DEADLINE_S, wait_until

ROOT = Path(__file__).resolve().parents[2]

HANGS = "import threading\n\n\ndef test_hangs():\n    threading.Event().wait()\n"

HANGS_IN_A_FIXTURE = """

import pytest


@pytest.fixture
def stuck():
    threading.Event().wait()


def test_waits(stuck):
    pass


def test_passes():
    pass
"""

DIES_AT_THE_END = (
    "import atexit, os\n\natexit.register(os._exit, 7)\n\n\ndef test_x():\n    pass\n"
)

DIES = "import os\n\n\ndef test_dies():\n    os.abort()\n\n\ndef test_passes():\n    pass\n"


PLAIN = [
    *("-p", "no:cacheprovider", "-p", "tests.conftest"),
    *(f"--config-file={ROOT / 'pyproject.toml'}", f"--confcutdir={ROOT}"),
]
"""Options with which tests in another folder run as ours do."""


def run_tests(folder: Path, *options: str, **files: str) -> "subprocess.CompletedProcess[str]":
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    command = [sys.executable, str(ROOT / "packaging/run_tests.py"), *options, *PLAIN]
    command.append(f"--rootdir={folder}")
    return subprocess.run(
        [*command, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )


def wait_for_a_hang(works: list[Any], limit_s: float) -> Any:
    """Wait as if the limit had passed as soon as a test hangs, however slow the machine is."""
    notes = Path(tempfile.gettempdir())
    wait_until(lambda: any("hangs" in note.read_text() for note in notes.glob("*/[0-9]*")))
    return futures.wait(works, 0)


@pytest.mark.slow
def test_a_run_beyond_its_limit_names_what_failed_and_what_was_still_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    fails, hangs, notes = (tmp_path / name for name in ("test_fails.py", "test_hangs.py", "notes"))
    fails.write_text("def test_fails():\n    assert not 1\n")
    hangs.write_text(HANGS)
    notes.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(notes))
    monkeypatch.setattr(run_tests_module, "wait", wait_for_a_hang)
    monkeypatch.delenv(IN_WORKER, raising=False)

    options = [*PLAIN, f"--rootdir={tmp_path}"]
    assert run_tests_module.run([[str(fails), str(hangs)]], options, 1.0) == 124
    printed = capfd.readouterr().out
    assert "test_fails.py::test_fails (call)" in printed
    assert printed.rstrip().endswith("test_hangs.py::test_hangs")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param(HANGS, "test_hangs", id="test", marks=pytest.mark.full),
        pytest.param(HANGS_IN_A_FIXTURE, "test_waits", id="fixture", marks=pytest.mark.full),
        pytest.param(DIES, "test_dies", id="worker"),
    ],
)
def test_what_hangs_or_dies_is_named_and_the_other_worker_goes_on(
    tmp_path: Path, text: str, name: str
):
    ran = run_tests(tmp_path, "--timeout=10", odd=text, fine="def test_fine():\n    pass\n")

    assert ran.returncode == 1
    assert f"::{name}" in ran.stdout
    assert "1 passed" in ran.stdout or "2 passed" in ran.stdout, ran.stdout


@pytest.mark.slow
def test_the_results_of_all_parts_are_counted_and_failures_named_at_the_end(tmp_path: Path):
    passes = "def test_passes():\n    pass\n"
    files = {f"file{number:02}": passes for number in range(FILES_OF_A_PART)}
    ran = run_tests(tmp_path, fails="def test_fails():\n    assert not 1\n", **files)

    assert ran.returncode == 1
    assert ran.stdout.count(" left)") == 2
    *_, failed, counts = ran.stdout.splitlines()
    assert failed.endswith("test_fails.py::test_fails (call)")
    assert counts.startswith(f"1 failed, {FILES_OF_A_PART} passed in ")


def with_capabilities(monkeypatch: pytest.MonkeyPatch, *missing: str) -> None:
    """Find everything on this machine but what these markers need."""
    found = [
        replace(one, missing=lambda why="not here" if one.marker in missing else "": why)
        for one in CAPABILITIES
    ]
    monkeypatch.setattr(parts_of_tests, "CAPABILITIES", found)


def test_parts_hold_each_file_once_and_those_that_train_come_first(
    monkeypatch: pytest.MonkeyPatch,
):
    with_capabilities(monkeypatch)
    files = files_of(ROOT, ["tests"])
    parts = cut(ROOT, files)

    assert sorted(itertools.chain(*parts)) == files
    assert max(map(len, parts)) <= FILES_OF_A_PART
    trains = [any("test_callback.py" in name for name in part) for part in parts]
    assert trains.index(True) < len(parts) // 2


def test_a_chosen_test_is_a_part_of_its_own_file():
    chosen = "tests/packaging/test_run_tests.py::test_a_chosen_test"
    assert cut(ROOT, files_of(ROOT, [chosen])) == [[chosen]]


def test_files_that_need_what_is_missing_are_left_out(monkeypatch: pytest.MonkeyPatch):
    with_capabilities(monkeypatch)
    present = set(files_of(ROOT, ["tests/kmonitor_agent"]))
    with_capabilities(monkeypatch, "keras")
    left = set(files_of(ROOT, ["tests/kmonitor_agent"]))

    assert left < present
    assert "tests/kmonitor_agent/test_callback.py" in present - left
    assert "tests/kmonitor_agent/test_guard.py" in left


def test_a_process_that_fails_after_its_tests_is_named(tmp_path: Path):
    ran = run_tests(tmp_path, odd=DIES_AT_THE_END)

    assert ran.returncode == 7
    assert "test_odd.py (exit status 7)" in ran.stdout
    assert "1 passed in" in ran.stdout


@pytest.mark.slow
@pytest.mark.full
def test_a_full_run_ends_with_many_runs_of_what_is_exposed_to_timing(tmp_path: Path):
    text = (
        "import os\nimport pytest\n\n\n@pytest.mark.exposed\ndef test_x():\n"
        "    assert 'KMONITOR_TEST_REPEATS' not in os.environ\n\n\ndef test_y():\n    pass\n"
    )

    done = run_tests(tmp_path, "--full", x=text)

    assert "2 passed" in done.stdout
    assert "30 failed" in done.stdout
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
