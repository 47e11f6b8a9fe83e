"""Shared memory: blocks of this process and its children count, those of others do not."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import pytest

from kmonitor_agent.probes import shared_blocks
from kmonitor_agent.probes.shared_blocks import SharedBlocks
from tests.support.made_up_proc import MadeUpProc
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="procfs")

SHM = Path("/dev/shm")  # noqa: S108 - where Python makes it

HOLDS = """
import sys
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
block = SharedMemory(create=True, size=8192)
block.buf[:] = bytes(8192)
resource_tracker.unregister(block._name, "shared_memory")
print(block.name, flush=True)
sys.stdin.readline()
block.close()
print("closed", flush=True)
sys.stdin.readline()
"""

DETACHES = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", sys.argv[1]])
"""
"""Starts a process and ends, so that the other is no descendant of whoever started this one."""


class Holder:
    """A process that creates a block of 8 KiB, and closes it without unlinking it."""

    def __init__(self, *, is_child: bool) -> None:
        argv = [HOLDS] if is_child else [DETACHES, HOLDS]
        self.process = subprocess.Popen(
            [sys.executable, "-c", *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        if not is_child:
            self.process.wait(DEADLINE_S)
        self.name = self._line()

    def close_block(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        assert self._line() == "closed"

    def end(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        if not self.process.stdout.closed:
            self.process.stdout.read()
            self.process.stdout.close()
        self.process.wait(DEADLINE_S)

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@contextmanager
def holder(*, is_child: bool) -> Iterator[Holder]:
    held = Holder(is_child=is_child)
    try:
        yield held
    finally:
        held.end()
        (SHM / held.name).unlink(missing_ok=True)


@contextmanager
def own_block(size: int) -> Iterator[SharedMemory]:
    block = SharedMemory(create=True, size=size)
    assert block.buf is not None
    block.buf[:] = bytes(len(block.buf))
    try:
        yield block
    finally:
        block.close()
        block.unlink()


def bytes_of(blocks: SharedBlocks) -> float | None:
    return blocks.read()[0].value


def test_a_block_of_a_child_stays_the_runs_after_it_is_closed():
    children = set[int]()
    blocks = SharedBlocks(children=lambda: children)
    with holder(is_child=True) as child:
        children.add(child.process.pid)
        held = bytes_of(blocks)
        names = blocks.names
        child.close_block()
        child.end()
        children.clear()
        with own_block(4096) as mine:
            wait_until(lambda: blocks.read() and mine.name in blocks.names, what="a new list")
            left = bytes_of(blocks)
    wait_until(lambda: bytes_of(blocks) == 0, what="none is left")

    assert (held, names) == (8192, [child.name])
    assert left == 12288


def test_blocks_of_an_unrelated_process_do_not_count():
    blocks = SharedBlocks(children=list)
    with holder(is_child=False) as other:
        held = bytes_of(blocks)
        other.close_block()
        with own_block(4096) as mine:
            wait_until(lambda: bytes_of(blocks), what="a block of this process")
            names = blocks.names

    assert held == 0
    assert names == [mine.name]


def test_a_block_that_this_process_only_has_open_counts():
    blocks = SharedBlocks(children=list)
    with tempfile.NamedTemporaryFile(dir=SHM, prefix="cache-") as file:
        file.write(bytes(4096))
        file.flush()

        assert bytes_of(blocks) == 4096
        assert blocks.names == [Path(file.name).name]


class MadeUpShm:
    """A folder of blocks, and processes that are made up to have them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "shm"
        self.folder.mkdir()
        self.proc = MadeUpProc(folder)
        self.process("self")

    def blocks(self, *children: int) -> SharedBlocks:
        return SharedBlocks(self.folder, children=lambda: children, proc=self.proc.folder)

    def block(self, name: str) -> str:
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_bytes(bytes(4096))
        return name

    def process(self, pid: int | str, *names: str, parent: int = 1, python: bool = False) -> None:
        """A process that has these blocks mapped; with `python`, also Python's own module."""
        paths = [self.folder / name for name in names]
        if python:
            paths.append(self.proc.folder / "lib" / "_posixshmem.cpython-311-x86_64.so")
        lines = [
            f"7f0{n}000-7f0{n}fff rw-s 00000000 00:1a {inode(path)}   {path}\n"
            for n, path in enumerate(paths)
        ]
        self.proc.write(
            pid, "maps", "5500-5600 r-xp 00000000 08:01 99   /bin/python\n" + "".join(lines)
        )
        self.proc.write(
            pid, "status", f"Name:\tpython\nPPid:\t{parent}\nRssShmem:\t{4 * len(names)} kB\n"
        )


def inode(path: Path) -> int:
    return path.stat().st_ino if path.exists() else 7


@pytest.fixture
def shm(tmp_path: Path) -> MadeUpShm:
    return MadeUpShm(tmp_path)


def test_blocks_that_were_there_before_do_not_count(shm: MadeUpShm):
    shm.process("self", shm.block("cache_0"))
    blocks = shm.blocks()
    shm.process("self", "cache_0", shm.block("cache_1"))

    used, whole = blocks.read()

    assert (used.value, blocks.names) == (4096, ["cache_1"])
    assert (whole.value or 0) > 4096


def test_the_process_id_in_a_name_says_whose_a_block_is(shm: MadeUpShm):
    shm.process(70, parent=os.getpid())
    shm.process(77)
    shm.process(78, parent=os.getpid())
    shm.process(79, parent=78)
    blocks = shm.blocks(70)
    for pid in (os.getpid(), 70, 77, 79):
        shm.block(f"torch_{pid}_1")
    shm.block("joblib_memmapping_folder_70_ab/x.pkl")
    blocks.read()

    assert sorted(blocks.names) == sorted(
        [
            f"torch_{os.getpid()}_1",
            "torch_70_1",
            "torch_79_1",
            "joblib_memmapping_folder_70_ab/x.pkl",
        ]
    )


def test_a_block_that_nobody_has_counts_if_the_run_creates_such_blocks(shm: MadeUpShm):
    blocks = shm.blocks(7)
    shm.process("self", shm.block("cache_1"))
    shm.process(7, python=True)
    for name in ("cache_2", "psm_2f", "pulse-shm-1", "0ff"):
        shm.block(name)
    blocks.read()

    assert sorted(blocks.names) == ["cache_1", "cache_2", "psm_2f"]


def test_a_block_that_nobody_has_does_not_count_if_another_process_has_such_blocks(
    shm: MadeUpShm,
):
    blocks = shm.blocks()
    shm.process("self", shm.block("cache_1"), python=True)
    shm.process(77, shm.block("psm_3a"))
    for name in ("cache_2", "psm_2f"):
        shm.block(name)
    blocks.read()

    assert sorted(blocks.names) == ["cache_1", "cache_2"]


def test_a_child_that_is_not_listed_yet_belongs_to_the_run(shm: MadeUpShm):
    blocks = shm.blocks()
    shm.process(77, shm.block("cache_1"), parent=os.getpid())
    blocks.read()

    assert blocks.names == ["cache_1"]


def test_maps_are_read_for_new_blocks_and_after_longer_and_longer_pauses(
    shm: MadeUpShm, monkeypatch: pytest.MonkeyPatch
):
    now_s = 1000.0
    monkeypatch.setattr(shared_blocks.time, "monotonic", lambda: now_s)
    monkeypatch.setattr(shared_blocks.time, "thread_time", lambda: 0.0)
    reads: list[float] = []
    real = shared_blocks.read_whole

    def counted(path: str) -> bytes:
        if path.endswith("/self/maps"):
            reads.append(now_s - 1000.0)
        return real(path)

    monkeypatch.setattr(shared_blocks, "read_whole", counted)
    blocks = shm.blocks()
    blocks.read()
    shm.block("cache_1")
    for _ in range(40):
        now_s += 1.0
        blocks.read()
    shm.process("self", shm.block("cache_2"), "cache_1")
    for _ in range(40):
        now_s += 1.0
        blocks.read()

    assert reads == [1.0, 3.0, 7.0, 15.0, 31.0, 41.0]
    assert sorted(blocks.names) == ["cache_1", "cache_2"]


def test_a_block_like_those_of_the_run_counts_before_the_next_search(
    shm: MadeUpShm, monkeypatch: pytest.MonkeyPatch
):
    now_s = 1000.0
    monkeypatch.setattr(shared_blocks.time, "monotonic", lambda: now_s)
    blocks = shm.blocks()
    shm.process("self", shm.block("cache_1"), python=True)
    blocks.read()
    monkeypatch.setattr(shared_blocks.BlockOwners, "search", lambda self, blocks: False)  # not due
    shm.block("psm_2f")
    for _ in range(5):
        now_s += 1.0
        blocks.read()

    assert sorted(blocks.names) == ["cache_1", "psm_2f"]


def test_shared_memory_that_cannot_be_listed_is_absent(tmp_path: Path):
    used, whole = SharedBlocks(tmp_path / "none", children=list).read()

    assert "cannot be listed" in used.absent
    assert "cannot be listed" in whole.absent


def test_a_folder_that_is_gone_is_absent(shm: MadeUpShm):
    blocks = shm.blocks()
    shm.folder.rmdir()

    used, whole = blocks.read()

    assert "cannot be read" in used.absent
    assert "cannot be read" in whole.absent
