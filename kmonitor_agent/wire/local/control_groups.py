"""Where the memory groups of a process lie: control groups, version 1 and 2, nested ones too."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True, slots=True)
class _Mount:
    """Where a hierarchy is mounted, and which of its groups stands at the mount point."""

    at: Path
    root: PurePosixPath


def group_folders(proc: Path = Path("/proc/self")) -> Iterator[tuple[int, Path]]:
    """Version and folder of the memory groups of this process, each before the one above it.

    Args:
        proc: The process's folder in procfs.
    """
    try:
        groups = (proc / "cgroup").read_text()
        mounts = (proc / "mountinfo").read_text()
    except OSError:
        return
    for line in groups.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            yield from ((2, each) for each in _folders(_mounts_of(mounts, "cgroup2", ""), path))
        elif "memory" in controllers.split(","):
            mounted = _mounts_of(mounts, "cgroup", "memory")
            yield from ((1, each) for each in _folders(mounted, path))


def _mounts_of(mounts: str, kind: str, option: str) -> list[_Mount]:
    found: list[_Mount] = []
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, tail = before.split(), after.split()
        if len(fields) < 5 or len(tail) < 3 or tail[0] != kind:  # noqa: PLR2004 - proc(5)
            continue
        if not option or option in tail[2].split(","):
            found.append(_Mount(Path(fields[4]), PurePosixPath(fields[3])))
    return found


def _folders(mounts: list[_Mount], group: str) -> Iterator[Path]:
    for mount in mounts:
        folder = mount.at / _below(mount.root, PurePosixPath(group))
        while True:
            yield folder
            if folder == mount.at:
                break
            folder = folder.parent


def _below(root: PurePosixPath, group: PurePosixPath) -> PurePosixPath:
    # A container sees its own group mounted as the root, or paths of the host that lead nowhere.
    if ".." in group.parts or not group.is_relative_to(root):
        return PurePosixPath()
    return group.relative_to(root)
