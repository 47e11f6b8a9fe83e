"""A run that ended silently: whether the kernel counted a kill for want of memory."""

from pathlib import Path

import pytest

from kmonitor.hub.ingest.process_watch import OomEvidence, OomKillWatch
from kmonitor.hub.runs.run_record import RunRecord
from tests.support.clock import MovedClock

NO_KILL = OomEvidence(why="the kernel recorded no out-of-memory kills")
ON_HOST = OomEvidence(
    why="the kernel killed a process on this host at that time because memory ran out"
)


class Machine:
    """A procfs with process 5 in a control group `job` below another, and what is counted."""

    def __init__(self, folder: Path, *, version: int = 2) -> None:
        self.clock = MovedClock()
        self.record = RunRecord(key=1, run="run", pid=5)
        proc, mounted = folder / "proc", folder / "mounted"
        self.deaths = OomKillWatch(self.clock, proc)
        name = "memory.events" if version == 2 else "memory.oom_control"
        self.job, self.above = mounted / "job" / name, mounted / name
        self.host = proc / "vmstat"
        (proc / "5").mkdir(parents=True)
        self.job.parent.mkdir(parents=True)
        group, mount = ("0::/job", "cgroup2 none rw")
        if version == 1:
            group, mount = ("3:memory:/job", "cgroup none rw,memory")
        (proc / "5" / "cgroup").write_text(f"{group}\n")
        (proc / "5" / "mountinfo").write_text(f"1 2 0:3 / {mounted} rw - {mount}\n")
        self.count(job=0, above=0, host=3)

    def count(self, *, job: int | None, above: int, host: int) -> None:
        """From now on this many kills are counted; None: the group is gone."""
        if job is None:
            self.job.unlink()
        else:
            self.job.write_text(f"oom_kill {job}\n")
        self.above.write_text(f"oom_kill {above}\n")
        self.host.write_text(f"pgfault 3\noom_kill {host}\n")

    def look(self) -> None:
        """The process is seen to live."""
        if self.deaths.is_due(self.record):
            self.deaths.count(self.record)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_kill_in_its_control_group_is_told_with_the_counter(machine: Machine):
    machine.look()
    machine.count(job=1, above=1, host=4)

    told = machine.deaths.evidence(machine.record)

    assert told.cause == "out of memory"
    assert str(machine.job) in told.why


def test_a_kill_elsewhere_on_the_host_is_not_its_own(machine: Machine):
    machine.look()
    machine.count(job=0, above=1, host=4)

    assert machine.deaths.evidence(machine.record) == NO_KILL


def test_a_group_that_went_with_its_process_is_told_by_the_one_above(machine: Machine):
    machine.look()
    machine.count(job=None, above=1, host=4)

    assert str(machine.above) in machine.deaths.evidence(machine.record).why


def test_version_1_counts_each_group_alone_and_leaves_the_host_to_tell(tmp_path: Path):
    machine = Machine(tmp_path, version=1)
    machine.look()
    machine.count(job=None, above=0, host=4)

    assert machine.deaths.evidence(machine.record) == ON_HOST


def test_a_kill_that_was_counted_while_the_process_was_still_there_is_told(machine: Machine):
    machine.look()
    machine.clock.move(6.0)
    machine.count(job=1, above=1, host=4)
    machine.look()
    machine.clock.move(1.0)

    assert machine.deaths.evidence(machine.record).cause == "out of memory"


def test_a_kill_long_before_is_another_process(machine: Machine):
    machine.look()
    machine.count(job=1, above=1, host=4)
    for _ in range(3):
        machine.clock.move(6.0)
        machine.look()

    assert machine.deaths.evidence(machine.record) == NO_KILL


def test_counters_are_read_each_few_seconds(machine: Machine):
    machine.look()
    machine.clock.move(1.0)
    assert not machine.deaths.is_due(machine.record)
    machine.record.pid = 6

    assert machine.deaths.is_due(machine.record)
    assert machine.deaths.evidence(machine.record) == OomEvidence()


def test_what_was_never_seen_alive_or_is_forgotten_tells_nothing(machine: Machine):
    assert machine.deaths.evidence(machine.record) == OomEvidence()
    machine.look()
    machine.deaths.forget_others(["another"])

    assert machine.deaths.evidence(machine.record) == OomEvidence()


def test_without_counters_nothing_is_claimed(tmp_path: Path):
    deaths = OomKillWatch(MovedClock(), tmp_path / "nothing")
    record = RunRecord(key=1, run="run", pid=5)
    deaths.count(record)

    assert deaths.evidence(record) == OomEvidence()
