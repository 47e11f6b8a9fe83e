"""Memory limits of control groups, from procfs as it looks on real hosts."""

from pathlib import Path

import pytest

from kmonitor_agent.wire.local import control_groups
from kmonitor_agent.wire.local.control_groups import LimitingCgroup, cgroup_limit

GIB = 2**30


class Host:
    """A folder that looks like procfs and the control groups' mounts."""

    def __init__(self, folder: Path) -> None:
        self.proc = folder / "proc"
        self.proc.mkdir()
        self.mount = folder / "cgroup"
        self.mount.mkdir()

    def tell(self, cgroup: str, mountinfo: str) -> None:
        (self.proc / "cgroup").write_text(cgroup)
        (self.proc / "mountinfo").write_text(mountinfo)

    def limit(self, group: str, file: str, text: str) -> None:
        folder = self.mount / group
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_smallest_limit_of_nested_version_2_groups_holds(host: Host):
    host.tell(
        "0::/user.slice/job/step\n",
        f"30 23 0:26 / {host.mount} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
    )
    host.limit("user.slice/job/step", "memory.max", "max\n")
    host.limit("user.slice/job", "memory.max", f"{4 * GIB}\n")
    host.limit("user.slice", "memory.max", f"{8 * GIB}\n")

    found = cgroup_limit(host.proc)

    assert found.value == 4 * GIB
    assert found.source.endswith("user.slice/job/memory.max")


def test_version_1_limit_is_found_beside_other_controllers(host: Host):
    host.tell(
        "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n",
        f"31 23 0:27 / {host.mount}/cpu rw - cgroup cgroup rw,cpu\n"
        f"33 23 0:29 / {host.mount} rw - cgroup cgroup rw,memory\n",
    )
    host.limit("docker/abc", "memory.limit_in_bytes", f"{2 * GIB}\n")
    host.limit("", "memory.limit_in_bytes", "9223372036854771712\n")

    assert cgroup_limit(host.proc).value == 2 * GIB


def test_container_sees_its_own_group_as_the_root(host: Host):
    host.tell(
        "0::/../../host/path\n",
        f"30 23 0:26 /kubepods/pod1 {host.mount} rw - cgroup2 cgroup rw\n",
    )
    host.limit("", "memory.max", f"{GIB}\n")

    assert cgroup_limit(host.proc).value == GIB


def test_no_limit_is_absent_with_the_reason(host: Host):
    host.tell("0::/\n", f"30 23 0:26 / {host.mount} rw - cgroup2 cgroup2 rw\n")
    host.limit("", "memory.max", "max\n")

    found = cgroup_limit(host.proc)

    assert found.value is None
    assert "no cgroup limits" in found.absent


def test_host_without_procfs_is_named(tmp_path: Path):
    assert "Linux" in cgroup_limit(tmp_path / "none").absent


def test_odd_lines_are_passed_over(host: Host):
    host.tell("nonsense\n0::/x\n", "short\n1 2 3\n")

    assert cgroup_limit(host.proc).value is None


def of_two_levels(host: Host) -> None:
    host.tell("0::/job/step\n", f"30 23 0:26 / {host.mount} rw - cgroup2 cgroup2 rw\n")
    host.limit("job/step", "memory.max", "max\n")
    host.limit("job", "memory.max", f"{4 * GIB}\n")


def test_the_account_of_the_group_with_the_limit_leaves_inactive_pages_of_files_out(host: Host):
    of_two_levels(host)
    host.limit("job/step", "memory.current", f"{GIB}\n")
    host.limit("job", "memory.current", f"{3 * GIB}\n")
    host.limit("job", "memory.stat", f"anon 5\nfile 9\ninactive_file {2 * GIB}\nslab 1\n")
    cgroup = LimitingCgroup(host.proc)

    found = cgroup.used()

    assert (cgroup.limit.value, found.value) == (4 * GIB, GIB)
    assert found.source.endswith("job/memory.current less inactive_file")


def test_the_account_of_version_1_counts_the_groups_below_it(host: Host):
    host.tell(
        "4:memory:/docker/abc\n", f"33 23 0:29 / {host.mount} rw - cgroup cgroup rw,memory\n"
    )
    host.limit("docker/abc", "memory.limit_in_bytes", f"{2 * GIB}\n")
    host.limit("docker/abc", "memory.usage_in_bytes", f"{GIB}\n")
    host.limit("docker/abc", "memory.stat", f"inactive_file 1\ntotal_inactive_file {GIB // 2}\n")

    assert LimitingCgroup(host.proc).used().value == GIB // 2


def test_an_account_without_kinds_of_pages_says_that_files_are_in_it(host: Host):
    of_two_levels(host)
    host.limit("job", "memory.current", f"{3 * GIB}\n")

    found = LimitingCgroup(host.proc).used()

    assert found.value == 3 * GIB
    assert found.source.endswith("including file-backed pages")


def test_without_a_limit_or_an_account_the_reason_is_given(host: Host):
    host.tell("0::/\n", f"30 23 0:26 / {host.mount} rw - cgroup2 cgroup2 rw\n")
    cgroup = LimitingCgroup(host.proc)
    unlimited = cgroup.used()
    of_two_levels(host)
    cgroup.find()

    assert unlimited.absent == "no cgroup limits this process's memory"
    assert cgroup.used().absent.endswith("job/memory.current cannot be read")


def test_pages_of_files_are_added_up_as_rarely_as_their_cost_requires(
    host: Host, monkeypatch: pytest.MonkeyPatch
):
    of_two_levels(host)
    host.limit("job", "memory.current", f"{3 * GIB}\n")
    host.limit("job", "memory.stat", f"inactive_file {GIB}\n")
    now_s, cpu_s = [100.0], iter([0.0, 0.004, 1.0, 1.004])
    monkeypatch.setattr(control_groups.time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(control_groups.time, "thread_time", lambda: next(cpu_s))
    cgroup = LimitingCgroup(host.proc)
    cgroup.used()
    host.limit("job", "memory.stat", "inactive_file 0\n")
    host.limit("job", "memory.current", f"{2 * GIB}\n")

    now_s[0] = 103.9
    in_between = cgroup.used()
    now_s[0] = 104.1

    assert in_between.value == GIB
    assert cgroup.used().value == 2 * GIB
