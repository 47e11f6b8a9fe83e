"""Names of what is counted: read at first and while a number rises, numbers replaced by "*"."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from kmonitor_agent.probes.process_memory import ProcessMemory
from kmonitor_agent.probes.resources import Resources
from kmonitor_agent.recording import sampler
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.recording.sampler import (
    ResourceReporter,
    checkpoint_folder,
    named_resources,
)
from kmonitor_agent.wire.messages.events import Event, ResourcesNamed

if TYPE_CHECKING:
    from kmonitor_agent.recording.fit import Fit


@pytest.fixture
def now_s(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock, and 2 ms of work for each reading of names."""
    now_s, cpu_s = [100.0], [0.0]

    def worked() -> float:
        cpu_s[0] += 0.001
        return cpu_s[0]

    monkeypatch.setattr(sampler.time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(sampler.time, "thread_time", worked)
    return now_s


def reporter(said: list[Event], *, private: bool = False) -> ResourceReporter:
    memory = ProcessMemory()
    return ResourceReporter(
        memory,
        Resources(memory),
        emit=said.append,
        now_s=lambda: 1.0,
        privacy=Privacy(private=private),
    )


def test_names_are_read_at_first_and_when_there_are_more(now_s: list[float]):
    said: list[Event] = []
    names = reporter(said)
    counts: list[int] = []
    for value in (100.0, 101.0, 130.0, 130.0, 90.0, 91.0, 99.0):
        names.report({"threads": value})
        counts.append(len(said))
        now_s[0] += 60.0

    assert counts == [1, 1, 2, 2, 2, 2, 3]
    assert {event.metric for event in said if isinstance(event, ResourcesNamed)} == {"threads"}


def test_names_are_read_as_rarely_as_their_cost_requires(now_s: list[float]):
    said: list[Event] = []
    names = reporter(said)
    names.report({"threads": 10.0})
    now_s[0] += 4.9
    names.report({"threads": 20.0})
    at_once = len(said)
    now_s[0] += 0.2
    names.report({"threads": 20.0})

    assert (at_once, len(said)) == (1, 2)


def test_names_of_a_private_run_are_hashed():
    said: list[Event] = []
    reporter(said, private=True).report({"threads": 10.0})

    [event] = [each for each in said if isinstance(each, ResourcesNamed)]
    assert event.named
    assert not any("MainThread" in each.name for each in event.named)
    assert {each.kind for each in event.named} == {"thread"}


def test_numbers_in_names_are_one_pattern(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    found = Counter(("file", f"{tmp_path}/data/part-{n}.bin") for n in range(20))
    found["socket", ""] = 3

    named = named_resources(found)

    assert [(each.kind, each.name, each.count) for each in named] == [
        ("file", "data/part-*.bin", 20),
        ("socket", "", 3),
    ]


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("/data/fe5/tmp1a2b/pred-{}.bin", "/data/fe5/tmp1a2b/pred-*.bin"),
        ("/data3/run_{}/model.keras", "/data3/run_*/model.keras"),
        ("prefetch-{}", "prefetch-*"),
    ],
)
def test_numbers_of_folders_that_all_share_stay(path: str, pattern: str):
    found = Counter(("file", path.format(n)) for n in range(20))

    assert [(each.name, each.count) for each in named_resources(found)] == [(pattern, 20)]


def test_the_name_of_a_single_file_is_a_pattern_from_the_first():
    (named,) = named_resources(Counter({("file", "/data/fe5/pred-1.bin"): 1}))

    assert named.name == "/data/fe5/pred-*.bin"


def test_random_names_of_shared_memory_are_one_pattern():
    names = ("2fea8e1b", "ab34ca19", "00dfe1ed", "d3c40000")
    found = Counter({("shared_memory", f"/dev/shm/psm_{name}"): 2 for name in names})  # noqa: S108
    found["event", "eventfd"] = 5

    assert [(each.name, each.count) for each in named_resources(found)] == [
        ("/dev/shm/psm_*", 8),  # noqa: S108
        ("eventfd", 5),
    ]


def test_descriptors_of_files_opened_twice_are_named_by_their_folder():
    names = ("abc", "xyz", "uvw")
    found = Counter({("file", f"/data/{name}"): 2 for name in names})

    assert [(each.name, each.count) for each in named_resources(found)] == [("/data/*", 6)]


def test_names_of_one_folder_with_nothing_in_common_are_the_folders():
    found = Counter(("file", f"/data/{name}") for name in ("abc", "xyz", "uvw", "kkk"))

    assert [(each.name, each.count) for each in named_resources(found)] == [("/data/*", 4)]


@pytest.mark.parametrize(
    ("callbacks", "expected"),
    [
        ([SimpleNamespace(filepath="/data/run/model-{epoch}.keras")], Path("/data/run")),
        ([SimpleNamespace(log_dir="/logs/a"), SimpleNamespace(backup_dir="/b/c")], Path("/b")),
        ([SimpleNamespace(filepath=Path("/data/m.keras"))], Path("/data")),
        ([SimpleNamespace(filepath=7)], None),
        ([], None),
    ],
)
def test_checkpoints_are_where_callbacks_say(callbacks: list[Any], expected: Path | None):
    callback_list = SimpleNamespace(callbacks=callbacks)
    fit = cast("Fit", SimpleNamespace(origin=SimpleNamespace(callback_list=lambda: callback_list)))

    assert checkpoint_folder(fit) == expected


def test_without_a_fit_no_folder_is_known():
    assert checkpoint_folder(None) is None


class _Started:
    """Child process of a class of the script's, whose name is a property."""

    def __init__(self, pid: int, name: str) -> None:
        self._popen = SimpleNamespace(pid=pid)
        self._name = name

    @property
    def name(self) -> str:
        raise AssertionError


def test_children_have_the_names_that_python_gave_them(monkeypatch: pytest.MonkeyPatch):
    started = {_Started(71, "SyncManager-1")}
    monkeypatch.setattr("multiprocessing.process._children", started)
    monkeypatch.setattr(ProcessMemory, "by_child", lambda _self: {71: 900})
    said: list[Event] = []

    reporter(said).report({"ram_children_bytes": 900.0})

    [event] = said
    assert isinstance(event, ResourcesNamed)
    assert event.metric == "children_memory"
    assert [(each.name, each.count) for each in event.named] == [("SyncManager-1 (pid 71)", 900)]
