"""Processor time, waiting for the disk and throttling, with a procfs that is made up."""

from pathlib import Path

import pytest

from kmonitor_agent.probes import processor
from kmonitor_agent.probes.processor import ProcessorReadings, ProcessorUse
from kmonitor_agent.probes.tasks import read_process_stat


def stat(proc: Path, pid: str, *, user: int, system: int, block_io: int) -> None:
    fields = ["0"] * 45
    fields[11], fields[12], fields[39] = str(user), str(system), str(block_io)
    folder = proc / pid
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stat").write_text(f"7 (a name) R) {' '.join(fields)}\n")


def read_of(use: ProcessorUse, proc: Path) -> ProcessorReadings:
    return use.read(read_process_stat(proc / "self"))


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [50.0]
    monkeypatch.setattr(processor, "monotonic", lambda: now[0])
    monkeypatch.setattr(processor.os, "sysconf", lambda _: 100)
    return now


def test_first_reading_says_that_it_has_nothing_to_be_compared_with(
    tmp_path: Path, moved: list[float]
):
    use = ProcessorUse(list, tmp_path)

    read = read_of(use, tmp_path)

    assert moved
    assert (read.process.value, read.process.absent) == (
        None,
        "there is no earlier reading to compare the first one with",
    )


def test_children_and_disk_are_rates_since_the_reading_before(tmp_path: Path, moved: list[float]):
    (tmp_path / "sys" / "kernel").mkdir(parents=True)
    (tmp_path / "sys" / "kernel" / "task_delayacct").write_text("1\n")
    stat(tmp_path, "self", user=0, system=0, block_io=100)
    stat(tmp_path, "8", user=100, system=0, block_io=0)
    use = ProcessorUse(lambda: [8, 9], tmp_path)
    read_of(use, tmp_path)

    moved[0] += 2.0
    stat(tmp_path, "self", user=0, system=0, block_io=150)
    stat(tmp_path, "8", user=300, system=100, block_io=0)
    read = read_of(use, tmp_path)

    assert read.children.value == pytest.approx(1.5)
    assert read.disk_wait.value == pytest.approx(0.25)


def test_waiting_for_a_processor_is_counted_by_the_kernel(tmp_path: Path, moved: list[float]):
    stat(tmp_path, "self", user=0, system=0, block_io=0)
    without = read_of(ProcessorUse(list, tmp_path), tmp_path)
    schedstat = tmp_path / "self" / "schedstat"
    schedstat.write_text("9000000000 1000000000 77\n")
    use = ProcessorUse(list, tmp_path)
    read_of(use, tmp_path)

    moved[0] += 4.0
    schedstat.write_text("11000000000 2000000000 99\n")

    assert read_of(use, tmp_path).cpu_wait.value == pytest.approx(0.25)
    assert "schedstat" in without.cpu_wait.absent


def test_child_that_ended_is_no_negative_rate(tmp_path: Path, moved: list[float]):
    stat(tmp_path, "self", user=0, system=0, block_io=0)
    stat(tmp_path, "8", user=300, system=0, block_io=0)
    children = [8]
    use = ProcessorUse(lambda: children, tmp_path)
    read_of(use, tmp_path)

    moved[0] += 1.0
    children.clear()

    assert read_of(use, tmp_path).children.value == 0.0


def test_clock_is_that_of_the_processor_the_process_ran_on(tmp_path: Path):
    stat(tmp_path, "self", user=0, system=0, block_io=0)
    fields = (tmp_path / "self" / "stat").read_text().rpartition(")")[2].split()
    clock = tmp_path / "sys/devices/system/cpu" / f"cpu{fields[36]}" / "cpufreq"
    clock.mkdir(parents=True)
    (clock / "scaling_cur_freq").write_text("2100000\n")

    read = read_of(ProcessorUse(list, tmp_path, tmp_path / "sys"), tmp_path)
    without = read_of(ProcessorUse(list, tmp_path, tmp_path / "nothing"), tmp_path)

    assert read.clock.value == 2.1e9
    assert "cpufreq" in without.clock.absent


def test_without_accounting_the_disk_is_absent_with_the_reason(tmp_path: Path):
    stat(tmp_path, "self", user=0, system=0, block_io=0)

    read = read_of(ProcessorUse(list, tmp_path), tmp_path)

    assert "task_delayacct" in read.disk_wait.absent


def test_throttling_is_read_from_the_group_of_the_process(tmp_path: Path, moved: list[float]):
    group = tmp_path / "cgroup" / "job"
    group.mkdir(parents=True)
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "cgroup").write_text("0::/job\n")
    (tmp_path / "self" / "mountinfo").write_text(
        f"30 25 0:26 / {tmp_path / 'cgroup'} rw - cgroup2 cgroup rw\n"
    )
    (group / "cpu.stat").write_text("usage_usec 5\nthrottled_usec 1000000\n")
    use = ProcessorUse(list, tmp_path)
    read_of(use, tmp_path)

    moved[0] += 4.0
    (group / "cpu.stat").write_text("usage_usec 5\nthrottled_usec 3000000\n")
    read = read_of(use, tmp_path)

    assert read.throttled.value == pytest.approx(0.5)
    assert "throttled_usec" in read.throttled.source
