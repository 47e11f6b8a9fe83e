"""Memory that this process can still get: the nearest of its bounds, by name."""

import subprocess
import sys
from pathlib import Path

import pytest

from kmonitor_agent.probes.memory_left import (
    nearest_bound,
    read_address_space_left,
    read_host,
    what_can_be_had,
)
from kmonitor_agent.wire.local.control_groups import LimitingCgroup
from kmonitor_agent.wire.messages.readings import Reading
from tests.support.waiting import DEADLINE_S

GIB = 2.0**30
NONE = Reading.missing("bytes", "there is none")


def of(gib: float, source: str) -> Reading:
    return Reading(gib * GIB, "bytes", source)


@pytest.mark.parametrize(
    ("host", "cgroup", "address_space", "left", "source"),
    [
        (6.0, None, None, 7.0, "host; and free swap"),
        (6.0, 2.0, None, 2.0, "cgroup"),
        (6.0, 2.0, 1.0, 1.0, "address space"),
        (0.5, 2.0, 3.0, 1.5, "host; and free swap"),
    ],
)
def test_the_nearest_bound_is_what_is_left(
    host: float, cgroup: float | None, address_space: float | None, left: float, source: str
):
    found = nearest_bound(
        of(host, "host"),
        of(1.0, "swap"),
        NONE if cgroup is None else of(cgroup, "cgroup"),
        NONE if address_space is None else of(address_space, "address space"),
    )

    assert (found.value, found.source) == (left * GIB, source)


def test_where_nothing_is_known_the_hosts_reason_is_given():
    assert nearest_bound(NONE, NONE, NONE, NONE).absent == "there is none"


def test_what_can_be_had_is_what_is_held_and_what_is_left():
    found = what_can_be_had(of(2.0, "process"), of(3.0, "host"))

    assert found.value == 5 * GIB
    assert found.source.endswith("host")
    assert what_can_be_had(of(2.0, "process"), NONE).absent == "there is none"


@pytest.mark.skipif(sys.platform != "linux", reason="procfs")
def test_available_memory_and_free_swap_are_read_in_bytes(tmp_path: Path):
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable: 7 kB\nSwapFree:   20 kB\n")

    available, swap = read_host(tmp_path)

    assert (available.value, swap.value) == (7 * 1024, 20 * 1024)


def test_available_memory_without_procfs_is_that_of_psutil(tmp_path: Path):
    available, swap = read_host(tmp_path / "none")

    assert (available.value or 0) > 0
    assert swap.absent


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS")
def test_the_limit_on_address_space_is_read_where_there_is_one():
    script = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))\n"
        "from kmonitor_agent.probes.memory_left import read_address_space_left\n"
        "print(read_address_space_left(2**31).value)"
    )

    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, timeout=DEADLINE_S, check=True
    ).stdout

    assert float(said) == 2**31
    assert read_address_space_left(None).value is None


def test_a_group_has_left_what_the_kernel_can_take_back_and_is_throttled_at_high(tmp_path: Path):
    proc, mount = tmp_path / "proc", tmp_path / "cgroup"
    (mount / "job").mkdir(parents=True)
    proc.mkdir()
    (proc / "cgroup").write_text("0::/job\n")
    (proc / "mountinfo").write_text(f"30 23 0:26 / {mount} rw - cgroup2 cgroup2 rw\n")
    for name, text in {
        "memory.max": "8000",
        "memory.high": "6000",
        "memory.current": "5000",
        "memory.stat": "anon 2000\ninactive_file 1500\nactive_file 900\nslab_reclaimable 100\n",
    }.items():
        (mount / "job" / name).write_text(text)
    cgroup = LimitingCgroup(proc)

    left = cgroup.left()

    assert cgroup.limit.value == 6000
    assert cgroup.limit.source.endswith("memory.high")
    assert left.value == 6000 - (5000 - 1500 - 900 - 100)
