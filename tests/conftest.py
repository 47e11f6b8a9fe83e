"""Fixtures that every test shares: its own home, and nothing left alive behind it."""

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("QT_SCALE_FACTOR", "1")
os.environ.setdefault("QT_FONT_DPI", "96")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
# TensorFlow turns oneDNN on by default only on some processors, and only oneDNN's allocator counts
# what a CPU's tensors take: without this, tests of memory fail on all others.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
# WORKAROUND: some virtual machines announce AMX and do not let it be used; oneDNN, which believes
# them, then ends plain Keras in bfloat16 with SIGILL. Remove when oneDNN checks with the kernel
# first.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")

from kmonitor_agent.wire.local.folders import Folders, find_folders
from tests.support.left_windows import main_windows_left
from tests.support.not_run import (
    pytest_addoption,
    pytest_ignore_collect,
    pytest_sessionfinish,
    pytest_terminal_summary,
    skip_what_is_missing,
)
from tests.support.running_tests import (
    give_limits,
    pytest_generate_tests,
    pytest_runtest_logreport,
    pytest_runtest_protocol,
    pytest_unconfigure,
)
from tests.support.waiting import DEADLINE_S

__all__ = [
    "pytest_addoption",
    "pytest_generate_tests",
    "pytest_ignore_collect",
    "pytest_runtest_logreport",
    "pytest_runtest_protocol",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
    "pytest_unconfigure",
]

# The same examples on every machine, and however long it takes for one of them: what fails here
# must be a fault of ours, not a busy neighbour or a die that fell badly.
settings.register_profile(
    "kmonitor", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("kmonitor")

# A shell that starts tests in the background has them ignore Ctrl+C, and so would every process
# that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what cannot run here, and give the slowest tests their limit."""
    skip_what_is_missing(items)
    give_limits(items)


def pytest_collection_finish() -> None:
    """Freeze the objects of imports and of the tests themselves: they are never garbage.

    A collection takes a tenth of the time without it, and Keras' tests request thousands.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def kmonitor_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every file and socket of ours below this test's own folder."""
    home = tmp_path / "home"
    monkeypatch.setenv("KMONITOR_HOME", str(home))
    return home


@pytest.fixture
def repeat(request: pytest.FixtureRequest) -> int:
    """Number of this run of a test that is repeated."""
    return request.param


@pytest.fixture
def folders(kmonitor_home: Path) -> Folders:
    """The folders below this test's home."""
    return find_folders({"KMONITOR_HOME": str(kmonitor_home)})


@pytest.fixture(autouse=True)
def files_as_the_user_makes_them() -> Iterator[None]:
    """The usual mask of a new file, also after a test in which a hub ran in this process."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture(autouse=True)
def counts_of_traces_are_not_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search for the owners of traces each time: other tests have used up the time for it."""
    traces = sys.modules.get("kmonitor_agent.frameworks.tensorflow.traces")
    if traces is not None:
        monkeypatch.setattr(traces, "SEARCH_PART", 1e6)


@pytest.fixture(autouse=True)
def no_window_is_left() -> Iterator[None]:
    """Fail a test that leaves a main window, which the next test would find among its own."""
    before = main_windows_left()  # those of its module's fixtures
    yield
    assert [each for each in main_windows_left() if each not in before] == []


@pytest.fixture(autouse=True)
def no_thread_of_ours_is_left() -> Iterator[None]:
    """Fail a test that leaves one of kmonitor's threads running."""
    before = set(threading.enumerate())
    yield
    left = [t for t in threading.enumerate() if t not in before and "kmonitor" in t.name]
    end_s = time.monotonic() + DEADLINE_S
    for thread in left:
        thread.join(max(0.0, end_s - time.monotonic()))
    alive = [thread.name for thread in left if thread.is_alive()]
    assert not alive, f"threads left alive: {alive}"
