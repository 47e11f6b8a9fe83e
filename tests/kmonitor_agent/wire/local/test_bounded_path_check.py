"""A disk that hangs holds up no script that makes a callback."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kmonitor_agent import MonitorCallback
from kmonitor_agent.wire.local import file_system
from kmonitor_agent.wire.local.file_system import BoundedPathCheck
from tests.support.waiting import DEADLINE_S, wait_until


@pytest.fixture
def hanging() -> Iterator[threading.Event]:
    """Until it is set, the disk does not answer."""
    hanging = threading.Event()
    yield hanging
    hanging.set()
    wait_until(lambda: not [t for t in threading.enumerate() if t.name == "kmonitor-look"])


def test_an_answer_in_time_is_the_disks(tmp_path: Path):
    look = BoundedPathCheck(DEADLINE_S)

    assert look.sees(tmp_path, Path.is_dir)
    assert not look.sees(tmp_path, Path.is_file)
    assert not look.sees(tmp_path / "missing", Path.is_dir)


def test_a_disk_that_hangs_is_asked_once_and_holds_up_nobody(hanging: threading.Event):
    asked: list[Path] = []
    look = BoundedPathCheck(0.0)

    def hang(path: Path) -> bool:
        asked.append(path)
        return hanging.wait(DEADLINE_S)

    assert not look.sees(Path("one"), hang)
    wait_until(lambda: asked)
    assert not look.sees(Path("two"), hang)
    assert asked == [Path("one")]


@pytest.mark.keras
def test_a_callback_is_made_while_the_home_hangs(
    hanging: threading.Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    real = Path.is_file
    script = threading.current_thread()

    def is_file(path: Path) -> bool:
        if path == tmp_path / "home":
            assert threading.current_thread() is not script
            return hanging.wait(DEADLINE_S)
        return real(path)

    monkeypatch.setattr(Path, "is_file", is_file)
    monkeypatch.setattr(file_system.DISK, "_within_s", 0.0)
    monkeypatch.setenv("KMONITOR_HOME", str(tmp_path / "home"))

    assert MonitorCallback("held up by nobody").run_id
