"""Fixtures that every test shares: a home of its own, and nothing left alive behind it."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("QT_SCALE_FACTOR", "1")
os.environ.setdefault("QT_FONT_DPI", "96")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

from kmonitor_agent.local.folders import Folders, find_folders
from tests.support.not_run import (
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_ignore_collect,
    pytest_sessionfinish,
    pytest_terminal_summary,
)

__all__ = [
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_ignore_collect",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
]


@pytest.fixture(autouse=True)
def kmonitor_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every file and socket of ours below this test's own folder."""
    home = tmp_path / "home"
    monkeypatch.setenv("KMONITOR_HOME", str(home))
    return home


@pytest.fixture
def folders(kmonitor_home: Path) -> Folders:
    """The folders below this test's home."""
    return find_folders({"KMONITOR_HOME": str(kmonitor_home)})


@pytest.fixture(autouse=True)
def no_thread_of_ours_is_left() -> Iterator[None]:
    """Fail a test that leaves one of kmonitor's threads running."""
    before = set(threading.enumerate())
    yield
    left = [t.name for t in threading.enumerate() if t not in before and "kmonitor" in t.name]
    assert not left, f"threads left alive: {left}"
