"""A bound on the memory of this process, so that a script can run short of it on any machine."""

import atexit
import contextlib
import os
import sys
from pathlib import Path
from typing import Final

from tests.leaks.corpus import EXIT_SKIPPED

_CGROUPS: Final = Path("/sys/fs/cgroup")


def bound_memory(n_bytes: int) -> None:
    """Bound what this process takes from here on, pages of files included.

    Ends the script as skipped where it may make no control group; as a rule only root may.

    Args:
        n_bytes: In addition to what it has, which stays with the group that it leaves.
    """
    try:
        controller, own = _own_group()
        parent, limit = (own, "memory.limit_in_bytes") if controller else (_CGROUPS, "memory.max")
        group = parent / f"kmonitor-{os.getpid()}"
        group.mkdir()
        atexit.register(_leave, group, own)
        (group / limit).write_text(str(n_bytes), encoding="ascii")
        (group / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
    except (OSError, LookupError) as exc:
        sys.stderr.write(f"skipped: no control group of its own can be made: {exc}\n")
        sys.exit(EXIT_SKIPPED)


def _own_group() -> tuple[str, Path]:
    """The controller, "memory" or empty in the second version, and this process's group."""
    lines = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
    groups = {controllers: path for _, controllers, path in (line.split(":", 2) for line in lines)}
    for controller in ("memory", ""):
        if controller in groups:
            return controller, _CGROUPS / controller / groups[controller].lstrip("/")
    raise LookupError("this process is in none that bounds memory")


def _leave(group: Path, own: Path) -> None:
    with contextlib.suppress(OSError):
        (own / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
        group.rmdir()
