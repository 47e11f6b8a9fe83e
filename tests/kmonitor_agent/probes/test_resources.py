"""Open files, threads, children, shared memory, disks and pressure, against what is known."""

import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from kmonitor_agent.probes import resources
from kmonitor_agent.probes.open_files import (
    describe_open_files,
    read_open_files,
    read_open_files_limit,
)
from kmonitor_agent.probes.pressure import Pressure
from kmonitor_agent.probes.process_memory import ProcessMemory
from kmonitor_agent.probes.resources import Resources, temp_folder
from kmonitor_agent.probes.tasks import (
    TasksLeft,
    describe_processes,
    describe_threads,
    memory_by_name,
    read_process_stat,
)
from tests.support.made_up_proc import MadeUpProc
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="procfs")


@contextmanager
def waiting_threads(n: int) -> Iterator[None]:
    over = threading.Event()
    threads = [threading.Thread(target=over.wait, name=f"loader-{each}") for each in range(n)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_open_files_are_counted_and_named(tmp_path: Path):
    before = read_open_files().value or 0.0
    (tmp_path / "part-7.bin").write_bytes(b"x")

    with ExitStack() as held:
        for _ in range(20):
            held.enter_context((tmp_path / "part-7.bin").open("rb"))
        now = read_open_files().value or 0.0
        found = describe_open_files()

    assert now - before == 20
    assert found["file", str(tmp_path / "part-7.bin")] == 20


def test_an_older_kernel_has_its_descriptors_listed(tmp_path: Path):
    for number in range(5):
        (tmp_path / "fd" / str(number)).mkdir(parents=True)
    listed = len(list((tmp_path / "fd").iterdir()))

    found = read_open_files(tmp_path)

    # The size of a folder of plain files is not their number; on procfs before 6.2 it is 0.
    assert found.value in {listed - 1, float((tmp_path / "fd").stat().st_size)}


def test_descriptors_that_lead_to_no_file_have_a_kind(tmp_path: Path):
    folder = tmp_path / "fd"
    folder.mkdir()
    shared = "/dev/shm/torch_9_1"  # noqa: S108
    targets = ["socket:[7]", "socket:[8]", "pipe:[9]", "anon_inode:[eventpoll]", "/dev/null"]
    for number, target in enumerate([*targets, f"{shared} (deleted)", "net:[4]"]):
        (folder / str(number)).symlink_to(target)

    assert describe_open_files(tmp_path) == {
        ("socket", ""): 2,
        ("pipe", ""): 1,
        ("event", "eventpoll"): 1,
        ("device", "/dev/null"): 1,
        ("shared_memory", shared): 1,
        ("other", ""): 1,
    }


def test_the_limit_on_open_files_is_the_soft_one():
    import resource  # noqa: PLC0415 - not on Windows

    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    found = read_open_files_limit()

    assert found.value == (None if soft == resource.RLIM_INFINITY else soft)


def test_threads_are_counted_and_named():
    before = read_process_stat()
    with waiting_threads(12):
        now = read_process_stat()
        names = {int(each.native_id or 0): "loader" for each in threading.enumerate()[-12:]}
        found = describe_threads(names)

    assert before is not None
    assert now is not None
    assert now.threads - before.threads == 12
    assert found["thread", "loader"] == 12
    assert now.address_space_bytes > 2**20


def test_children_that_ended_and_were_not_waited_for_are_zombies():
    memory = ProcessMemory()
    memory.read_slowly()
    before = memory.n_children or 0
    child = subprocess.Popen([sys.executable, "-c", ""])
    state = Path(f"/proc/{child.pid}/stat")
    wait_until(lambda: " Z " in state.read_text(), what="it ended")
    try:
        memory.read()
        children, zombies = memory.children()
        named = describe_processes(children, zombies)
    finally:
        child.wait(DEADLINE_S)

    assert child.pid in zombies
    assert memory.n_children == before + 1
    assert named.total() == before + 1
    assert any(kind == "zombie" for kind, _ in named)


def test_the_smallest_limit_on_tasks_holds(tmp_path: Path):
    proc, mount = MadeUpProc(tmp_path), tmp_path / "pids"
    mount.mkdir()
    proc.write("self", "cgroup", "3:pids:/\n")
    proc.write("self", "mountinfo", f"30 23 0:26 / {mount} rw - cgroup cgroup rw,pids\n")
    (mount / "pids.max").write_text("100")
    (mount / "pids.current").write_text("88")
    proc.write("", "loadavg", "0.1 0.2 0.3 2/400 77")
    proc.write("sys", "kernel/threads-max", "9000")
    proc.write("sys", "kernel/pid_max", "32768")

    tasks = TasksLeft(proc.folder)
    found = tasks.read(88)
    (mount / "pids.current").write_text("95")
    after_more = tasks.read(95)
    (mount / "pids.max").write_text("max")
    without = TasksLeft(proc.folder).read(95)

    assert (found.value, found.source.rpartition("/")[2]) == (12, "pids.max")
    assert after_more.value == 5
    assert without.value == 9000 - 400
    assert without.source.endswith("threads-max")


def test_pressure_is_that_of_the_group_else_of_the_host(tmp_path: Path):
    proc, mount = MadeUpProc(tmp_path), tmp_path / "cgroup"
    (mount / "job").mkdir(parents=True)
    proc.write("self", "cgroup", "0::/job\n")
    proc.write("self", "mountinfo", f"30 23 0:26 / {mount} rw - cgroup2 cgroup2 rw\n")
    proc.write("pressure", "memory", "some avg10=3.00 avg60=0 avg300=0 total=1\nfull avg10=1\n")
    host = Pressure(proc.folder)
    (mount / "job" / "memory.pressure").write_text("some avg10=25.50 avg60=0 total=1\n")
    (mount / "job" / "memory.events").write_text("low 0\nhigh 17\nmax 0\n")
    group = Pressure(proc.folder)

    of_host, *_ = host.read()
    of_group, io, high = group.read()
    assert of_host.value == 0.03
    assert (of_group.value, high.value) == (0.255, 17)
    assert "does not report pressure" in io.absent


def test_a_disk_is_used_and_whole_without_what_is_kept_for_root(tmp_path: Path):
    usage = shutil.disk_usage(tmp_path)
    fields = dict(Resources(ProcessMemory()).read(None, tmp_path / "not yet" / "there"))

    assert fields["disk_of_bytes"].value == pytest.approx(usage.used + usage.free, rel=0.01)
    assert fields["disk_used_bytes"].source == f"disk: {tmp_path}"


def test_the_folder_of_temporary_files_is_not_chosen_by_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    assert temp_folder() == str(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_working_folder_that_is_gone_has_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(resources, "working_folder", lambda: None)

    fields = dict(Resources(ProcessMemory()).read(None, None))

    assert fields["disk_used_bytes"].absent == "no such folder"
    assert fields["temp_disk_used_bytes"].value


def test_memory_of_children_is_named_by_process_or_by_pool(tmp_path: Path):
    for pid in (70, 71, 72, 73):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "comm").write_text("python\n")
    names = {71: "SyncManager-1", 72: "SpawnPoolWorker-2", 73: "SpawnPoolWorker-3"}

    found = memory_by_name({70: 5, 71: 900, 72: 40, 73: 50}, names, tmp_path)

    assert [(each.name, each.count) for each in found] == [
        ("SyncManager-1 (pid 71)", 900),
        ("SpawnPoolWorker-*", 90),
        ("python (pid 70)", 5),
    ]
