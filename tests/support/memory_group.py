"""A memory control group of a test's own, in which the kernel kills what takes too much."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from kmonitor_agent.wire.local.control_groups import group_folders
from tests.support.waiting import wait_until

_LIMITS = {1: "memory.limit_in_bytes", 2: "memory.max"}
_WITH_SWAP = {1: ("memory.memsw.limit_in_bytes",), 2: ("memory.swap.max",)}


@contextmanager
def memory_group(limit_bytes: int) -> Iterator[list[str]]:
    """The words before a command that is to run in a group with this limit.

    Skips the test, with the reason, where no such group can be made.

    Args:
        limit_bytes: Most memory that all its processes together may have.
    """
    version, folder = _made(limit_bytes)
    try:
        join = f'echo $$ > "{folder}/cgroup.procs" && exec "$@"'
        yield ["/bin/sh", "-c", join, f"in a memory group of version {version}"]
    finally:
        wait_until(lambda: not (folder / "cgroup.procs").read_text(), what="the group is empty")
        folder.rmdir()


def _made(limit_bytes: int) -> tuple[int, Path]:
    whys = ["this system has no memory control groups"]
    for version, above in group_folders():
        folder = above / f"kmonitor-test-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError as exc:
            whys.append(f"{folder}: {exc.strerror}")
            continue
        try:
            (folder / _LIMITS[version]).write_text(str(limit_bytes))
            for name in _WITH_SWAP[version]:
                with suppress(OSError):  # a kernel that does not count swap
                    (folder / name).write_text(str(limit_bytes if version == 1 else 0))
        except OSError as exc:
            whys.append(f"{folder} counts no memory: {exc.strerror}")
            folder.rmdir()
            continue
        return version, folder
    pytest.skip(f"no memory control group can be made here (root is needed): {whys[-1]}")
