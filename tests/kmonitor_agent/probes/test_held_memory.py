"""Held memory: pages of files left out, shared ones counted once; real and made up processes."""

import mmap
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from kmonitor_agent.probes import held_memory, process_memory
from kmonitor_agent.probes.held_memory import (
    FamilyMemory,
    ProcessPages,
    peak_held_bytes,
    read_held,
    read_own_pages,
    read_pages,
)
from kmonitor_agent.probes.process_memory import ProcessMemory
from tests.support.made_up_proc import MadeUpProc
from tests.support.waiting import DEADLINE_S

MIB = 2**20
FILE_BYTES = 300 * MIB
SHARED_BYTES = 160 * MIB
N_FORKS = 3

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="procfs")


@pytest.fixture
def big_file(tmp_path: Path) -> Path:
    path = tmp_path / "data.bin"
    with path.open("wb") as file:
        for _ in range(FILE_BYTES // MIB):
            file.write(os.urandom(4096) + bytes(MIB - 4096))
    return path


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The children that are seen: those that other tests of this process left are not."""
    seen: list[int] = []
    monkeypatch.setattr(process_memory, "read_children", lambda _folder: list(seen))
    monkeypatch.setattr(process_memory, "_descendants", lambda _proc: set(seen))
    return seen


@on_linux
@pytest.mark.usefixtures("children")
def test_a_mapped_file_that_is_read_is_no_held_memory(big_file: Path):
    memory = ProcessMemory()
    memory.read_slowly()
    before = memory.read()
    with big_file.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        assert sum(data[at] for at in range(0, FILE_BYTES, 4096)) > 0
        after = memory.read()

    assert grown(before.total, after.total) < 30 * MIB
    assert grown(before.process, after.process) < 30 * MIB
    assert grown(before.file, after.file) > 0.95 * FILE_BYTES
    assert after.file.source.endswith("status RssFile")


def test_pages_of_files_mapped_since_the_shares_were_read_count_at_once(tmp_path: Path):
    proc = MadeUpProc(tmp_path, children=[7])
    proc.status("self", anonymous=100, file=50)
    proc.rollup("self", anonymous=100, file=30)
    proc.status(7, anonymous=10, file=50)
    proc.rollup(7, anonymous=10, file=25)
    memory = ProcessMemory(proc.folder)
    memory.read_slowly()
    before = memory.read()
    proc.status("self", anonymous=100, file=350)
    after = memory.read()

    assert before.file.value == 55 * MIB
    assert after.file.value == 355 * MIB
    assert after.total.value == before.total.value


@on_linux
def test_what_forks_share_counts_once():
    memory = ProcessMemory()
    shared = bytearray(os.urandom(4096) * (SHARED_BYTES // 4096))
    with forks(N_FORKS) as pids:
        memory.read_slowly()
        found = memory.read()
        resident = sum(psutil.Process(pid).memory_info().rss for pid in pids)
        proportional = sum(pss(pid) for pid in ("self", *pids))

    assert len(shared) == SHARED_BYTES
    assert resident > N_FORKS * SHARED_BYTES
    assert found.total.value == pytest.approx(proportional, rel=0.1)
    assert "children: proportional set sizes (PSS, smaps_rollup), up to" in found.total.source


@on_linux
def test_forks_not_read_slowly_yet_count_with_what_they_took_beyond_their_parent(
    monkeypatch: pytest.MonkeyPatch,
):
    memory = ProcessMemory()
    memory.read_slowly()
    monkeypatch.setattr(memory, "read_slowly", lambda: None)  # as if it paused
    shared = bytearray(os.urandom(4096) * (SHARED_BYTES // 4096))
    with forks(N_FORKS):
        found = memory.read()

    assert len(shared) == SHARED_BYTES
    assert (found.children.value or 0.0) < SHARED_BYTES / 2


@on_linux
def test_another_program_counts_in_full_at_once(children: list[int]):
    memory = ProcessMemory()
    memory.read_slowly()
    script = f"held = bytearray({64 * MIB}); held[::4096] = b'x' * {64 * MIB // 4096}; print(1)"
    child = subprocess.Popen(
        [sys.executable, "-c", f"{script}; import sys; sys.stdout.flush(); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    children.append(child.pid)
    try:
        assert child.stdout is not None
        child.stdout.readline()
        found = memory.read()
    finally:
        child.communicate(b"\n", timeout=DEADLINE_S)
        children.clear()

    assert found.children.value is not None
    assert found.children.value > 60 * MIB
    assert memory.read().children.value == 0


@on_linux
def test_readings_without_children_are_those_of_the_process():
    held = read_held()
    pages = read_pages(Path("/proc/self"))

    assert held.value == pytest.approx(pages.held_bytes, rel=0.1)
    assert held.source == "process: /proc/self/status RssAnon + RssShmem + VmSwap"
    assert peak_held_bytes() <= (pages.peak_bytes or 0)


def test_swapped_out_pages_stay_held(tmp_path: Path):
    proc = MadeUpProc(tmp_path)
    proc.status("self", anonymous=100, shared=20, swapped=0, file=500)
    before = ProcessMemory(proc.folder).read()
    proc.status("self", anonymous=30, shared=10, swapped=80, file=5)

    after = ProcessMemory(proc.folder).read()

    assert (before.process.value, after.process.value) == (120 * MIB, 120 * MIB)
    assert (before.file.value, after.file.value) == (500 * MIB, 5 * MIB)


def test_shares_are_read_with_swap_and_grow_by_own_pages_in_between(tmp_path: Path):
    proc = MadeUpProc(tmp_path, children=[7, 8])
    proc.status("self", anonymous=400)
    proc.rollup("self", anonymous=130, file=30)
    for pid in (7, 8):
        proc.status(pid, anonymous=500)
        proc.rollup(pid, anonymous=235, swapped=10, private_dirty=100, file=15)
    memory = ProcessMemory(proc.folder)
    memory.read_slowly()
    at_first = memory.read()
    proc.status(7, anonymous=480, swapped=60)
    proc.status(8, anonymous=500, shared=999)
    then = memory.read()
    proc.end(8)
    at_last = memory.read()

    assert at_first.total.value == (130 + 2 * 245) * MIB
    assert at_first.file.value == (30 + 2 * 15) * MIB
    assert at_first.unique.value == 0
    assert then.total.value == (130 + 2 * 245 + 40) * MIB
    assert at_last.total.value == (130 + 2 * 245 + 40 - 110) * MIB


def test_a_kernel_without_shares_counts_each_child_and_says_so(tmp_path: Path):
    proc = MadeUpProc(tmp_path, children=[7, 8])
    proc.status("self", anonymous=400, shared=50)
    proc.status(7, anonymous=90, shared=60)
    proc.status(8, anonymous=30, shared=60, swapped=5)
    memory = ProcessMemory(proc.folder)
    memory.read_slowly()

    found = memory.read()

    assert found.total.value == (450 + 90 + 35 + 10) * MIB
    assert (
        "pages shared by forks may be counted twice: the proportional set sizes (PSS) cannot be"
        in found.total.source
    )
    assert found.file.value == 0


def test_a_rollup_without_kinds_of_pages_is_none(tmp_path: Path):
    proc = MadeUpProc(tmp_path, children=[7])
    proc.status("self", anonymous=400)
    proc.write("self", "smaps_rollup", "0-1 ---p [rollup]\nRss: 9 kB\nPss: 9 kB\n")
    proc.status(7, anonymous=90)
    memory = ProcessMemory(proc.folder)
    memory.read_slowly()

    assert memory.read().total.source.endswith(
        "this kernel does not report proportional set sizes (PSS)"
    )


def test_a_fork_without_shares_counts_beyond_its_parent(tmp_path: Path):
    proc = MadeUpProc(tmp_path, children=[7])
    proc.status("self", anonymous=400)
    proc.status(7, anonymous=430, parent="self")
    family = FamilyMemory(proc=proc.folder)
    pages = read_pages(proc.folder / "self")

    first = family.children_bytes({7}, pages)
    proc.status(7, anonymous=435, parent="self")

    assert first == 30 * MIB
    assert family.children_bytes({7}, pages) == 35 * MIB
    assert family.by_child == {7: 35 * MIB}


def test_a_child_that_cannot_be_read_is_left_out_of_the_shares(tmp_path: Path):
    proc = MadeUpProc(tmp_path, children=[7, 8])
    proc.status("self", anonymous=400)
    proc.rollup("self", anonymous=400)
    proc.status(7, anonymous=90)  # its rollup may not be read
    memory = ProcessMemory(proc.folder)
    memory.read_slowly()

    assert memory.read().total.value == 490 * MIB


@pytest.mark.parametrize(
    "status", ["", "Name:\tx\n", "RssAnon:\n", "\nRssAnon:\t kB\n", "\nRssAnon: x"]
)
def test_a_status_without_pages_falls_back_to_statm_or_psutil(tmp_path: Path, status: str):
    proc = MadeUpProc(tmp_path)
    proc.write("self", "status", status)
    without = read_own_pages(proc.folder / "self")
    proc.write("self", "statm", "1000 600 200 1 0 9 0")
    proc.write("self", "status", "Name:\tx\n")
    with_statm = read_own_pages(proc.folder / "self")

    assert getattr(without, "source", None) == "process: resident set size (RSS, psutil)"
    assert isinstance(with_statm, ProcessPages)
    assert with_statm.held_bytes == 400 * os.sysconf("SC_PAGE_SIZE")
    assert with_statm.file_bytes is None


def test_without_anything_to_read_the_reason_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refused(_: object) -> None:
        raise psutil.AccessDenied(1)

    monkeypatch.setattr(held_memory.psutil.Process, "memory_info", refused)
    memory = ProcessMemory(tmp_path)
    memory.read_slowly()

    found = memory.read()

    assert found.total.value is None
    assert "cannot be read" in found.total.absent
    assert found.file.absent == "this system does not report file-backed pages"


@pytest.mark.parametrize(
    ("platform", "held", "source"),
    [
        ("win32", 70.0, "private bytes"),
        ("darwin", 40.0, "unique set"),
        ("sunos", 90.0, "resident"),
    ],
)
def test_other_systems_give_what_comes_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, held: float, source: str
):
    info: Any = SimpleNamespace(rss=90.0, private=70.0, uss=40.0)
    monkeypatch.setattr(held_memory.psutil.Process, "memory_info", lambda _: info)
    monkeypatch.setattr(held_memory.psutil.Process, "memory_full_info", lambda _: info)
    monkeypatch.setattr(held_memory, "_OTHER_SYSTEM", held_memory.OtherSystem())
    monkeypatch.setattr(held_memory.sys, "platform", platform)

    found = read_own_pages(tmp_path)
    info.rss = 95.0
    later = read_own_pages(tmp_path)

    assert not isinstance(found, ProcessPages)
    assert (found.value, source in found.source) == (held, True)
    assert not isinstance(later, ProcessPages)
    assert later.value is not None
    assert later.value >= held


def grown(before: Any, after: Any) -> float:
    return after.value - before.value


def pss(pid: int | str) -> int:
    lines = (Path("/proc") / str(pid) / "smaps_rollup").read_text().splitlines()
    sizes = {line.split()[0]: int(line.split()[1]) for line in lines[1:]}
    return (sizes["Pss_Anon:"] + sizes["Pss_Shmem:"] + sizes["SwapPss:"]) * 1024


@contextmanager
def forks(n: int) -> Iterator[list[int]]:
    """Forks of this process that do nothing until the end."""
    context = multiprocessing.get_context("fork")
    over = context.Event()
    processes = [context.Process(target=over.wait, daemon=True) for _ in range(n)]
    for process in processes:
        process.start()
    try:
        yield [process.pid or 0 for process in processes]
    finally:
        over.set()
        for process in processes:
            process.join(DEADLINE_S)
            process.close()
