"""A run of the tests that does not end on its own is ended, with the names of what hung."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import run_tests as run_tests_module
from typing_extensions import override

from tests.support.running_tests import IN_WORKER, NOTES
from tests.support.waiting import DEADLINE_S, wait_until

ROOT = Path(__file__).resolve().parents[2]

HANGS = "import threading\n\n\ndef test_hangs():\n    threading.Event().wait()\n"

HANGS_IN_A_FIXTURE = """
import threading

import pytest


@pytest.fixture
def stuck():
    threading.Event().wait()


def test_waits(stuck):
    pass


def test_passes():
    pass
"""

DIES = "import os\n\n\ndef test_dies():\n    os.abort()\n\n\ndef test_passes():\n    pass\n"


PLAIN = [
    *("-p", "no:cacheprovider", "-p", "tests.conftest", f"--rootdir={ROOT}"),
    *("-c", str(ROOT / "pyproject.toml"), "--confcutdir", str(ROOT)),
]
"""Options with which tests in another folder run as ours do."""


def run_tests(folder: Path, *options: str, **files: str) -> "subprocess.CompletedProcess[str]":
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    command = [sys.executable, str(ROOT / "packaging/run_tests.py"), *options, *PLAIN]
    return subprocess.run(
        [*command, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )


class OutOfTime(subprocess.Popen[bytes]):
    """A run whose limit has passed as soon as a test runs, however slow the machine is."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._notes = Path(options["env"][NOTES])
        super().__init__(*args, **options)

    @override
    def wait(self, timeout: float | None = None) -> int:
        if timeout is None:
            return super().wait()
        wait_until(lambda: any("hangs" in note.read_text() for note in self._notes.iterdir()))
        raise subprocess.TimeoutExpired(self.args, timeout)


@pytest.mark.slow
def test_a_run_beyond_its_limit_names_what_failed_and_what_was_still_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    (tmp_path / "test_fails.py").write_text("def test_fails():\n    assert not 1\n")
    (tmp_path / "test_hangs.py").write_text(HANGS)
    monkeypatch.setattr(run_tests_module.subprocess, "Popen", OutOfTime)
    monkeypatch.delenv(IN_WORKER, raising=False)
    command = [sys.executable, "-m", "pytest", "-q", *PLAIN, str(tmp_path)]

    assert run_tests_module.run(command, 1.0) == 124
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
