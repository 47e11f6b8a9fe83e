"""Memory of this very process, against what is known of it."""

import itertools
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from kmonitor_agent.probes import held_memory, pacing, process_memory
from kmonitor_agent.probes.held_memory import read_held
from kmonitor_agent.probes.process_memory import ProcessMemory
from kmonitor_agent.wire.messages.readings import Reading
from tests.support.made_up_proc import MadeUpProc
from tests.support.waiting import DEADLINE_S

MIB = 2**20


def test_readings_are_of_this_process(monkeypatch: pytest.MonkeyPatch):
    # Those that other tests of this process left are none of it.
    monkeypatch.setattr(process_memory, "read_children", lambda _folder: list[int]())
    monkeypatch.setattr(process_memory, "_descendants", lambda _proc: set[int]())
    memory = ProcessMemory()
    memory.read_slowly()

    found = memory.read()

    resident = psutil.Process().memory_info().rss
    assert (found.process.value or 0) + (found.file.value or 0) == pytest.approx(resident, rel=0.1)
    assert found.peak.value is not None
    assert found.peak.value >= (found.process.value or 0) * 0.95
    assert 0 < (found.unique.value or 0) <= resident * 1.05
    assert found.bound.value is not None
    assert found.bound.value <= psutil.virtual_memory().total
    assert found.host_available.value is not None


def test_growth_of_the_process_is_seen():
    before = read_held().value or 0.0
    held = bytearray(64 * MIB)
    held[::4096] = b"x" * len(held[::4096])

    grown = (read_held().value or 0.0) - before

    assert grown > 56 * MIB
    assert len(held) == 64 * MIB


def test_children_count_in_the_total():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        memory = ProcessMemory()
        memory.read_slowly()
        found = memory.read()
    finally:
        child.communicate(b"\n", timeout=DEADLINE_S)

    assert found.children.value is not None
    assert found.children.value > 0
    assert found.total.value == pytest.approx(
        (found.process.value or 0) + found.children.value, rel=0.05
    )


def test_slow_readings_say_that_they_were_not_read_yet():
    found = ProcessMemory().read()

    assert found.unique.value is None
    assert found.unique.absent == "not read yet"


@pytest.mark.parametrize(
    ("children", "expected"),
    [([7], [100.0, 130.0, 160.0, 190.0]), ([], [100.0])],
    ids=["with a child", "alone"],
)
def test_what_took_long_to_read_is_read_the_more_rarely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, children: list[int], expected: list[float]
):
    now_s, cpu_s, looks = [100.0], [0.0], list[float]()

    def took_long(*_: object) -> object:
        cpu_s[0] += 0.03 / (1 + len(children))
        looks.append(now_s[0])
        return SimpleNamespace(held_bytes=1, private_bytes=0, file_bytes=0, unique_bytes=0)

    monkeypatch.setattr(held_memory, "read_proportional_set", took_long)
    monkeypatch.setattr(process_memory.time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(process_memory.time, "thread_time", lambda: cpu_s[0])
    proc = MadeUpProc(tmp_path, children)
    for pid in ("self", *children):
        proc.status(pid, anonymous=1)
    memory = ProcessMemory(proc.folder)
    for _ in range(10):
        memory.read_slowly()
        now_s[0] += 10.0

    assert sorted(set(looks)) == expected
    assert "up to 30 s old" in memory.read().children.source


@pytest.mark.skipif(sys.platform != "linux", reason="procfs lists children")
def test_a_child_that_started_since_is_counted_soon_and_until_it_ends(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(process_memory.time, "thread_time", lambda: 0.0)  # no pause
    memory = ProcessMemory()
    memory.read_slowly()
    before = memory.read().children.value or 0.0

    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        with_it = memory.read().children.value or 0.0
    finally:
        child.communicate(b"\n", timeout=DEADLINE_S)

    assert with_it > before
    assert memory.read().children.value == before


def test_children_are_looked_for_often_while_they_start_and_rarely_again_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    now_s = [100.0]
    cpu_s = itertools.count(0.0, 0.0002)
    looks: list[float] = []
    proc = MadeUpProc(tmp_path)
    proc.status("self", anonymous=1)
    monkeypatch.setattr(process_memory.time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(process_memory.time, "thread_time", lambda: next(cpu_s))
    look = process_memory.read_children

    def look_noted(folder: Path) -> list[int] | None:
        looks.append(now_s[0])
        return look(folder)

    monkeypatch.setattr(process_memory, "read_children", look_noted)
    memory = ProcessMemory(proc.folder)
    memory.read_slowly()
    lag: list[int] = []
    for n in range(1, 13):
        pid = 6 + n
        proc.status(pid, anonymous=1)
        proc.write("self", "task/1/children", " ".join(map(str, range(7, pid + 1))))
        for _ in range(2):
            now_s[0] += 1.0
            memory.read()
        lag.append(n - (memory.n_children or 0))
    ended_s = now_s[0]
    for _ in range(60):
        now_s[0] += 1.0
        memory.read()

    assert lag[4:] == [0] * 8
    assert len([at for at in looks if at > ended_s + 15.0]) <= 60 / 4


def test_compiled_code_is_counted_soon_after_its_size_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    now_s = [100.0]
    cpu_s = itertools.count(0.0, 0.003)
    counts = itertools.count(1)
    monkeypatch.setattr(pacing.time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(pacing.time, "thread_time", lambda: next(cpu_s))
    monkeypatch.setattr(
        process_memory,
        "read_code_regions",
        lambda _folder: Reading(float(next(counts)), "regions", "made up"),
    )
    proc = MadeUpProc(tmp_path)
    status = "Name:\tpython\nRssAnon:\t100 kB\nVmLib:\t"
    proc.write("self", "status", f"{status}40 kB\n")
    memory = ProcessMemory(proc.folder)
    read: list[float | None] = []
    for code, seconds in ((40, 0.0), (40, 30.0), (41, 10.0), (41, 1.0)):
        proc.write("self", "status", f"{status}{code} kB\n")
        now_s[0] += seconds
        read.append(memory.read().code.value)

    assert read == [1.0, 1.0, 2.0, 2.0]
