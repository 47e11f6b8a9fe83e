"""A run of the tests that does not end by itself is ended, with the names of what hung."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import DEADLINE_S

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


def run_tests(folder: Path, *options: str, **files: str) -> "subprocess.CompletedProcess[str]":
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    words = ["-p", "no:cacheprovider", f"--rootdir={ROOT}", "-c", str(ROOT / "pyproject.toml")]
    command = [sys.executable, str(ROOT / "packaging/run_tests.py"), *options, *words]
    return subprocess.run(
        [*command, "--confcutdir", str(ROOT), "-p", "tests.conftest", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )


@pytest.mark.slow
def test_a_run_beyond_its_limit_names_what_was_still_running(tmp_path: Path):
    ran = run_tests(tmp_path, "--limit-s=8", hangs=HANGS)

    assert ran.returncode == 124
    assert ran.stdout.rstrip().endswith("test_hangs.py::test_hangs"), ran.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "name"),
    [(HANGS, "test_hangs"), (HANGS_IN_A_FIXTURE, "test_waits"), (DIES, "test_dies")],
    ids=["test", "fixture", "worker"],
)
def test_what_hangs_or_dies_is_named_and_the_other_worker_goes_on(
    tmp_path: Path, text: str, name: str
):
    ran = run_tests(tmp_path, "--timeout=3", odd=text, fine="def test_fine():\n    pass\n")

    assert ran.returncode == 1
    assert f"::{name}" in ran.stdout
    assert "1 passed" in ran.stdout or "2 passed" in ran.stdout, ran.stdout
